//! Tests of the comparison of roles.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::rule::Verdict;

fn gpus(count: u64) -> Value {
    json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": count}}}]}})
}

/// Returns the deviation of roles, each with its decision, of which `eval` follows all others.
fn find(roles: &[(&str, Reason, &str, u64)], is_audit: bool) -> Option<Deviation> {
    let decided: Vec<(&str, Value, [RuleOutcome; 1])> = roles
        .iter()
        .map(|(name, reason, detail, count)| {
            let detail = Some((*detail).to_owned());
            let mut rule = RuleOutcome::new(RuleId::Fabric, Verdict::Applied, *reason, detail, None);
            if is_audit {
                rule.mark_as_audit();
            }
            (*name, gpus(*count), [rule])
        })
        .collect();
    let all: Vec<String> = roles.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let roles = decided.iter().map(|(name, pod, rules)| {
        let follows = if *name == "eval" { all.as_slice() } else { &[] };
        let pod = Pod::new(pod);
        DecidedRole { name, follows, pod, patched: pod, rules }
    });
    let roles: Vec<DecidedRole<'_>> = roles.collect();
    deviation(&roles, &RunOrder::new(roles.iter().map(|role| (role.name, role.follows))))
}

fn check(roles: &[(&str, Reason, &str, u64)], expected: Option<(&str, &str)>) {
    let found = find(roles, false);
    assert_eq!(found.as_ref().map(|found| (found.role.as_str(), found.message.as_str())), expected);
}

const EFA: &str = "eks-efa: added vpc.amazonaws.com/efa: 32";
const PENDING: &str = "eks-efa: vpc.amazonaws.com/efa depends on the instance type";

#[rstest]
#[case::same(&[("Master", Reason::FabricAdded, EFA, 8), ("Worker", Reason::FabricPresent, "eks-efa", 8)], None)]
#[case::refused(
    &[("Master", Reason::FabricContradicted, "eks-efa: x", 8), ("Worker", Reason::FabricAdded, EFA, 8)],
    Some(("Master", "Worker gets eks-efa, but not Master: NCCL hangs"))
)]
#[case::too_few(
    &[("Worker", Reason::FabricAdded, EFA, 8), ("Evaluator", Reason::TooFewAccelerators, "eks-efa", 1)],
    Some(("Evaluator", "Worker gets eks-efa, but not Evaluator: NCCL hangs"))
)]
#[case::another_profile(
    &[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::FabricFellBack, "eks-efa: x", 8), ("C", Reason::FabricOptedOut, "", 8)],
    Some(("B", "A gets eks-efa, but not B, C: NCCL hangs"))
)]
#[case::launcher(&[("Launcher", Reason::NoAccelerator, "eks-efa", 0), ("Worker", Reason::FabricAdded, EFA, 8)], None)]
#[case::opted_out_without_accelerators(&[("a", Reason::PodOptedOut, "", 0), ("b", Reason::FabricAdded, EFA, 8)], None)]
#[case::refused_for_all(&[("A", Reason::FabricGuarded, "x", 8), ("B", Reason::FabricGuarded, "x", 8)], None)]
#[case::after_the_others(&[("a", Reason::FabricAdded, EFA, 8), ("eval", Reason::FabricOptedOut, "", 1)], None)]
#[case::beside_one_that_follows(
    &[("a", Reason::FabricAdded, EFA, 8), ("eval", Reason::FabricOptedOut, "", 1), ("b", Reason::FabricGuarded, "x", 8)],
    Some(("b", "a gets eks-efa, but not b: NCCL hangs"))
)]
#[case::in_a_queue(
    &[("A", Reason::InstanceTypeUnknown, PENDING, 8), ("B", Reason::FabricAdded, EFA, 8), ("C", Reason::InstanceTypeUnknown, PENDING, 8)],
    Some(("A", "B gets eks-efa, but A, C only if the queue supplies the instance type: NCCL may hang"))
)]
#[case::in_a_queue_and_refused(
    &[("A", Reason::InstanceTypeUnknown, PENDING, 8), ("B", Reason::FabricAdded, EFA, 8), ("C", Reason::FabricGuarded, "x", 8)],
    Some(("C", "B gets eks-efa, but not C: NCCL hangs"))
)]
#[case::in_a_queue_with_another_profile(
    &[("A", Reason::InstanceTypeUnknown, "oke-roce-vf: x", 8), ("B", Reason::FabricAdded, EFA, 8)],
    Some(("A", "B gets eks-efa, but not A: NCCL hangs"))
)]
#[case::all_in_a_queue(&[("A", Reason::InstanceTypeUnknown, PENDING, 8), ("B", Reason::InstanceTypeUnknown, PENDING, 8)], None)]
#[case::opted_out(
    &[("Worker", Reason::FabricAdded, EFA, 8), ("Log", Reason::PodOptedOut, "", 1)],
    Some(("Log", "Worker gets eks-efa, and Log opted out: NCCL hangs between them"))
)]
#[case::namespace_opted_out(
    &[("Worker", Reason::FabricAdded, EFA, 8), ("Master", Reason::FabricOptedOut, "", 8)],
    Some(("Master", "Worker gets eks-efa, but not Master: NCCL hangs"))
)]
#[case::many(
    &[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::FabricGuarded, "", 8), ("C", Reason::FabricGuarded, "", 8),
      ("D", Reason::FabricGuarded, "", 8), ("E", Reason::FabricGuarded, "", 8), ("F", Reason::FabricGuarded, "", 8)],
    Some(("B", "A gets eks-efa, but not B, C, D, E and 1 more: NCCL hangs"))
)]
fn one_role_is_reported_for_the_job(
    #[case] roles: &[(&str, Reason, &str, u64)],
    #[case] expected: Option<(&str, &str)>,
) {
    check(roles, expected);
}

