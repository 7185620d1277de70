//! Locked memory, host devices and Pod Security: FP001, FP002, FP019, FP020, FP027.

use serde_json::Value;

use super::context::{CheckContext, ContainerFacts, has_ipc_lock, is_privileged, misspelled_ipc_lock};
use super::raw::{mounts, str_at};
use super::sink::FindingSink;
use crate::config::Profile;
use crate::config::profile::{HostPath, MemoryLock};
use crate::finding::Severity;
use crate::json;
use crate::pod::{Container, ContainerKind, Pod};
use crate::rule::{Reason, RuleId};

/// Namespace label with the Pod Security level that the apiserver enforces.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Levels that forbid the settings that RDMA needs.
const FORBIDDING_LEVELS: [&str; 2] = ["baseline", "restricted"];
/// Directory with the RDMA devices.
const DEVICES: &str = "/dev/infiniband";

const FIX_FOR_HOST_NETWORK: &str = "remove hostNetwork from the pod, or use a namespace with the level privileged";
const FIX_FOR_HOST_PATH: &str =
    "remove the hostPath volumes from the pod, or use a namespace with the level privileged";
const FIX_FOR_PRIVILEGED: &str = "remove privileged from the container, or use a namespace with the level privileged";
const FIX_FOR_IPC_LOCK: &str =
    "use a namespace with the level privileged, or, if the nodes do not limit locked memory, remove the capability";

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
            let near = misspelled_ipc_lock(container.spec).map(|added| format!("; did you mean IPC_LOCK by {added}?"));
            let message = format!(
                "{}: {adapter} without IPC_LOCK: RDMA may fail to lock memory{}",
                container.display_name(),
                near.unwrap_or_default()
            );
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

/// FP027: the namespace's Pod Security level forbids what the pod sets, or what the profile adds to it.
pub(super) fn pod_security(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(level) = context.input.labels.get(ENFORCE).filter(|level| FORBIDDING_LEVELS.contains(&level.as_str()))
    else {
        return;
    };
    for (field, setting, fix) in forbidden_settings(context.input.original) {
        let message = format!("the namespace's Pod Security level {level} forbids {setting}");
        findings.push_with_fix(Severity::Error, field, message, fix);
    }
    let profile = context.input.profile.filter(|_| applies_profile(context));
    if let Some((profile, need)) = profile.and_then(|profile| Some((profile, forbidden_addition(context, profile)?))) {
        let message = format!("profile {} needs {need}, which Pod Security {level} forbids", profile.name);
        findings.push("/metadata/namespace", message);
    }
}

/// Returns true if the rule `fabric` applies the profile, as far as its decision is known. A pod without accelerators gets
/// nothing from it, and a guard skips a pod that would be rejected.
fn applies_profile(context: &CheckContext<'_>) -> bool {
    let decision = context.input.rules.iter().find(|rule| rule.rule == RuleId::Fabric);
    decision.is_none_or(|rule| matches!(rule.reason, Reason::FabricAdded | Reason::FabricPresent))
}

/// Returns the first addition of `profile` to the pod that Pod Security forbids. What the pod sets itself is no addition.
fn forbidden_addition(context: &CheckContext<'_>, profile: &Profile) -> Option<&'static str> {
    let pod = context.input.original;
    let with_gpus: Vec<&str> = context.gpu_containers().map(|container| container.spec.name()).collect();
    let is_target = |container: &Container<'_>| {
        let is_selected = with_gpus.is_empty() || with_gpus.contains(&container.name());
        container.kind == ContainerKind::App && is_selected
    };
    let targets = || pod.containers().filter(is_target);
    let settings = &profile.security_context;
    let lacks_lock = |container: Container<'_>| !is_privileged(container) && !has_ipc_lock(container);
    let is_mounted = |path: &HostPath| {
        let has_mount = |container: Container<'_>| {
            mounts(container).any(|(_, mount)| str_at(mount, "mountPath") == Some(path.mount_path.as_str()))
        };
        targets().all(has_mount)
    };
    if settings.privileged && targets().any(|container| !is_privileged(container)) {
        Some("privileged")
    } else if settings.adds_ipc_lock() && targets().any(lacks_lock) {
        Some("IPC_LOCK")
    } else if profile.volumes.host_paths.iter().any(|path| !is_mounted(path)) {
        Some("hostPath")
    } else {
        (profile.pod.host_network && !pod.host_network()).then_some("hostNetwork")
    }
}

/// Returns each setting of the pod that Pod Security forbids, between its JSON pointer and the fix.
fn forbidden_settings(pod: Pod<'_>) -> Vec<(String, &'static str, &'static str)> {
    let mut found = Vec::new();
    if pod.host_network() {
        found.push(("/spec/hostNetwork".to_owned(), "hostNetwork", FIX_FOR_HOST_NETWORK));
    }
    let volumes =
        pod.spec().and_then(|spec| json::field(spec, "volumes")?.as_array()).into_iter().flatten().enumerate();
    let host_paths = volumes.filter(|(_, volume)| volume.get("hostPath").is_some_and(Value::is_object));
    found.extend(host_paths.map(|(index, _)| (format!("/spec/volumes/{index}"), "hostPath", FIX_FOR_HOST_PATH)));
    for container in pod.containers().filter(|container| container.kind != ContainerKind::Ephemeral) {
        let field = || format!("{}/securityContext", container.pointer());
        if is_privileged(container) {
            found.push((field(), "privileged", FIX_FOR_PRIVILEGED));
        }
        if has_ipc_lock(container) {
            found.push((field(), "IPC_LOCK", FIX_FOR_IPC_LOCK));
        }
    }
    found
}
