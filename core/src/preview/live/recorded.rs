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
}

impl Recorded {
    /// Reads the annotations of `pod`.
    pub(super) fn read(pod: Pod<'_>, config: &Configuration) -> Self {
        let fabric = Assignment::from_pod(pod).map(|Assignment { profile, revision }| {
            let current_revision = config.fabric.profiles.find(&profile).map(|entry| entry.revision.clone());
            AppliedFabric { profile, revision, current_revision }
        });
        Self { applied: applied_rules(pod), refused: Refusal::read(pod), fabric }
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
            let detail = fabric.map(AppliedFabric::describe);
            return RuleOutcome::new(current.rule, Verdict::Applied, Reason::RecordedAsApplied, detail, None);
        }
        if let Some(refusal) = self.refused.iter().find(|refusal| refusal.rule == current.rule) {
            if refusal.reason == current.reason {
                return current;
            }
            let detail = match current.outcome {
                Verdict::Applied => {
                    format!("when the pod was created; a new pod gets it, so recreate the job: {}", current.message)
                }
                outcome => {
                    format!("with the current labels and configuration: {}: {}", outcome.name(), current.message)
                }
            };
            return RuleOutcome::new(current.rule, Verdict::Refused, refusal.reason, Some(detail), current.field);
        }
        match rendered {
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
