//! Decisions of the rules that need attention: FP046, FP047, FP050.

use super::LintInput;
use super::context::CheckContext;
use super::sink::FindingSink;
use crate::rule::{Reason, RuleOutcome, Verdict};

/// Field for refusals that concern the pod as a whole.
const POD: &str = "/spec";
/// Field for sidecars.
const CONTAINERS: &str = "/spec/containers";
/// Field for profiles, which a label selects.
const LABELS: &str = "/metadata/labels";

/// FP046: a rule was refused. FP049 reports invalid fields, FP050 sidecars.
pub(super) fn refused_rules(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { rules, invalid, .. } = context.input;
    let is_reported = |rule: &&RuleOutcome| {
        let has_own_check = match rule.reason {
            Reason::NotAPod => !invalid.is_empty(),
            Reason::SidecarNotTerminated => true,
            _ => false,
        };
        rule.outcome == Verdict::Refused && !has_own_check
    };
    for rule in rules.iter().filter(is_reported) {
        let (name, reason) = (rule.rule.name(), rule.reason.code());
        let mut report = |field: &Option<String>, text: &str| {
            findings.push(field.as_deref().unwrap_or(POD), format!("{name} is refused: {reason}: {text}"));
        };
        if rule.notes.is_empty() {
            report(&rule.field, &rule.message);
        }
        for note in &rule.notes {
            report(&note.field, &note.text);
        }
    }
}

/// FP050: the controller cannot terminate a sidecar, so that the pod does not complete.
pub(super) fn running_sidecars(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let rules = context.input.rules.iter().filter(|rule| rule.reason == Reason::SidecarNotTerminated);
    for note in rules.flat_map(|rule| &rule.notes) {
        findings.push(CONTAINERS, format!("the pod may never complete: {}", note.text));
    }
}

/// FP047: the pod requests an adapter for which there is a profile, but selects none.
pub(super) fn profile_not_selected(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let unset = context.input.rules.iter().find(|rule| rule.reason == Reason::FabricNotNamed);
    if let Some(suggestion) = unset.and_then(|rule| rule.detail()) {
        findings.push(LABELS, format!("no fabric profile is selected, but {suggestion}"));
    }
}
