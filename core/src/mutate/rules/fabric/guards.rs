//! Guards, which detect that the cluster would reject the patched pod or never start it. Such a pod is worse than one
//! that uses TCP.
//!
//! Messages contain neither the remaining quota nor the capacity of nodes: messages become warnings, so anyone who can
//! call the webhook could query the quota of any namespace. Guards check only what the profile adds, not what the pod
//! requests itself.

use serde_json::Value;

use super::planner::{Planner, PodSecurityLevel};
use crate::config::PodSecurityDefault;
use crate::config::profile::{Guard, MemoryLock};
use crate::keys;
use crate::own_keys::{POD_SECURITY_LEVELS, excerpt};

/// Name, among the planned settings, of the capability that nodes without a limit on locked memory make unnecessary.
const IPC_LOCK_SETTING: &str = "capability IPC_LOCK";

/// Runs every guard. A guard that fails adds a conflict or, if the profile chooses `warn`, one of the returned
/// warnings.
pub(super) fn check(planner: &mut Planner<'_>) -> Vec<String> {
    let guards = planner.profile.guards.clone();
    let results = [
        (guards.psa, check_pod_security(planner)),
        (guards.non_root, check_non_root(planner)),
        (guards.quota, check_quota(planner)),
        (guards.node_capacity, check_node_capacity(planner)),
    ];
    let mut warnings = Vec::new();
    for (guard, (problem, fix)) in results.into_iter().filter_map(|(guard, result)| Some((guard, result?))) {
        match guard {
            Guard::Skip => planner.add_guard_conflict(problem, fix),
            Guard::Warn => warnings.push(format!("fabric {}: {problem}: {fix}", planner.profile.name)),
        }
    }
    warnings
}

/// Problem and fix of a guard that failed.
type GuardResult = Option<(String, &'static str)>;

/// Checks the Pod Security level of the namespace's label, else the cluster default from the configuration.
fn check_pod_security(planner: &Planner<'_>) -> GuardResult {
    let snapshot = planner.context.snapshot;
    let labeled = snapshot.namespace_labels.get(keys::POD_SECURITY).map(String::as_str);
    let (level, source) = match labeled {
        Some("" | "privileged") => return None,
        Some("baseline") => (PodSecurityLevel::Baseline, "Pod Security"),
        // The apiserver treats an unknown level as the strictest.
        Some(_) => (PodSecurityLevel::Restricted, "Pod Security"),
        None => match snapshot.config.fabric.pod_security_default {
            PodSecurityDefault::Unknown | PodSecurityDefault::Privileged => return None,
            PodSecurityDefault::Baseline => (PodSecurityLevel::Baseline, "the cluster's Pod Security default"),
            PodSecurityDefault::Restricted => (PodSecurityLevel::Restricted, "the cluster's Pod Security default"),
        },
    };
    let mut settings = planner.forbidden.iter().filter(|(least, _)| *least <= level).map(|(_, setting)| setting);
    let setting = settings.next()?;
    let fix = if setting == IPC_LOCK_SETTING && settings.all(|other| other == setting) {
        // The page states the condition: nodes that do not limit locked memory.
        "follow docs/fabric.md#pod-security"
    } else {
        "set a less restrictive level on the namespace"
    };
    let level = if level == PodSecurityLevel::Baseline { "baseline" } else { "restricted" };
    let unknown = labeled.filter(|labeled| !POD_SECURITY_LEVELS.contains(labeled));
    if let Some(unknown) = unknown {
        let fix = "correct the label pod-security.kubernetes.io/enforce of the namespace";
        return Some((format!("{source} {}, treated as {level}, forbids {setting}", excerpt(unknown)), fix));
    }
    Some((format!("{source} {level} forbids {setting}"), fix))
}

/// Checks that containers that need `IPC_LOCK` run as root. Other users do not get the capability, because Kubernetes
/// has no ambient capabilities.
fn check_non_root(planner: &Planner<'_>) -> GuardResult {
    let required = &planner.profile.security_context;
    if required.memlock != MemoryLock::IpcLock || !required.adds_ipc_lock() {
        return None;
    }
    let pod_security = planner.spec_field("securityContext");
    let target = planner.targets.iter().find(|target| {
        let effective = |field: &str| target.security(field).or_else(|| pod_security?.get(field));
        match effective("runAsUser").and_then(Value::as_i64) {
            Some(user) => user != 0,
            None => effective("runAsNonRoot") == Some(&Value::Bool(true)),
        }
    })?;
    Some((
        format!("IPC_LOCK has no effect in {}, which does not run as root", target.container.name()),
        "raise the memlock limit of the nodes",
    ))
}

/// Checks that the resources that the profile adds fit into the quotas of the namespace.
fn check_quota(planner: &Planner<'_>) -> GuardResult {
    let quotas = planner.cluster.quotas?;
    let problem = planner.demands.iter().find_map(|demand| {
        let resource = &demand.resource;
        let class = planner.cluster.claims.classes().class_of_resource(resource);
        // The devices of a class also have a common entry (`ResourceClaimsPerClass` in kubernetes/api).
        let of_class = class.map(|class| format!("{class}.deviceclass.resource.k8s.io/devices"));
        let entries = [format!("requests.{resource}"), format!("limits.{resource}"), resource.clone()];
        let exceeded = quotas.iter().find(|quota| {
            entries
                .iter()
                .chain(&of_class)
                .filter_map(|entry| quota.remaining.get(entry))
                .any(|left| *left < demand.total)
        })?;
        Some(format!("{resource}: {} does not fit into quota {}", demand.total, exceeded.name))
    });
    Some((problem?, "raise the quota"))
}

/// Checks that some node offers the resources that the profile adds.
fn check_node_capacity(planner: &Planner<'_>) -> GuardResult {
    let nodes = planner.cluster.nodes?;
    let required = planner.profile.matches.node_resource_required.iter().map(|name| (name.as_str(), 1));
    let demanded = planner.demands.iter().map(|demand| (demand.resource.as_str(), demand.total));
    // Nodes do not report devices of a class (KEP-5004): these are in ResourceSlices.
    let has_class = |resource: &str| planner.cluster.claims.classes().class_of_resource(resource).is_some();
    let counted = demanded.filter(|(resource, _)| !resource.starts_with("hugepages-") && !has_class(resource));
    required.chain(counted).find_map(|(resource, required)| match nodes.max_allocatable(resource) {
        0 => Some((format!("no node offers {resource}"), "install its device plugin or select another fabric")),
        most if most < required => Some((format!("no node has {required} {resource}"), "request fewer accelerators")),
        _ => None,
    })
}
