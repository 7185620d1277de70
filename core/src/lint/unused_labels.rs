//! Part of FP045: labels of a pod that select something which its kind or its devices can never use.

use json_patch::jsonptr::PointerBuf;

use super::LintInput;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::pod::Pod;
use crate::rule::{Reason, RuleId, RuleOutcome};

/// Kind whose sizes only its manifest does not show: in a cluster, its pods belong to `RayClusters`.
const RAY_SERVICE: &str = "RayService";
/// How to fix a gang mode.
const FIX_FOR_GANGS: &str = "remove the label, or follow the message; docs/gang.md lists the kinds of each mode";
/// How to fix a fabric profile.
const FIX_FOR_FABRICS: &str = "remove the label, or select a profile for the devices; trainmesh fabric list shows all";

/// Reports the labels of the pod that select a gang mode or a fabric profile, and whose rules skip it for a reason that does not
/// depend on the namespace or the cluster. An admission review shows no other roles, and templates of other kinds lack the labels by
/// which their pods are recognized.
pub(super) fn check(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let Some(job) = input.job.filter(|_| !input.generic) else { return };
    // Users label all roles alike.
    if job.gang_roles == Some(0) {
        report(input, RuleId::Gang, is_gang_impossible, FIX_FOR_GANGS, findings);
    }
    report(input, RuleId::Fabric, |rule| has_other_devices(rule, input.original), FIX_FOR_FABRICS, findings);
}

/// Reports the label by which the pod selects `rule`, if `is_unused` for its decision.
fn report(
    input: &LintInput<'_>,
    rule: RuleId,
    is_unused: impl Fn(&RuleOutcome) -> bool,
    fix: &'static str,
    findings: &mut FindingSink<'_>,
) {
    let decision = input.rules.iter().find(|outcome| outcome.rule == rule && is_unused(outcome));
    let label = rule.selected_by().and_then(|key| Some((key, input.original.label(key)?)));
    if let Some((decision, (key, value))) = decision.zip(label) {
        let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
        let message = format!("label {key}={value} has no effect: {}", decision.message);
        findings.push_with_fix(Severity::Warning, field, message, fix);
    }
}

/// Returns true if pods of this kind are never in a gang of the selected mode.
pub(super) fn is_gang_impossible(rule: &RuleOutcome) -> bool {
    match rule.reason {
        Reason::NotInGang | Reason::NotGroupedByKai | Reason::OtherScheduler => true,
        Reason::GangKindUnknown => rule.detail() != Some(RAY_SERVICE),
        _ => false,
    }
}

/// Returns true if the pod requests accelerators, and the profile is for others. A pod without any may be a launcher.
fn has_other_devices(rule: &RuleOutcome, pod: Pod<'_>) -> bool {
    rule.reason == Reason::NoAccelerator && pod.containers().any(|container| container.accelerators().is_some())
}
