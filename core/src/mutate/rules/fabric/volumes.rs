//! Shared memory, host paths and `ConfigMap`s. A mount of the user at the same path is kept.

use serde_json::{Map, Value, json};

use super::planner::{Planner, PodSecurityLevel, covers};
use crate::config::profile::{ConfigMapVolume, HostPath, SharedMemory};
use crate::json;
use crate::mutate::plan::spec_path;

/// A mount that a profile requires.
pub(super) struct Mount<'m> {
    /// Preferred name of the volume. A suffix is added if the user has another volume of this name.
    pub(super) volume: &'m str,
    /// Fields of the volume other than its name.
    pub(super) source: Value,
    pub(super) sub_path: Option<&'m str>,
    pub(super) read_only: bool,
}

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    if let Some(shm) = &profile.volumes.shm {
        plan_shared_memory(planner, shm);
    }
    for (index, path) in profile.volumes.host_paths.iter().enumerate() {
        plan_host_path(planner, index, path);
    }
    for (index, map) in profile.volumes.config_maps.iter().enumerate() {
        if is_absent(planner, map) {
            planner.note_skipped(format!("ConfigMap {}: not found in the namespace", map.name));
        } else {
            plan_config_map(planner, index, map);
        }
    }
}

/// Returns true if a `ConfigMap` must exist but is known to be absent.
pub(super) fn is_absent(planner: &Planner<'_>, map: &ConfigMapVolume) -> bool {
    map.must_exist && planner.cluster.config_maps.is_some_and(|known| !known.contains(map.name.as_str()))
}

fn plan_shared_memory(planner: &mut Planner<'_>, shm: &SharedMemory) {
    let mut source = json!({"medium": "Memory"});
    if let Some(limit) = &shm.size_limit {
        source["sizeLimit"] = limit.as_str().into();
    }
    let source = json!({"emptyDir": source});
    let required = Mount { volume: "trainmesh-shm", source, sub_path: None, read_only: false };
    if let Some(suffix) = plan_missing_mounts(planner, shm.mount.as_str(), required) {
        planner.note_added(format!("{} (memory){suffix}", shm.mount));
    }
}

/// Returns the volume source of a host path.
fn host_path_source(path: &HostPath) -> Value {
    let mut source = json!({"path": path.host_path.as_str()});
    if let Some(kind) = path.kind
        && let Ok(kind) = serde_json::to_value(kind)
    {
        source["type"] = kind;
    }
    json!({"hostPath": source})
}

/// Plans a host path volume for a sidecar that the profile adds, and returns the sidecar's mount.
pub(super) fn plan_sidecar_mount(planner: &mut Planner<'_>, base: &str, path: &HostPath) -> Value {
    let name = plan_volume(planner, base, host_path_source(path));
    planner.forbidden.push((PodSecurityLevel::Baseline, format!("hostPath {}", path.host_path)));
    let mut entry = json!({"name": name, "mountPath": path.mount_path.as_str()});
    if path.read_only {
        entry["readOnly"] = true.into();
    }
    entry
}

fn plan_host_path(planner: &mut Planner<'_>, index: usize, path: &HostPath) {
    let (volume, read_only) = (format!("trainmesh-host-{index}"), path.read_only);
    let required = Mount { volume: &volume, source: host_path_source(path), sub_path: None, read_only };
    if let Some(suffix) = plan_missing_mounts(planner, path.mount_path.as_str(), required) {
        planner.note_added(format!("{} (hostPath){suffix}", path.mount_path));
        planner.forbidden.push((PodSecurityLevel::Baseline, format!("hostPath {}", path.host_path)));
    }
}

fn plan_config_map(planner: &mut Planner<'_>, index: usize, map: &ConfigMapVolume) {
    // Optional, so that the pod starts without the ConfigMap. The directory is then empty.
    let source = json!({"configMap": {"name": map.name.as_str(), "optional": true}});
    let volume = format!("trainmesh-config-{index}");
    let required = Mount { volume: &volume, source, sub_path: None, read_only: true };
    if let Some(suffix) = plan_missing_mounts(planner, map.mount_path.as_str(), required) {
        planner.note_added(format!("{} (ConfigMap {}){suffix}", map.mount_path, map.name));
    }
}

