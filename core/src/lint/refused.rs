//! FP046: rules that trainmesh refuses to apply to the pod.

use super::context::CheckContext;
use super::sink::FindingSink;
use crate::mutate::Verdict;

/// Field for refusals that concern the pod as a whole.
const POD: &str = "/spec";

/// FP046: a rule was refused.
pub(super) fn refused_rules(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for rule in context.input.rules.iter().filter(|rule| rule.outcome == Verdict::Refused) {
        let field = rule.field.as_deref().unwrap_or(POD);
        findings.push(field, format!("{} is refused: {}: {}", rule.rule.name(), rule.reason.code(), rule.summary()));
    }
}