/// Roles with a profile each, and whether the pod's own label selects it.
#[rstest]
#[case::label_of_the_first(
    &[("Master", Reason::FabricAdded, "tcp", true), ("Worker", Reason::FabricAdded, EFA, false)],
    ("Master", "Master gets tcp, but Worker eks-efa: NCCL hangs"), FIX_OF_LABELS
)]
#[case::label_of_another(
    &[("Master", Reason::FabricAdded, EFA, false), ("Worker", Reason::FabricPresent, "tcp", true)],
    ("Worker", "Master gets eks-efa, but Worker tcp: NCCL hangs"), FIX_OF_LABELS
)]
#[case::three_profiles(
    &[("A", Reason::FabricAdded, EFA, true), ("B", Reason::FabricAdded, "tcp", true), ("C", Reason::FabricAdded, "x", true)],
    ("B", "A gets eks-efa, but not B, C: NCCL hangs"), FIX_OF_LABELS
)]
#[case::fallback(
    &[("A", Reason::FabricAdded, EFA, true), ("B", Reason::FabricFellBack, "eks-efa: x", true)],
    ("B", "A gets eks-efa, but not B: NCCL hangs"), FIX
)]
#[case::fallback_of_the_first(
    &[("A", Reason::FabricFellBack, "eks-efa: x", true), ("B", Reason::FabricAdded, EFA, true)],
    ("B", "A gets tcp, but not B: NCCL hangs"), FIX
)]
fn different_profiles_are_reported_at_a_label(
    #[case] roles: &[(&str, Reason, &str, bool)],
    #[case] expected: (&str, &str),
    #[case] fix: &str,
) {
    let decided = roles.iter().map(|(name, reason, detail, is_labeled)| {
        let mut pod = gpus(8);
        if *is_labeled {
            pod["metadata"] = json!({"labels": {keys::FABRIC: "x"}});
        }
        let detail = Some((*detail).to_owned());
        (*name, pod, [RuleOutcome::new(RuleId::Fabric, Verdict::Applied, *reason, detail, None)])
    });
    let decided: Vec<(&str, Value, [RuleOutcome; 1])> = decided.collect();
    let roles = decided.iter().map(|(name, pod, rules)| {
        let pod = Pod::new(pod);
        DecidedRole { name, follows: &[], pod, patched: pod, rules }
    });
    let roles: Vec<DecidedRole<'_>> = roles.collect();
    let found = deviation(&roles, &RunOrder::new(roles.iter().map(|role| (role.name, role.follows)))).unwrap();
    assert_eq!(((found.role.as_str(), found.message.as_str()), found.fix), (expected, Some(fix)));
}

#[rstest]
#[case::error(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::FabricGuarded, "x", 8)], false, Severity::Error, "A gets eks-efa, but not B: NCCL hangs")]
#[case::audit(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::FabricGuarded, "x", 8)], true, Severity::Warning, "A would get eks-efa, but not B: NCCL would hang")]
#[case::deliberate(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::PodOptedOut, "", 8)], false, Severity::Warning, "A gets eks-efa, and B opted out: NCCL hangs between them")]
#[case::queue(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::InstanceTypeUnknown, PENDING, 8)], false, Severity::Warning, "A gets eks-efa, but B only if the queue supplies the instance type: NCCL may hang")]
#[case::queue_in_audit(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::InstanceTypeUnknown, PENDING, 8)], true, Severity::Warning, "A would get eks-efa, but B only if the queue supplies the instance type: NCCL may hang")]
fn the_severity_depends_on_the_cause(
    #[case] roles: &[(&str, Reason, &str, u64)],
    #[case] is_audit: bool,
    #[case] severity: Severity,
    #[case] message: &str,
) {
    let found = find(roles, is_audit).unwrap();
    assert_eq!((found.severity, found.message.as_str()), (severity, message));
    let fixes = [("opted out", FIX_IF_OPTED_OUT), ("the queue", FIX_OF_QUEUE)];
    let fix = fixes.into_iter().find(|(part, _)| message.contains(part)).map_or(FIX, |(_, fix)| fix);
    assert_eq!(found.fix, Some(fix));
}
