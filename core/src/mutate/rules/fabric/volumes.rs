//! Shared memory, paths of the node and config maps. A mount of the user's at the same path stands.

use serde_json::{Map, Value, json};

use super::work::{Level, Work, covers};
use crate::config::profile::{ConfigMapVolume, HostPath, SharedMemory};
use crate::mutate::plan::spec;

/// A mount that a profile wants.
pub(super) struct Mount<'m> {
    /// The name of the volume, where the user has no other one of that name.
    pub(super) volume: &'m str,
    /// What the volume is made of: the fields beside its name.
    pub(super) source: Value,
    pub(super) sub_path: Option<&'m str>,
    pub(super) read_only: bool,
}

pub(super) fn plan(work: &mut Work<'_>) {
    let profile = work.profile;
    if let Some(shm) = &profile.volumes.shm {
        shared_memory(work, shm);
    }
    for (index, path) in profile.volumes.host_paths.iter().enumerate() {
        host_path(work, index, path);
    }
    for (index, map) in profile.volumes.config_maps.iter().enumerate() {
        if is_absent(work, map) {
            work.kept(format!("out ConfigMap {}, which the namespace lacks", map.name));
        } else {
            config_map(work, index, map);
        }
    }
}

/// Whether a config map is left out because it is known not to exist.
pub(super) fn is_absent(work: &Work<'_>, map: &ConfigMapVolume) -> bool {
    map.must_exist && work.cluster.config_maps.is_some_and(|known| !known.contains(map.name.as_str()))
}

fn shared_memory(work: &mut Work<'_>, shm: &SharedMemory) {
    let mut source = json!({"medium": "Memory"});
    if let Some(limit) = &shm.size_limit {
        source["sizeLimit"] = limit.as_str().into();
    }
    let source = json!({"emptyDir": source});
    let wanted = Mount { volume: "trainmesh-shm", source, sub_path: None, read_only: false };
    if let Some(place) = mount_where_free(work, shm.mount.as_str(), wanted) {
        work.added(format!("{} of memory{place}", shm.mount));
    }
}

/// The source of a volume that is a path of the node.
fn of_the_node(path: &HostPath) -> Value {
    let mut source = json!({"path": path.host_path.as_str()});
    if let Some(kind) = path.kind
        && let Ok(kind) = serde_json::to_value(kind)
    {
        source["type"] = kind;
    }
    json!({"hostPath": source})
}

/// Plans a volume that is a path of the node, for a container of our own, and returns the container's mount.
pub(super) fn host_mount(work: &mut Work<'_>, base: &str, path: &HostPath) -> Value {
    let name = volume(work, base, of_the_node(path));
    work.forbidden.push((Level::Baseline, format!("hostPath {}", path.host_path)));
    let mut entry = json!({"name": name, "mountPath": path.mount_path.as_str()});
    if path.read_only {
        entry["readOnly"] = true.into();
    }
    entry
}

fn host_path(work: &mut Work<'_>, index: usize, path: &HostPath) {
    let (volume, read_only) = (format!("trainmesh-host-{index}"), path.read_only);
    let wanted = Mount { volume: &volume, source: of_the_node(path), sub_path: None, read_only };
    if let Some(place) = mount_where_free(work, path.mount_path.as_str(), wanted) {
        work.added(format!("{} of the node{place}", path.mount_path));
        work.forbidden.push((Level::Baseline, format!("hostPath {}", path.host_path)));
    }
}

fn config_map(work: &mut Work<'_>, index: usize, map: &ConfigMapVolume) {
    // A pod never waits for it: where it does not exist the folder is empty.
    let source = json!({"configMap": {"name": map.name.as_str(), "optional": true}});
    let volume = format!("trainmesh-config-{index}");
    let wanted = Mount { volume: &volume, source, sub_path: None, read_only: true };
    if let Some(place) = mount_where_free(work, map.mount_path.as_str(), wanted) {
        work.added(format!("{} of ConfigMap {}{place}", map.mount_path, map.name));
    }
}

/// Plans the mount where nothing is mounted at `path` yet; returns the words for the containers that get it, if any.
fn mount_where_free(work: &mut Work<'_>, path: &str, wanted: Mount<'_>) -> Option<String> {
    let free = free_of_mounts(work, path, &wanted);
    let places: Vec<(usize, &str)> = free.iter().map(|index| (*index, path)).collect();
    if free.is_empty() {
        return None;
    }
    mount(work, &places, wanted);
    Some(work.of(&free))
}

/// The targets that have no mount at `path` yet. One of the user's that is made of something else is told.
fn free_of_mounts(work: &mut Work<'_>, path: &str, wanted: &Mount<'_>) -> Vec<usize> {
    let mut free = Vec::new();
    let mut others = Vec::new();
    let mut equal = Vec::new();
    for (index, target) in work.targets.iter().enumerate() {
        let at = |mount: &&Value| mount.get("mountPath").and_then(Value::as_str).is_some_and(|at| same(at, path));
        match target.items("volumeMounts").find(at) {
            None => free.push(index),
            Some(mount) => {
                let volume = mount.get("name").and_then(Value::as_str).and_then(|name| volume_of(work, name));
                // Any shared memory that the user made is as good: its size is theirs to say.
                let memory = wanted.source.get("emptyDir").is_some();
                let same = memory || volume.is_some_and(|volume| covers(volume, &wanted.source));
                if same { equal.push(index) } else { others.push(index) }
            }
        }
    }
    if !equal.is_empty() {
        let place = work.of(&equal);
        work.found(format!("mount {path}{place}"));
    }
    if !others.is_empty() {
        let place = work.of(&others);
        work.kept(format!("mount {path}{place}"));
    }
    free
}

/// Plans mounts, each in a target and at a path, and their volume where the pod has no equal one.
pub(super) fn mount(work: &mut Work<'_>, places: &[(usize, &str)], wanted: Mount<'_>) {
    let name = volume(work, wanted.volume, wanted.source);
    for places in places.chunk_by(|(_, path), (_, next)| path == next) {
        let Some((_, path)) = places.first() else { continue };
        let mut entry = json!({"name": name, "mountPath": path});
        if let Some(sub_path) = wanted.sub_path {
            entry["subPath"] = sub_path.into();
        }
        if wanted.read_only {
            entry["readOnly"] = true.into();
        }
        let targets: Vec<usize> = places.iter().map(|(index, _)| *index).collect();
        work.append(&targets, ["volumeMounts"], entry);
    }
}

/// Plans a volume of `source` where the pod has no equal one, and returns its name.
fn volume(work: &mut Work<'_>, base: &str, source: Value) -> String {
    let (name, exists) = volume_name(work, base, &source);
    if !exists {
        let mut volume = Map::from_iter([("name".to_owned(), name.clone().into())]);
        if let Value::Object(source) = source {
            volume.extend(source);
        }
        work.plan.append(spec(["volumes"]), volume);
    }
    name
}

/// A name for a volume of `source`: that of an equal one that stands there from an earlier round, or one that is free.
fn volume_name(work: &Work<'_>, base: &str, source: &Value) -> (String, bool) {
    let mut name = base.to_owned();
    for count in 2_u32.. {
        match volume_of(work, &name) {
            None => break,
            Some(found) if covers(found, source) => return (name, true),
            Some(_) => name = format!("{base}-{count}"),
        }
    }
    (name, false)
}

/// The pod's volume of this name.
pub(super) fn volume_of<'a>(work: &Work<'a>, name: &str) -> Option<&'a Value> {
    work.items("volumes").find(|volume| volume.get("name").and_then(Value::as_str) == Some(name))
}

/// Whether two paths are the same folder.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}