/// Plans the mount in the targets that have no mount at `path`. Returns the suffix that names these targets, if there
/// are any.
fn plan_missing_mounts(planner: &mut Planner<'_>, path: &str, required: Mount<'_>) -> Option<String> {
    let missing = targets_without_mount(planner, path, &required);
    let paths: Vec<(usize, &str)> = missing.iter().map(|index| (*index, path)).collect();
    if missing.is_empty() {
        return None;
    }
    plan_mount(planner, &paths, required);
    Some(planner.container_suffix(&missing))
}

/// Returns the targets that have no mount at `path`, and notes existing mounts.
fn targets_without_mount(planner: &mut Planner<'_>, path: &str, required: &Mount<'_>) -> Vec<usize> {
    let mut missing = Vec::new();
    let mut different = Vec::new();
    let mut equal = Vec::new();
    for (index, target) in planner.targets.iter().enumerate() {
        let is_at_path = |mount: &&Value| json::text(mount, "mountPath").is_some_and(|at| is_same_path(at, path));
        match target.items("volumeMounts").find(is_at_path) {
            None => missing.push(index),
            Some(mount) => {
                let volume = json::text(mount, "name").and_then(|name| find_volume(planner, name));
                // Any mount of the user is accepted as shared memory: the user chooses its size.
                let is_memory = required.source.get("emptyDir").is_some();
                let is_equal = is_memory || volume.is_some_and(|volume| covers(volume, &required.source));
                if is_equal { equal.push(index) } else { different.push(index) }
            }
        }
    }
    if !equal.is_empty() {
        let suffix = planner.container_suffix(&equal);
        planner.note_found(format!("mount {path}{suffix}"));
    }
    if !different.is_empty() {
        let suffix = planner.container_suffix(&different);
        planner.note_kept(format!("mount {path}{suffix}"));
    }
    missing
}

/// Plans mounts, each in a target and at a path, and their volume if the pod has no equal one.
pub(super) fn plan_mount(planner: &mut Planner<'_>, paths: &[(usize, &str)], required: Mount<'_>) {
    let name = plan_volume(planner, required.volume, required.source);
    for paths in paths.chunk_by(|(_, path), (_, next)| path == next) {
        let Some((_, path)) = paths.first() else { continue };
        let mut entry = json!({"name": name, "mountPath": path});
        if let Some(sub_path) = required.sub_path {
            entry["subPath"] = sub_path.into();
        }
        if required.read_only {
            entry["readOnly"] = true.into();
        }
        let targets: Vec<usize> = paths.iter().map(|(index, _)| *index).collect();
        planner.append(&targets, ["volumeMounts"], entry);
    }
}

/// Plans a volume with `source` if the pod has no equal one, and returns its name.
fn plan_volume(planner: &mut Planner<'_>, base: &str, source: Value) -> String {
    let (name, exists) = volume_name(planner, base, &source);
    if !exists {
        let mut volume = Map::from_iter([("name".to_owned(), name.clone().into())]);
        if let Value::Object(source) = source {
            volume.extend(source);
        }
        planner.plan.append(spec_path(["volumes"]), volume);
    }
    name
}

/// Returns the name of the pod's volume with `source` and true, or an unused name and false. Only an earlier call of
/// the webhook creates such a volume under a name that starts with `base`.
fn volume_name(planner: &Planner<'_>, base: &str, source: &Value) -> (String, bool) {
    let mut name = base.to_owned();
    for count in 2_u32.. {
        match find_volume(planner, &name) {
            None => break,
            Some(found) if covers(found, source) => return (name, true),
            Some(_) => name = format!("{base}-{count}"),
        }
    }
    (name, false)
}

/// Returns the pod's volume with this name.
pub(super) fn find_volume<'a>(planner: &Planner<'a>, name: &str) -> Option<&'a Value> {
    planner.spec_items("volumes").find(|volume| json::text(volume, "name") == Some(name))
}

/// Returns true if two paths are equal, ignoring trailing slashes.
pub(super) fn is_same_path(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}
