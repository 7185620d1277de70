//! What is mounted: FP012, FP013, FP035.

use serde_json::Value;

use super::facts::Facts;
use super::finding::Found;
use super::raw::text;
use crate::fabric::conf;
use crate::quantity::whole_units;

/// Where shared memory is.
const SHM: &str = "/dev/shm";

/// FP012: a file that nothing mounts.
pub(super) fn absent_file(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for name in ["NCCL_TOPO_FILE", "NCCL_TUNER_CONFIG_PATH"] {
            let Some(path) = seen.settings.value(name) else { continue };
            let below = |mount: &str| {
                path.strip_prefix(mount.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if !seen.mounts().any(|(_, mount)| text(mount, "mountPath").is_some_and(below)) {
                found.add(seen.settings.field(name), format!("{}: {name}={path} is below no mount", seen.named()));
            }
        }
    }
}

/// FP013: too little shared memory, or more than the containers may use.
pub(super) fn shared_memory(facts: &Facts<'_>, found: &mut Found<'_>) {
    if facts.spec("hostIPC").and_then(Value::as_bool) == Some(true) {
        return;
    }
    for seen in facts.computing() {
        let at_shm = |mount: &Value| text(mount, "mountPath").is_some_and(|path| path.trim_end_matches('/') == SHM);
        let Some((_, mount)) = seen.mounts().find(|(_, mount)| at_shm(mount)) else {
            found.add(seen.at("/volumeMounts"), format!("{}: no volume at {SHM}, which holds 64 MiB", seen.named()));
            continue;
        };
        let Some((index, volume)) = text(mount, "name").and_then(|name| facts.volume(name)) else { continue };
        let Some(directory) = volume.get("emptyDir").filter(|source| text(source, "medium") == Some("Memory")) else {
            continue;
        };
        let size = directory.get("sizeLimit").and_then(whole_units);
        if let (Some(size), Some(memory)) = (size, memory(facts))
            && size > memory
        {
            let limit = directory.get("sizeLimit").and_then(Value::as_str).unwrap_or_default();
            let message = format!("{}: {SHM} of {limit} is larger than the pod's memory limit", seen.named());
            found.add(format!("/spec/volumes/{index}/emptyDir/sizeLimit"), message);
        }
    }
}

/// The memory that the pod may use; `None`: it has no bound.
fn memory(facts: &Facts<'_>) -> Option<u64> {
    let limit =
        |resources: &Value| resources.get("limits").and_then(|limits| limits.get("memory")).and_then(whole_units);
    if let Some(pod) = facts.spec("resources").and_then(limit) {
        return Some(pod);
    }
    let app = facts.list("containers").map(|container| container.get("resources").and_then(limit));
    app.sum()
}

/// FP035: RCCL reads another file.
pub(super) fn file_of_nvidia(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        let amd = seen.container.accelerators().is_some_and(|accelerators| accelerators.resource == "amd.com/gpu");
        let mounted = |path: &str| seen.mounts().find(|(_, mount)| text(mount, "mountPath") == Some(path));
        if let Some((index, _)) = mounted(conf::NCCL).filter(|_| amd && mounted(conf::RCCL).is_none()) {
            let message = format!("{}: RCCL of amd.com/gpu does not read {}", seen.named(), conf::NCCL);
            found.add(seen.at(&format!("/volumeMounts/{index}/mountPath")), message);
        }
    }
}
