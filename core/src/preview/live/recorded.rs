//! Rules that the webhook recorded in the annotations of a pod.

use crate::config::Configuration;
use crate::gang::Assignment;
use crate::mutate::{Reason, Refusal, RuleId, RuleOutcome, Verdict, applied_rules};
use crate::pod::Pod;
use crate::preview::AppliedFabric;

/// Rules in the annotations of a pod.
pub(super) struct Recorded {
    applied: Vec<RuleId>,
    refused: Vec<Refusal>,
    pub(super) fabric: Option<AppliedFabric>,
    is_configuration_known: bool,
}

impl Recorded {
    /// Reads the annotations of `pod`. `config` is the configuration of the cluster, if it is known.
    pub(super) fn read(pod: Pod<'_>, config: Option<&Configuration>) -> Self {
        let fabric = Assignment::from_pod(pod).map(|Assignment { profile, revision }| {
            let current = config.and_then(|config| config.fabric.profiles.find(&profile));
            AppliedFabric { current_revision: current.map(|entry| entry.revision.clone()), profile, revision }
        });
        let is_configuration_known = config.is_some();
        Self { applied: applied_rules(pod), refused: Refusal::read(pod), fabric, is_configuration_known }
    }

    /// Returns true if the annotations contain no rule.
    pub(super) fn is_empty(&self) -> bool {
        self.applied.is_empty() && self.refused.is_empty()
    }

    /// Returns the recorded decision about a rule, if there is one. `current` is the decision about the pod as it was
    /// before injection, and `rendered` the decision about the injected pod.
    pub(super) fn decision(
        &self,
        current: RuleOutcome,
        rendered: Option<&RuleOutcome>,
        is_missed: bool,
    ) -> RuleOutcome {
        // Istio ignored what the rule wrote.
        if let Some(rendered) = rendered.filter(|rendered| rendered.reason == Reason::HoldNotRendered) {
            return rendered.clone();
        }
        if self.applied.contains(&current.rule) {
            let fabric = self.fabric.as_ref().filter(|_| current.rule == RuleId::Fabric);
            let is_known = self.is_configuration_known;
            let detail = fabric.map(|it| if is_known { it.describe() } else { it.describe_assignment() });
            return RuleOutcome::new(current.rule, Verdict::Applied, Reason::RecordedAsApplied, detail, None);
        }
        if let Some(refusal) = self.refused.iter().find(|refusal| refusal.rule == current.rule) {
            if refusal.reason == current.reason {
                return current;
            }
            let detail = match current.outcome {
                _ if !self.is_configuration_known => None,
                Verdict::Applied => Some(format!(
                    "when the pod was created; a new pod gets it, so recreate the job: {}",
                    current.message
                )),
                outcome => {
                    Some(format!("with the current labels and configuration: {}: {}", outcome.name(), current.message))
                }
            };
            return RuleOutcome::new(current.rule, Verdict::Refused, refusal.reason, detail, current.field);
        }
        match rendered {
            _ if !self.is_configuration_known => undecided(&current),
            _ if is_missed => RuleOutcome::new(
                current.rule,
                Verdict::Skipped,
                Reason::MissedByWebhook,
                Some(current.message),
                current.field,
            ),
            // The pod has the effect for another reason, such as a mesh-wide setting.
            Some(rendered) if current.outcome == Verdict::Applied => rendered.clone(),
            _ => current,
        }
    }
}

/// Returns the outcome of a rule that only the configuration would decide, which is not known.
pub(super) fn undecided(rule: &RuleOutcome) -> RuleOutcome {
    RuleOutcome::new(rule.rule, Verdict::Skipped, Reason::ConfigurationUnknown, None, None)
}
