//! Volume mounts: FP012, FP013, FP035.

use serde_json::Value;

use super::context::{CheckContext, ContainerFacts};
use super::raw::str_at;
use super::sink::FindingSink;
use crate::fabric::conf;
use crate::finding::Severity;
use crate::pod::uses_nccl;
use crate::quantity::whole_units;
use crate::rule::Reason;

/// Mount path of shared memory.
const SHM: &str = "/dev/shm";

/// FP012: a setting refers to a file that no volume provides.
pub(super) fn unmounted_file(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| !context.is_launcher(container)) {
        for name in ["NCCL_TOPO_FILE", "NCCL_TUNER_CONFIG_PATH"] {
            let Some(path) = container.settings.value(name) else { continue };
            let contains_path = |mount: &str| {
                path.strip_prefix(mount.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if !container.mounts().any(|(_, mount)| str_at(mount, "mountPath").is_some_and(contains_path)) {
                let message = format!("{}: no volume provides {name}={path}", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}

/// FP013: shared memory is too small, or larger than the memory that the containers may use.
pub(super) fn shared_memory(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    if context.spec("hostIPC").and_then(Value::as_bool) == Some(true) {
        return;
    }
    let runs_nccl = |container: &&ContainerFacts<'_>| container.accelerator.is_none_or(uses_nccl);
    for container in context.gpu_containers().filter(runs_nccl) {
        let is_shm = |mount: &Value| str_at(mount, "mountPath").is_some_and(|path| path.trim_end_matches('/') == SHM);
        let Some((_, mount)) = container.mounts().find(|(_, mount)| is_shm(mount)) else {
            if is_added_later(context) {
                continue;
            }
            let message = format!("{}: no volume at {SHM}: only 64 MiB of shared memory", container.display_name());
            // GPUs of one container communicate through it; a single one needs it only for data loaders.
            let severity = if container.gpus.min() > 1 { Severity::Warning } else { Severity::Info };
            findings.push_as(severity, container.pointer("/volumeMounts"), message);
            continue;
        };
        let Some((index, volume)) = str_at(mount, "name").and_then(|name| context.volume(name)) else { continue };
        let Some(directory) = volume.get("emptyDir").filter(|source| str_at(source, "medium") == Some("Memory")) else {
            continue;
        };
        let size = directory.get("sizeLimit").and_then(whole_units);
        if let (Some(size), Some(memory)) = (size, memory_limit(context))
            && size > memory
        {
            let limit = directory.get("sizeLimit").and_then(Value::as_str).unwrap_or_default();
            let message = format!("{}: {SHM} of {limit} exceeds the pod's memory limit", container.display_name());
            findings.push(format!("/spec/volumes/{index}/emptyDir/sizeLimit"), message);
        }
    }
}

/// Returns true if the profile adds the volume to the pod once its fields are valid, or the queue of the job has supplied
/// the instance type.
fn is_added_later(context: &CheckContext<'_>) -> bool {
    let is_pending = !context.input.invalid.is_empty()
        || context.input.rules.iter().any(|rule| rule.reason == Reason::InstanceTypeUnknown);
    is_pending && context.input.profile.is_some_and(|profile| profile.volumes.shm.is_some())
}

/// Returns the memory limit of the pod in bytes, or `None` if a container has no limit.
fn memory_limit(context: &CheckContext<'_>) -> Option<u64> {
    let limit =
        |resources: &Value| resources.get("limits").and_then(|limits| limits.get("memory")).and_then(whole_units);
    if let Some(pod) = context.spec("resources").and_then(limit) {
        return Some(pod);
    }
    let containers = context.list("containers").map(|container| container.get("resources").and_then(limit));
    containers.sum()
}

/// FP035: RCCL does not read NCCL's configuration file.
pub(super) fn nccl_conf_with_amd(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let is_amd = container.accelerator == Some("amd.com/gpu");
        let find_mount = |path: &str| container.mounts().find(|(_, mount)| str_at(mount, "mountPath") == Some(path));
        let has_rccl_conf = || find_mount(conf::RCCL_PATH).is_some();
        if let Some((index, _)) = find_mount(conf::NCCL_PATH).filter(|_| is_amd && !has_rccl_conf()) {
            let message = format!("{}: RCCL (amd.com/gpu) does not read {}", container.display_name(), conf::NCCL_PATH);
            findings.push(container.pointer(&format!("/volumeMounts/{index}/mountPath")), message);
        }
    }
}
