//! Locked memory, host devices and Pod Security: FP001, FP002, FP019, FP020, FP027.

use serde_json::Value;

use super::context::{CheckContext, ContainerFacts};
use super::raw::str_at;
use super::sink::FindingSink;
use crate::config::Profile;
use crate::config::profile::MemoryLock;
use crate::finding::Severity;
use crate::pod::ContainerKind;
use crate::rule::{Reason, RuleId};

/// Namespace label with the Pod Security level that the apiserver enforces.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Levels that forbid the settings that RDMA needs.
const FORBIDDING_LEVELS: [&str; 2] = ["baseline", "restricted"];
/// Directory with the RDMA devices.
const DEVICES: &str = "/dev/infiniband";

/// FP001: the container cannot lock memory for RDMA.
pub(super) fn missing_ipc_lock(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let is_unlimited = |profile: &Profile| profile.security_context.memlock == MemoryLock::NodeUnlimited;
    if context.input.profile.is_some_and(is_unlimited) {
        return;
    }
    for container in &context.containers {
        // Nodes for EFA set no limit.
        if let Some(adapter) = container.adapter_names().find(|adapter| !context.is_efa(adapter))
            && !container.has_ipc_lock()
            && !container.is_privileged()
        {
            let message =
                format!("{}: {adapter} without IPC_LOCK: RDMA may fail to lock memory", container.display_name());
            // Without a profile, the limit of the nodes is unknown.
            let severity = if context.input.profile.is_some() { Severity::Warning } else { Severity::Info };
            findings.push_as(severity, container.pointer("/securityContext"), message);
        }
    }
}

/// FP002: an added capability takes effect for root only.
pub(super) fn ipc_lock_without_root(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.has_ipc_lock()) {
        let user = effective(context, container, "runAsUser").and_then(Value::as_i64);
        let non_root = effective(context, container, "runAsNonRoot").and_then(Value::as_bool) == Some(true);
        let name = container.display_name();
        let message = match user {
            Some(user) if user != 0 => format!("{name}: IPC_LOCK has no effect for user {user}"),
            None if non_root => format!("{name}: IPC_LOCK has no effect with runAsNonRoot"),
            _ => continue,
        };
        findings.push(container.pointer("/securityContext/capabilities/add"), message);
    }
}

/// Returns the field `key` of the container's security context, or else of the pod's.
fn effective<'a>(context: &CheckContext<'a>, container: &ContainerFacts<'a>, key: &str) -> Option<&'a Value> {
    container.security_context(key).or_else(|| context.spec("securityContext")?.get(key))
}

/// FP019: the container mounts RDMA devices of the node that it cannot open, or that a device plugin already adds.
pub(super) fn host_devices(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for (index, mount) in container.mounts() {
            let volume = str_at(mount, "name").and_then(|name| context.volume(name));
            let path = volume.and_then(|(_, volume)| str_at(volume.get("hostPath")?, "path"));
            if !path.is_some_and(|path| path == DEVICES || path.starts_with("/dev/infiniband/")) {
                continue;
            }
            // A mount beside a device plugin's devices changes nothing; in a container that is not privileged and has no
            // devices it is of no use.
            let (severity, problem) = match container.adapter_names().next() {
                Some(adapter) => (Severity::Info, format!("is redundant: {adapter} adds the devices")),
                None if container.is_privileged() => continue,
                None => (Severity::Warning, "has no effect: the container cannot open devices".to_owned()),
            };
            let message = format!("{}: hostPath {DEVICES} {problem}", container.display_name());
            findings.push_as(severity, container.pointer(&format!("/volumeMounts/{index}")), message);
        }
    }
}

/// FP020: a resource limit set in an init container does not apply to other containers.
pub(super) fn ulimit_in_init_container(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| container.spec.kind == ContainerKind::Init) {
        let separator = |char: char| !char.is_ascii_alphanumeric() && char != '_';
        let sets_limit = |text: &str| text.split(separator).any(|word| word == "ulimit");
        if let Some(index) = container.spec.command_line().position(sets_limit) {
            let message = format!("{}: ulimit does not apply to other containers", container.display_name());
            findings.push(container.spec.argument_pointer(index), message);
        }
    }
}

/// FP027: the namespace's Pod Security level forbids what the profile or the pod needs.
pub(super) fn pod_security(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(level) = context.input.labels.get(ENFORCE).filter(|level| FORBIDDING_LEVELS.contains(&level.as_str()))
    else {
        return;
    };
    let by_profile = context
        .input
        .profile
        .filter(|_| applies_profile(context))
        .and_then(|profile| Some((profile, forbidden_requirement(profile)?)));
    if let Some((profile, need)) = by_profile {
        let message = format!("profile {} needs {need}, which Pod Security {level} forbids", profile.name);
        findings.push("/metadata/namespace", message);
    } else if let Some((field, setting)) = forbidden_setting(context) {
        findings.push(field, format!("the namespace's Pod Security level {level} forbids {setting}"));
    }
}

/// Returns true if the rule `fabric` applies the profile, as far as its decision is known. A pod without accelerators gets
/// nothing from it, and a guard skips a pod that would be rejected.
fn applies_profile(context: &CheckContext<'_>) -> bool {
    let decision = context.input.rules.iter().find(|rule| rule.rule == RuleId::Fabric);
    decision.is_none_or(|rule| matches!(rule.reason, Reason::FabricAdded | Reason::FabricPresent))
}

/// Returns the first requirement of `profile` that Pod Security forbids.
fn forbidden_requirement(profile: &Profile) -> Option<&'static str> {
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

/// Returns the first setting of the pod that Pod Security forbids, preceded by its JSON pointer.
fn forbidden_setting(context: &CheckContext<'_>) -> Option<(String, &'static str)> {
    if context.input.pod.host_network() {
        return Some(("/spec/hostNetwork".to_owned(), "hostNetwork"));
    }
    if let Some(index) = context.list("volumes").position(|volume| volume.get("hostPath").is_some_and(Value::is_object))
    {
        return Some((format!("/spec/volumes/{index}"), "hostPath"));
    }
    let is_forbidden = |container: &&ContainerFacts<'_>| container.is_privileged() || container.has_ipc_lock();
    let container = context.containers.iter().find(is_forbidden)?;
    let setting = if container.is_privileged() { "privileged" } else { "IPC_LOCK" };
    Some((container.pointer("/securityContext"), setting))
}
