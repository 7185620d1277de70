//! FP031 for the roles of a manifest: the fabric profile is applied to a part of the roles only.

use super::JobContext;
use super::deviation::{Deviation, MAX_COMPARED};
use super::role_requests::{RoleRequests, other_machines, without_adapter};
use super::run_order::RunOrder;
use super::unused_labels::is_gang_impossible;
use crate::finding::Severity;
use crate::keys;
use crate::names::join_names;
use crate::pod::Pod;
use crate::rule::{Reason, RuleId, RuleOutcome};
use crate::workload::{self, RolePod};

/// A role with the decisions about its pod.
pub(crate) struct DecidedRole<'a> {
    name: &'a str,
    /// Roles that complete before the role starts.
    follows: &'a [String],
    /// Pod as its operator creates it.
    pod: Pod<'a>,
    rules: &'a [RuleOutcome],
}

/// Fabric of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoleFabric<'a> {
    /// The pod gets this profile.
    Profile(&'a str),
    /// The pod has accelerators, but gets no profile.
    Missing,
    /// A label of the pod, which has accelerators, excludes it.
    OptedOut,
    /// The pod takes no part in the communication, as far as its decision shows.
    NotNeeded,
}

/// How to fix roles with different profiles.
const FIX: &str = "correct what prevents the profile in the other roles (FP046), or label all pods of the job \
                   trainmesh.dev/fabric=none";

/// Profile that pods fall back to.
const TCP: &str = "tcp";

impl<'a> DecidedRole<'a> {
    /// Creates the role with the decisions of the rules about its pod.
    pub(crate) fn new(role: &'a RolePod, rules: &'a [RuleOutcome]) -> Self {
        Self { name: &role.name, follows: &role.follows, pod: Pod::new(&role.pod), rules }
    }
}

