//! Warning about a proxy that captures the traffic of distributed training.

use super::super::{RuleContext, RuleDecision};
use crate::finding::Severity;
use crate::lint::{self, LintInput};
use crate::mutate::lint_input;
use crate::rule::{Reason, RuleId, RuleOutcome};

/// Adds the warning of FP021 to a decision that leaves traffic capture unchanged.
pub(super) fn warn_if_captured(context: &RuleContext<'_>, decision: RuleDecision) -> RuleDecision {
    let rules = [RuleOutcome::new(RuleId::MeshTraffic, decision.verdict, decision.reason, None, None)];
    let input = LintInput { rules: &rules, ..lint_input(context.pod, context.pod, context.snapshot) };
    let finding = lint::captured_traffic(&input, &context.snapshot.config.fabric.lint);
    match finding.filter(|finding| finding.severity != Severity::Info) {
        Some(finding) => decision.with_finding(finding),
        None => decision,
    }
}

/// Adds the warning of FP021 to a decision if the pod's own settings prevent the selected mode, or keep the capture of one direction.
pub(super) fn warn_if_overridden(context: &RuleContext<'_>, decision: RuleDecision) -> RuleDecision {
    let is_overridden = match decision.reason {
        Reason::InjectionSetByUser | Reason::ProxyCustomized | Reason::TrafficSetByUser | Reason::AlreadyInjected => {
            true
        }
        Reason::CaptureDisabled => context.pod.requests_capture(),
        _ => false,
    };
    if is_overridden { warn_if_captured(context, decision) } else { decision }
}
