//! What the cluster would do with the pod: one that is rejected, or never starts, is worse off than one on TCP.
//!
//! What is said of quotas and nodes holds no figures of theirs: it is a warning, too, and any pod that reaches the webhook
//! can ask for it, in the name of any namespace. Only what the profile adds is looked at: what the pod asks for by itself is its user's affair.

use serde_json::Value;

use super::work::{Level, Work};
use crate::config::PodSecurityDefault;
use crate::config::profile::{Guard, MemoryLock};
use crate::keys;

/// Runs every guard; one that says no becomes a conflict, or one of the warnings that are returned.
pub(super) fn guard(work: &mut Work<'_>) -> Vec<String> {
    let guards = work.profile.guards.clone();
    let found = [
        (guards.psa, pod_security(work)),
        (guards.non_root, non_root(work)),
        (guards.quota, quota(work)),
        (guards.node_capacity, node_capacity(work)),
    ];
    let mut warnings = Vec::new();
    for (guard, (what, cure)) in found.into_iter().filter_map(|(guard, found)| Some((guard, found?))) {
        match guard {
            Guard::Skip => work.guarded(what, cure),
            Guard::Warn => warnings.push(format!("fabric {}: {what}: {cure}", work.profile.name)),
        }
    }
    warnings
}

type Finding = Option<(String, &'static str)>;

/// The namespace's label decides, else what the configuration says of the cluster.
fn pod_security(work: &Work<'_>) -> Finding {
    let snapshot = work.facts.snapshot;
    let (level, whose) = match snapshot.labels.get(keys::POD_SECURITY).map(String::as_str) {
        Some("" | "privileged") => return None,
        Some("baseline") => (Level::Baseline, "Pod Security"),
        // The apiserver takes a level that it does not know for the strictest.
        Some(_) => (Level::Restricted, "Pod Security"),
        None => match snapshot.config.fabric.pod_security_default {
            PodSecurityDefault::Unknown | PodSecurityDefault::Privileged => return None,
            PodSecurityDefault::Baseline => (Level::Baseline, "the cluster's Pod Security default"),
            PodSecurityDefault::Restricted => (Level::Restricted, "the cluster's Pod Security default"),
        },
    };
    let (_, what) = work.forbidden.iter().find(|(least, _)| *least <= level)?;
    let level = if level == Level::Baseline { "baseline" } else { "restricted" };
    Some((format!("{whose} {level} forbids {what}"), "raise the namespace's level"))
}

/// `IPC_LOCK` has effect for root alone: no capability of the kind is handed on to other users.
fn non_root(work: &Work<'_>) -> Finding {
    let security = &work.profile.security_context;
    let locks = security.capabilities.add.iter().any(|name| name.as_str() == "IPC_LOCK");
    if security.memlock != MemoryLock::IpcLock || !locks {
        return None;
    }
    let of_pod = work.spec("securityContext");
    let target = work.targets.iter().find(|target| {
        let says = |field: &str| target.security(field).or_else(|| of_pod?.get(field));
        match says("runAsUser").and_then(Value::as_i64) {
            Some(user) => user != 0,
            None => says("runAsNonRoot") == Some(&Value::Bool(true)),
        }
    })?;
    Some((
        format!("IPC_LOCK has no effect for {}, which is not root", target.container.name()),
        "lift the nodes' memlock limit",
    ))
}

fn quota(work: &Work<'_>) -> Finding {
    let quotas = work.cluster.quotas?;
    let over = work.demands.iter().find_map(|demand| {
        let resource = &demand.resource;
        let entries = [format!("requests.{resource}"), format!("limits.{resource}"), resource.clone()];
        let tight = quotas
            .iter()
            .find(|quota| entries.iter().filter_map(|entry| quota.left.get(entry)).any(|left| *left < demand.total))?;
        Some(format!("{resource}: {} does not fit into quota {}", demand.total, tight.name))
    });
    Some((over?, "raise the quota"))
}

fn node_capacity(work: &Work<'_>) -> Finding {
    let nodes = work.cluster.nodes?;
    let required = work.profile.matches.node_resource_required.iter().map(|name| (name.as_str(), 1));
    let demanded = work.demands.iter().map(|demand| (demand.resource.as_str(), demand.total));
    let counted = demanded.filter(|(resource, _)| !resource.starts_with("hugepages-"));
    required.chain(counted).find_map(|(resource, wanted)| match nodes.most(resource) {
        0 => Some((format!("no node offers {resource}"), "install its device plugin, or name another fabric")),
        most if most < wanted => {
            Some((format!("{resource}: no node has {wanted} of it"), "ask for fewer accelerators"))
        }
        _ => None,
    })
}
