//! Warning about a proxy that captures the traffic of distributed training.

use super::super::{RuleContext, RuleDecision};
use crate::finding::Severity;
use crate::lint;
use crate::mutate::lint_input;

/// Adds the warning of FP021 to a decision that leaves traffic capture unchanged.
pub(super) fn warn_if_captured(context: &RuleContext<'_>, decision: RuleDecision) -> RuleDecision {
    let input = lint_input(context.pod, context.pod, context.snapshot);
    let finding = lint::captured_traffic(&input, &context.snapshot.config.fabric.lint);
    match finding.filter(|finding| finding.severity != Severity::Info) {
        Some(finding) => decision.with_warning(lint::warning_line(&finding)),
        None => decision,
    }
}