impl JobContext {
    /// Adds the decisions about the roles of the workload.
    #[must_use]
    pub(crate) fn with_decisions(self, roles: &[DecidedRole<'_>]) -> Self {
        let named: Vec<(&str, &RoleRequests)> = roles.iter().map(|role| role.name).zip(&self.roles).collect();
        let has_profile = roles.iter().any(|role| matches!(fabric(role), RoleFabric::Profile(_)));
        // A profile adds the adapters to the roles without them.
        let order = RunOrder::new(roles.iter().map(|role| (role.name, role.follows)));
        let deviation = if has_profile { deviation(roles, &order) } else { without_adapter(&named, &order) };
        let in_gang = roles.iter().filter(|role| !role.rules.iter().any(is_gang_impossible));
        let gang_roles = Some(in_gang.count());
        Self { deviation, other_machines: other_machines(&named, &order), gang_roles, ..self }
    }
}

/// Returns the deviation from the first role with a profile that runs at the same time as a role with another fabric.
fn deviation(roles: &[DecidedRole<'_>], order: &RunOrder<'_>) -> Option<Deviation> {
    let fabrics: Vec<(&DecidedRole<'_>, RoleFabric<'_>)> = roles.iter().map(|role| (role, fabric(role))).collect();
    let with_profile = fabrics.iter().filter_map(|(role, fabric)| match fabric {
        RoleFabric::Profile(profile) => Some((*role, *profile)),
        RoleFabric::Missing | RoleFabric::OptedOut | RoleFabric::NotNeeded => None,
    });
    with_profile.take(MAX_COMPARED).find_map(|(role, profile)| deviation_from(role, profile, &fabrics, order))
}

/// Returns the deviation of other roles from `role`, which gets `profile`.
fn deviation_from(
    role: &DecidedRole<'_>,
    profile: &str,
    fabrics: &[(&DecidedRole<'_>, RoleFabric<'_>)],
    order: &RunOrder<'_>,
) -> Option<Deviation> {
    let differs = |fabric: RoleFabric<'_>| match fabric {
        RoleFabric::Profile(other) => other != profile,
        RoleFabric::Missing | RoleFabric::OptedOut => true,
        RoleFabric::NotNeeded => false,
    };
    let apart = order.apart_from(role.name);
    let others = fabrics.iter().filter(|(other, fabric)| differs(*fabric) && !apart.contains(other.name));
    let (names, others): (Vec<&str>, Vec<RoleFabric<'_>>) = others.map(|(other, fabric)| (other.name, *fabric)).unzip();
    let first = names.first()?;
    let (with, without) = (role.name, join_names(&names));
    let is_audited = role.rules.iter().any(|rule| rule.rule == RuleId::Fabric && rule.is_audited());
    let (severity, message) = if others.iter().all(|fabric| *fabric == RoleFabric::OptedOut) {
        // Roles with a program of their own need no fabric.
        (Severity::Warning, format!("{with} gets {profile}, and {without} opted out: NCCL hangs between them"))
    } else if is_audited {
        (Severity::Warning, format!("{with} would get {profile}, but not {without}: NCCL would hang"))
    } else {
        (Severity::Error, format!("{with} gets {profile}, but not {without}: NCCL hangs"))
    };
    Some(Deviation { role: (*first).to_owned(), message, severity, fix: Some(FIX) })
}

/// Returns the fabric of the pod, as far as the decision about it shows.
fn fabric<'a>(role: &DecidedRole<'a>) -> RoleFabric<'a> {
    let Some(decision) = role.rules.iter().find(|rule| rule.rule == RuleId::Fabric) else {
        return RoleFabric::NotNeeded;
    };
    let has_accelerators = || role.pod.containers().any(|container| container.accelerators().is_some());
    // A launcher with accelerators is a rank, too, as with `runLauncherAsWorker` of an MPIJob.
    if workload::identify(role.pod).is_some_and(workload::is_auxiliary_role) && !has_accelerators() {
        return RoleFabric::NotNeeded;
    }
    match decision.reason {
        Reason::FabricAdded | Reason::FabricPresent => {
            let detail = decision.detail().unwrap_or_default();
            RoleFabric::Profile(detail.split(':').next().unwrap_or(detail))
        }
        Reason::FabricFellBack => RoleFabric::Profile(TCP),
        Reason::FabricContradicted
        | Reason::FabricGuarded
        | Reason::FabricOfSiblings
        | Reason::FabricNotAllowed
        | Reason::UnknownFabric
        | Reason::TooFewAccelerators => RoleFabric::Missing,
        Reason::PodOptedOut if has_accelerators() => RoleFabric::OptedOut,
        Reason::FabricOptedOut if has_accelerators() && role.pod.label(keys::FABRIC).is_some() => RoleFabric::OptedOut,
        Reason::FabricOptedOut | Reason::FabricNotNamed if has_accelerators() => RoleFabric::Missing,
        _ => RoleFabric::NotNeeded,
    }
}

#[cfg(test)]
mod tests {
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
            DecidedRole { name, follows, pod: Pod::new(pod), rules }
        });
        let roles: Vec<DecidedRole<'_>> = roles.collect();
        deviation(&roles, &RunOrder::new(roles.iter().map(|role| (role.name, role.follows))))
    }

    fn check(roles: &[(&str, Reason, &str, u64)], expected: Option<(&str, &str)>) {
        let found = find(roles, false);
        assert_eq!(found.as_ref().map(|found| (found.role.as_str(), found.message.as_str())), expected);
    }

    const EFA: &str = "eks-efa: added vpc.amazonaws.com/efa: 32";

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

    #[rstest]
    #[case::error(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::FabricGuarded, "x", 8)], false, Severity::Error, "A gets eks-efa, but not B: NCCL hangs")]
    #[case::audit(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::FabricGuarded, "x", 8)], true, Severity::Warning, "A would get eks-efa, but not B: NCCL would hang")]
    #[case::deliberate(&[("A", Reason::FabricAdded, EFA, 8), ("B", Reason::PodOptedOut, "", 8)], false, Severity::Warning, "A gets eks-efa, and B opted out: NCCL hangs between them")]
    fn the_severity_depends_on_the_cause(
        #[case] roles: &[(&str, Reason, &str, u64)],
        #[case] is_audit: bool,
        #[case] severity: Severity,
        #[case] message: &str,
    ) {
        let found = find(roles, is_audit).unwrap();
        assert_eq!((found.severity, found.message.as_str()), (severity, message));
    }
}
