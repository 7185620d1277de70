//! FP031 for the roles of a manifest: the fabric profile, or its settings for a machine, are applied to a part of the roles only.

#[cfg(test)]
mod tests;

use super::JobContext;
use super::deviation::{Deviation, MAX_COMPARED};
use super::role_requests::{RoleRequests, other_machines, without_adapter};
use super::role_settings::{ProfiledRole, without_settings};
use super::run_order::RunOrder;
use super::unused_labels::is_gang_impossible;
use crate::config::Profiles;
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
    /// The pod after the patch.
    patched: Pod<'a>,
    rules: &'a [RuleOutcome],
}

/// Fabric of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoleFabric<'a> {
    /// The pod gets this profile.
    Profile(&'a str),
    /// The pod falls back to TCP, because it does not get its profile.
    FellBack,
    /// The pod has accelerators, but gets no profile.
    Missing,
    /// The pod gets this profile if the queue of the job supplies the instance type.
    OfQueue(&'a str),
    /// A label of the pod, which has accelerators, excludes it.
    OptedOut,
    /// The pod takes no part in the communication, as far as its decision shows.
    NotNeeded,
}

/// How to fix roles with different profiles.
const FIX: &str = "correct what prevents the profile in the other roles (FP046), or label all pods of the job \
                   trainmesh.dev/fabric=none";

/// How to fix roles that select different profiles.
const FIX_OF_LABELS: &str = "select one profile for all roles: give their pods the same label trainmesh.dev/fabric, or label only the \
                             namespace";

/// How to fix a role that opted out.
const FIX_IF_OPTED_OUT: &str = "remove trainmesh.dev/inject=disabled or trainmesh.dev/fabric=none from the other roles, or label \
                                all pods of the job trainmesh.dev/fabric=none";

/// How to fix a role that needs the instance type of its queue.
const FIX_OF_QUEUE: &str = "select the instance type in the pod templates of all roles, unless each flavor of the ClusterQueue has the \
                            node label";

/// How to fix a role that selects no machine, unlike others.
const FIX_OF_MACHINES: &str = "select the same instance type in the pod templates of all roles";

/// Profile that pods fall back to.
const TCP: &str = "tcp";

impl<'a> DecidedRole<'a> {
    /// Creates the role with the decisions of the rules about its pod, and the pod after their patch.
    pub(crate) fn new(role: &'a RolePod, patched: Pod<'a>, rules: &'a [RuleOutcome]) -> Self {
        Self { name: &role.name, follows: &role.follows, pod: Pod::new(&role.pod), patched, rules }
    }
}

impl JobContext {
    /// Adds the decisions about the roles of the workload, which select some of `profiles`.
    #[must_use]
    pub(crate) fn with_decisions(self, roles: &[DecidedRole<'_>], profiles: &Profiles) -> Self {
        let requests = self.facts.roles.iter().skip(self.first_role);
        let named: Vec<(&str, &RoleRequests)> = roles.iter().map(|role| role.name).zip(requests).collect();
        let has_profile =
            roles.iter().any(|role| matches!(fabric(role), RoleFabric::Profile(_) | RoleFabric::FellBack));
        // A profile adds the adapters to the roles without them.
        let order = RunOrder::new(roles.iter().map(|role| (role.name, role.follows)));
        let other_machines = other_machines(&named, &order);
        let deviation = if has_profile { deviation(roles, &order) } else { without_adapter(&named, &order) };
        // Roles with different machines are reported, and get different settings.
        let compares_settings = deviation.is_none() && other_machines.is_none();
        let fix = if self.queue.is_some() { FIX_OF_QUEUE } else { FIX_OF_MACHINES };
        let deviation = if compares_settings {
            let with_settings: Vec<ProfiledRole<'_>> = roles.iter().filter_map(profiled).collect();
            without_settings(&with_settings, &order, profiles, fix)
        } else {
            deviation
        };
        let in_gang = roles.iter().filter(|role| !role.rules.iter().any(is_gang_impossible));
        let gang_roles = Some(in_gang.count());
        Self { deviation, other_machines, gang_roles, ..self }
    }
}

/// Returns the role with the settings that it gets, if it gets a profile.
fn profiled<'a>(role: &DecidedRole<'a>) -> Option<ProfiledRole<'a>> {
    match fabric(role) {
        RoleFabric::Profile(profile) => ProfiledRole::new(role.name, profile, role.patched),
        RoleFabric::FellBack
        | RoleFabric::Missing
        | RoleFabric::OfQueue(_)
        | RoleFabric::OptedOut
        | RoleFabric::NotNeeded => None,
    }
}

