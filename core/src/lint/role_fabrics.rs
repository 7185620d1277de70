//! FP031 for the roles of a manifest: the fabric profile is applied to a part of the roles only.

use super::JobContext;
use super::deviation::Deviation;
use super::role_requests::{RoleRequests, other_machines, without_adapter};
use crate::finding::Severity;
use crate::names::join_names;
use crate::pod::Pod;
use crate::rule::{Reason, RuleId, RuleOutcome};
use crate::workload::RolePod;

/// A role with the decisions about its pod.
pub(crate) struct DecidedRole<'a> {
    name: &'a str,
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
        Self { name: &role.name, pod: Pod::new(&role.pod), rules }
    }
}

impl JobContext {
    /// Adds the decisions about the roles of the workload.
    #[must_use]
    pub(crate) fn with_decisions(self, roles: &[DecidedRole<'_>]) -> Self {
        let named: Vec<(&str, &RoleRequests)> = roles.iter().map(|role| role.name).zip(&self.roles).collect();
        let has_profile = roles.iter().any(|role| matches!(fabric(role), RoleFabric::Profile(_)));
        // A profile adds the adapters to the roles without them.
        let deviation = if has_profile { deviation(roles) } else { without_adapter(&named) };
        Self { deviation, other_machines: other_machines(&named), ..self }
    }
}

fn deviation(roles: &[DecidedRole<'_>]) -> Option<Deviation> {
    let fabrics: Vec<(&str, RoleFabric<'_>)> = roles.iter().map(|role| (role.name, fabric(role))).collect();
    let (with, profile) = fabrics.iter().find_map(|(role, fabric)| match fabric {
        RoleFabric::Profile(profile) => Some((*role, *profile)),
        RoleFabric::Missing | RoleFabric::NotNeeded => None,
    })?;
    let differs = |fabric: &RoleFabric<'_>| match fabric {
        RoleFabric::Profile(other) => *other != profile,
        RoleFabric::Missing => true,
        RoleFabric::NotNeeded => false,
    };
    let others: Vec<&str> = fabrics.iter().filter(|(_, fabric)| differs(fabric)).map(|(role, _)| *role).collect();
    let first = others.first()?;
    let message = format!("{with} gets {profile}, but not {}: NCCL hangs", join_names(&others));
    Some(Deviation { role: (*first).to_owned(), message, severity: Severity::Error, fix: Some(FIX) })
}

/// Returns the fabric of the pod, as far as the decision about it shows.
fn fabric<'a>(role: &DecidedRole<'a>) -> RoleFabric<'a> {
    let Some(decision) = role.rules.iter().find(|rule| rule.rule == RuleId::Fabric) else {
        return RoleFabric::NotNeeded;
    };
    let has_accelerators = || role.pod.containers().any(|container| container.accelerators().is_some());
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
        Reason::FabricOptedOut | Reason::FabricNotNamed | Reason::PodOptedOut if has_accelerators() => {
            RoleFabric::Missing
        }
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

    fn check(roles: &[(&str, Reason, &str, u64)], expected: Option<(&str, &str)>) {
        let decided: Vec<(&str, Value, [RuleOutcome; 1])> = roles
            .iter()
            .map(|(name, reason, detail, count)| {
                let detail = Some((*detail).to_owned());
                let rule = RuleOutcome::new(RuleId::Fabric, Verdict::Applied, *reason, detail, None);
                (*name, gpus(*count), [rule])
            })
            .collect();
        let decided: Vec<DecidedRole<'_>> =
            decided.iter().map(|(name, pod, rules)| DecidedRole { name, pod: Pod::new(pod), rules }).collect();
        let found = deviation(&decided);
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
}
