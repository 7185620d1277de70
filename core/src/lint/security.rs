//! Locked memory, devices of the node and Pod Security: FP001, FP002, FP019, FP020, FP027.

use serde_json::Value;

use super::facts::{Facts, Seen};
use super::finding::Found;
use super::raw::text;
use crate::config::Profile;
use crate::config::profile::MemoryLock;
use crate::pod::ContainerKind;

/// The namespace label of Pod Security that makes the apiserver refuse pods.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Levels that forbid what is looked for here.
const FORBIDDING: [&str; 2] = ["baseline", "restricted"];
/// Where the devices of RDMA are.
const DEVICES: &str = "/dev/infiniband";

/// FP001: memory for RDMA cannot be locked.
pub(super) fn no_lock(facts: &Facts<'_>, found: &mut Found<'_>) {
    let unlimited = |profile: &Profile| profile.security_context.memlock == MemoryLock::NodeUnlimited;
    if facts.subject.profile.is_some_and(unlimited) {
        return;
    }
    for seen in &facts.containers {
        if let Some((adapter, _)) = seen.adapters.first()
            && !seen.locks_memory()
            && !seen.privileged()
        {
            found.add(seen.at("/securityContext"), format!("{}: {adapter} without IPC_LOCK", seen.named()));
        }
    }
}

/// FP002: a capability is for root alone.
pub(super) fn lock_without_root(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in facts.containers.iter().filter(|seen| seen.locks_memory()) {
        let user = effective(facts, seen, "runAsUser").and_then(Value::as_i64);
        let non_root = effective(facts, seen, "runAsNonRoot").and_then(Value::as_bool) == Some(true);
        let message = match user {
            Some(user) if user != 0 => format!("{}: IPC_LOCK has no effect for user {user}", seen.named()),
            None if non_root => format!("{}: IPC_LOCK has no effect with runAsNonRoot", seen.named()),
            _ => continue,
        };
        found.add(seen.at("/securityContext/capabilities/add"), message);
    }
}

/// A field of the container's security context, else of the pod's.
fn effective<'a>(facts: &Facts<'a>, seen: &Seen<'a>, key: &str) -> Option<&'a Value> {
    seen.security(key).or_else(|| facts.spec("securityContext")?.get(key))
}

/// FP019: device files of the node that the container may not open, or is given twice.
pub(super) fn device_path(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for (index, mount) in seen.mounts() {
            let volume = text(mount, "name").and_then(|name| facts.volume(name));
            let path = volume.and_then(|(_, volume)| text(volume.get("hostPath")?, "path"));
            if !path.is_some_and(|path| path == DEVICES || path.starts_with("/dev/infiniband/")) {
                continue;
            }
            let problem = match seen.adapters.first() {
                Some((adapter, _)) => format!("beside {adapter}, which brings the devices"),
                None if !seen.privileged() => "in a container that may not open devices".to_owned(),
                None => continue,
            };
            let message = format!("{}: hostPath {DEVICES} {problem}", seen.named());
            found.add(seen.at(&format!("/volumeMounts/{index}")), message);
        }
    }
}

/// FP020: a limit of one process is not that of another container.
pub(super) fn ulimit(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in facts.containers.iter().filter(|seen| seen.container.kind == ContainerKind::Init) {
        let word = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        if seen.container.command_line().any(|words| words.split(word).any(|word| word == "ulimit")) {
            found.add(seen.at("/command"), format!("{}: its ulimit ends with it", seen.named()));
        }
    }
}

/// FP027: the namespace refuses such pods.
pub(super) fn pod_security(facts: &Facts<'_>, found: &mut Found<'_>) {
    let Some(level) = facts.subject.labels.get(ENFORCE).filter(|level| FORBIDDING.contains(&level.as_str())) else {
        return;
    };
    let by_profile = facts.subject.profile.and_then(|profile| Some((profile, needs(profile)?)));
    if let Some((profile, need)) = by_profile {
        let message = format!("profile {} needs {need}, which Pod Security {level} forbids", profile.name);
        found.add("/metadata/namespace", message);
    } else if let Some((field, need)) = has(facts) {
        found.add(field, format!("{need} is forbidden by Pod Security {level} of the namespace"));
    }
}

/// What of a profile's needs is forbidden.
fn needs(profile: &Profile) -> Option<&'static str> {
    let context = &profile.security_context;
    if context.privileged {
        Some("privileged")
    } else if context.capabilities.add.iter().any(|capability| capability.as_str() == "IPC_LOCK") {
        Some("IPC_LOCK")
    } else if !profile.volumes.host_paths.is_empty() {
        Some("hostPath")
    } else {
        profile.pod.host_network.then_some("hostNetwork")
    }
}

/// What of the pod itself is forbidden, and where.
fn has(facts: &Facts<'_>) -> Option<(String, &'static str)> {
    if facts.subject.pod.host_network() {
        return Some(("/spec/hostNetwork".to_owned(), "hostNetwork"));
    }
    if let Some(index) = facts.list("volumes").position(|volume| volume.get("hostPath").is_some_and(Value::is_object)) {
        return Some((format!("/spec/volumes/{index}"), "hostPath"));
    }
    let refused = |seen: &&Seen<'_>| seen.privileged() || seen.locks_memory();
    let seen = facts.containers.iter().find(refused)?;
    Some((seen.at("/securityContext"), if seen.privileged() { "privileged" } else { "IPC_LOCK" }))
}
