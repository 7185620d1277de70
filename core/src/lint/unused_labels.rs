//! Part of FP045: labels of a pod that select something which its kind or its devices can never use.

use json_patch::jsonptr::PointerBuf;

use super::LintInput;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::pod::Pod;
use crate::rule::{Reason, RuleId, RuleOutcome};

/// Kind whose sizes only its manifest does not show: in a cluster, its pods belong to `RayClusters`.
const RAY_SERVICE: &str = "RayService";
/// API groups of the operators that put all pods of their kinds into gangs themselves.
const OWN_GANGS: [&str; 2] = ["batch.volcano.sh", "grove.io"];
/// Why a gang mode has no effect on such a kind, whatever the mode.
const OF_OPERATORS: &str = "the operator of this kind puts all pods into gangs itself";
/// How to fix a gang mode of a kind whose operator creates the gangs.
const FIX_FOR_OPERATORS: &str = "remove the label; the operator creates the gangs of this kind";
/// How to fix a gang mode.
const FIX_FOR_GANGS: &str = "remove the label, or follow the message; docs/gang.md lists the kinds of each mode";
/// How to fix a fabric profile.
const FIX_FOR_FABRICS: &str = "remove the label, or select a profile for the devices; trainmesh fabric list shows all";

/// Reports the labels of the pod that select a gang mode or a fabric profile, and whose rules skip it for a reason that does not
/// depend on the namespace or the cluster. An admission review shows no other roles, and templates of other kinds lack the labels by
/// which their pods are recognized.
pub(super) fn check<'a>(input: &LintInput<'a>, findings: &mut FindingSink<'_>) {
    let Some(job) = input.job.filter(|_| !input.generic) else { return };
    if input.member.is_some_and(|member| OWN_GANGS.contains(&member.kind.group)) {
        let reason = |rule: &'a RuleOutcome| -> Option<&'a str> { is_left_to_operator(rule).then_some(OF_OPERATORS) };
        report(input, RuleId::Gang, reason, FIX_FOR_OPERATORS, findings);
    } else if job.gang_roles == Some(0) {
        // Users label all roles alike.
        report(
            input,
            RuleId::Gang,
            |rule| is_gang_impossible(rule).then_some(rule.message.as_str()),
            FIX_FOR_GANGS,
            findings,
        );
    }
    let reason = |rule: &'a RuleOutcome| has_other_devices(rule, input.original).then_some(rule.message.as_str());
    report(input, RuleId::Fabric, reason, FIX_FOR_FABRICS, findings);
}

/// Reports the label by which the pod selects `rule`, if `reason` returns why it has no effect according to its decision.
fn report<'a>(
    input: &LintInput<'a>,
    rule: RuleId,
    reason: impl Fn(&'a RuleOutcome) -> Option<&'a str>,
    fix: &'static str,
    findings: &mut FindingSink<'_>,
) {
    let reason = input.rules.iter().filter(|outcome| outcome.rule == rule).find_map(reason);
    let label = rule.selected_by().and_then(|key| Some((key, input.original.label(key)?)));
    if let Some((reason, (key, value))) = reason.zip(label) {
        let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
        let message = format!("label {key}={value} has no effect: {reason}");
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

/// Returns true if the operator of the pod has already put it into a gang, or the pod can be in none.
fn is_left_to_operator(rule: &RuleOutcome) -> bool {
    is_gang_impossible(rule)
        || matches!(
            rule.reason,
            Reason::GangKeyPresent | Reason::SchedulingGated | Reason::NoGangScheduler | Reason::GangLeftToKueue
        )
}

/// Returns true if the pod requests accelerators or partitions, and the profile is for others. A pod without any may be a launcher.
fn has_other_devices(rule: &RuleOutcome, pod: Pod<'_>) -> bool {
    let mut containers = pod.containers();
    rule.reason == Reason::NoAccelerator
        && containers.any(|container| container.accelerators().is_some() || container.has_partitions())
}