/// Returns the deviation from the first role with a profile that runs at the same time as a role with another fabric.
fn deviation(roles: &[DecidedRole<'_>], order: &RunOrder<'_>) -> Option<Deviation> {
    let fabrics: Vec<(&DecidedRole<'_>, RoleFabric<'_>)> = roles.iter().map(|role| (role, fabric(role))).collect();
    let with_profile = fabrics.iter().filter_map(|(role, fabric)| match fabric {
        RoleFabric::Profile(profile) => Some((*role, *profile)),
        RoleFabric::FellBack => Some((*role, TCP)),
        RoleFabric::Missing | RoleFabric::OfQueue(_) | RoleFabric::OptedOut | RoleFabric::NotNeeded => None,
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
        RoleFabric::Profile(other) | RoleFabric::OfQueue(other) => other != profile,
        RoleFabric::FellBack => profile != TCP,
        RoleFabric::Missing | RoleFabric::OptedOut => true,
        RoleFabric::NotNeeded => false,
    };
    let apart = order.apart_from(role.name);
    let peers = || fabrics.iter().filter(|(other, _)| !apart.contains(other.name));
    let is_audited = role.rules.iter().any(|rule| rule.rule == RuleId::Fabric && rule.is_audited());
    let (gets, hangs) = if is_audited { ("would get", "would hang") } else { ("gets", "hangs") };
    let with = role.name;
    let others = peers().filter(|(_, fabric)| differs(*fabric));
    let (others, fabrics): (Vec<&DecidedRole<'_>>, Vec<RoleFabric<'_>>) = others.copied().unzip();
    let names: Vec<&str> = others.iter().map(|other| other.name).collect();
    let Some(first) = others.first() else {
        let of_queue = peers().filter(|(_, fabric)| matches!(fabric, RoleFabric::OfQueue(_)));
        let names: Vec<&str> = of_queue.map(|(other, _)| other.name).collect();
        let message = format!(
            "{with} {gets} {profile}, but {} only if the queue supplies the instance type: NCCL may hang",
            join_names(&names)
        );
        let role = (*names.first()?).to_owned();
        return Some(Deviation { role, message, severity: Severity::Warning, fix: Some(FIX_OF_QUEUE) });
    };
    let without = join_names(&names);
    let has_opted_out = fabrics.iter().all(|fabric| *fabric == RoleFabric::OptedOut);
    let is_selected = |fabric: &RoleFabric<'_>| matches!(fabric, RoleFabric::Profile(_));
    let differs_by_label = is_selected(&fabric(role)) && fabrics.iter().all(is_selected);
    // The label of the namespace selects the profile of the roles without one.
    let with_label = || others.iter().chain([&role]).find(|role| role.pod.label(keys::FABRIC).is_some());
    let (severity, message) = if has_opted_out {
        // Roles with a program of their own need no fabric.
        (Severity::Warning, format!("{with} gets {profile}, and {without} opted out: NCCL hangs between them"))
    } else {
        let severity = if is_audited { Severity::Warning } else { Severity::Error };
        let other = match fabrics.as_slice() {
            [RoleFabric::Profile(other), rest @ ..] if differs_by_label => {
                rest.iter().all(|fabric| *fabric == RoleFabric::Profile(other)).then_some(other)
            }
            _ => None,
        };
        let difference = other.map_or_else(|| format!("not {without}"), |other| format!("{without} {other}"));
        (severity, format!("{with} {gets} {profile}, but {difference}: NCCL {hangs}"))
    };
    let (role, fix) = match () {
        () if has_opted_out => (first, FIX_IF_OPTED_OUT),
        () if differs_by_label => (with_label().unwrap_or(first), FIX_OF_LABELS),
        () => (first, FIX),
    };
    Some(Deviation { role: role.name.to_owned(), message, severity, fix: Some(fix) })
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
    let profile = || {
        let detail = decision.detail().unwrap_or_default();
        detail.split(':').next().unwrap_or(detail)
    };
    match decision.reason {
        Reason::FabricAdded | Reason::FabricPresent => RoleFabric::Profile(profile()),
        Reason::InstanceTypeUnknown => RoleFabric::OfQueue(profile()),
        Reason::FabricFellBack => RoleFabric::FellBack,
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
