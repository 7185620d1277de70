//! Result of the mutation engine.

use std::collections::BTreeMap;

use super::rules::{in_audit, is_consequence};
use super::{Patch, Reason, RuleOutcome, Verdict, VerifyError};
use crate::error::chain;
use crate::finding::Finding;

/// Patch for a pod and the decisions behind it.
#[derive(Debug)]
pub struct Outcome {
    /// Decision of every rule, in the documented order.
    pub rules: Vec<RuleOutcome>,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
    /// Lint findings for the patched pod. The warnings include the most severe ones.
    pub findings: Vec<Finding>,
    /// Annotations for the apiserver's audit log.
    pub audit: BTreeMap<&'static str, String>,
    /// Patch to send. Empty if nothing changes, in audit mode, and if verification failed.
    pub patch: Patch,
    /// Verification error. Set if the patch was withheld.
    pub failure: Option<VerifyError>,
}

/// Start of the warnings about what audit mode prevents.
const AUDIT: &str = "audit: ";

/// Field of a refusal because the annotations are too large.
const ANNOTATIONS: &str = "/metadata/annotations";

/// Changes applied rules to refused ones, because the patch is withheld.
pub(super) fn refuse_applied(rules: &mut [RuleOutcome], failure: &VerifyError) {
    let reason = if failure.is_annotation_overflow() {
        Reason::AnnotationsTooLarge
    } else if failure.is_invalid_input() {
        Reason::NotAPod
    } else {
        Reason::PatchWithheld
    };
    for rule in rules.iter_mut().filter(|rule| rule.outcome == Verdict::Applied) {
        let field = rule.field.take();
        // No field of the patch is the cause, but the annotations of the pod.
        let field = if failure.is_annotation_overflow() { Some(ANNOTATIONS.to_owned()) } else { field };
        *rule = RuleOutcome::new(rule.rule, Verdict::Refused, reason, Some(chain(failure)), field);
    }
}

/// Rewords the messages of applied rules for audit mode, and returns the corresponding warnings.
pub(super) fn mark_as_audit(rules: &mut [RuleOutcome]) -> Vec<String> {
    let applied = rules.iter_mut().filter(|rule| rule.outcome == Verdict::Applied);
    applied
        .map(|rule| {
            rule.mark_as_audit();
            format!("{AUDIT}{} would apply: {}", rule.rule.name(), rule.reason.text())
        })
        .collect()
}

/// Rewords the warnings about what the selected mode of traffic costs for audit mode.
pub(super) fn reword_for_audit(warnings: &mut [String]) {
    for warning in warnings {
        if let Some(audited) = in_audit(warning) {
            audited.clone_into(warning);
        }
    }
}

/// Returns true if `warning` follows from the mode of the namespace or of its traffic alone. The author of a manifest cannot fix it, so
/// that it does not fail a check of manifests.
#[must_use]
pub fn is_note(warning: &str) -> bool {
    is_consequence(warning) || warning.starts_with(AUDIT)
}
