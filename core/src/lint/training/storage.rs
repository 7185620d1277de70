//! Volumes of a job: TR003, TR004 and TR005.

use serde_json::Value;

use super::{RolePods, WorkloadManifest, numbered_words, words};
use crate::finding::Severity;
use crate::json;
use crate::lint::context::CheckContext;
use crate::lint::display_name::display_name;
use crate::lint::sink::FindingSink;
use crate::pod::{Container, ContainerKind, Pod};

/// Number of pods above which the metadata of files on NFS is a bottleneck.
const MANY_PODS: u64 = 8;
/// Parts of names of options, variables, volumes and directories for checkpoints.
const CHECKPOINT: [&str; 2] = ["checkpoint", "ckpt"];
/// Parts of names of options that name a checkpoint to read.
const READS: [&str; 7] = ["load", "resume", "restore", "pretrain", "init", "base", "from"];
/// Label of a node by which all pods may be placed on it.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// How to fix a claim for one pod.
const FIX_POD: &str = "use ReadWriteMany, or a claim for each pod";

/// A directory for checkpoints.
pub(super) struct CheckpointPath<'a> {
    /// Option, variable or volume that names it.
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    location: PathLocation,
}

/// Location in a container that names a directory for checkpoints, with its index there.
enum PathLocation {
    /// A mount of a volume.
    Mount(usize),
    /// A variable.
    Variable(usize),
    /// A text of the command line.
    Argument(usize),
}

/// TR003: pods share a claim that only one node, or one pod, can use.
pub(crate) fn shared_claim(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    for (index, name) in claims(role.original) {
        let Some(claim) = workload.objects.claim(name) else { continue };
        let users = workload.roles.iter().filter(|role| claims(role.original).any(|(_, other)| other == name));
        let Some(pods) = WorkloadManifest::pods(users).filter(|pods| *pods > 1) else { continue };
        let is_only = |mode: &str| !claim.access_modes.is_empty() && claim.access_modes.iter().all(|own| own == mode);
        let field = format!("/spec/volumes/{index}/persistentVolumeClaim/claimName");
        if is_only("ReadWriteOncePod") {
            let message = format!("{pods} pods use claim {name}, which is ReadWriteOncePod: all but one stay Pending");
            findings.push_with_fix(Severity::Error, field, message, FIX_POD);
        } else if is_only("ReadWriteOnce") && !is_on_one_node(role.original) {
            let message = format!(
                "{pods} pods use claim {name}, which is ReadWriteOnce: all run on one node, or some never start"
            );
            findings.push(field, message);
        }
    }
}

/// TR004: many pods share an NFS volume.
pub(crate) fn shared_nfs(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let Some(pods) = WorkloadManifest::pods(workload.ranks()).filter(|pods| *pods > MANY_PODS && role.is_rank()) else {
        return;
    };
    for (index, volume) in volumes(role.original) {
        let claim = claim_name(volume).and_then(|name| workload.objects.claim(name));
        let is_nfs =
            volume.get("nfs").is_some_and(Value::is_object) || claim.is_some_and(|claim| claim.class.contains("nfs"));
        if is_nfs {
            let name = json::text(volume, "name").unwrap_or_default();
            findings.push(format!("/spec/volumes/{index}"), format!("{pods} pods share the NFS volume {name}"));
        }
    }
}

/// TR005: checkpoints are written to a volume that is deleted with the pod.
pub(crate) fn lost_checkpoints(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((_, role)) = context.workload() else { return };
    if !role.is_rank() {
        return;
    }
    for container in role.main_containers() {
        let lost = checkpoint_paths(container).find_map(|path| {
            let volume = volume_at(role.original, container, path.path)?;
            let is_lost = volume.get("emptyDir").is_some() && !is_shared(role.original, container, volume);
            is_lost.then(|| (path, json::text(volume, "name").unwrap_or_default()))
        });
        if let Some((CheckpointPath { name, path, location }, volume)) = lost {
            let message = format!(
                "{}: {name} at {path} is on volume {volume}, an emptyDir, which is deleted with the pod",
                display_name(container)
            );
            findings.push(location.pointer(container), message);
        }
    }
}

impl PathLocation {
    /// Returns the JSON pointer of the location in `container`.
    fn pointer(&self, container: Container<'_>) -> String {
        match self {
            Self::Mount(index) => format!("{}/volumeMounts/{index}", container.pointer()),
            Self::Variable(index) => format!("{}/env/{index}", container.pointer()),
            Self::Argument(index) => container.argument_pointer(*index),
        }
    }
}

/// Returns the directories for checkpoints of `container`.
pub(super) fn checkpoint_paths(container: Container<'_>) -> impl Iterator<Item = CheckpointPath<'_>> {
    let mounts = json::items(container.raw(), "volumeMounts").enumerate().filter_map(|(index, mount)| {
        let (name, path) = (json::text(mount, "name")?, json::text(mount, "mountPath")?);
        let is_writable = mount.get("readOnly").and_then(Value::as_bool) != Some(true);
        let is_named = names_checkpoints(name) || names_checkpoints(path);
        (is_writable && is_named).then_some(CheckpointPath {
            name: "the mount",
            path,
            location: PathLocation::Mount(index),
        })
    });
    let variables = json::items(container.raw(), "env").enumerate().filter_map(|(index, entry)| {
        let (name, path) = (json::text(entry, "name")?, json::text(entry, "value")?);
        names_output(name, path).then_some(CheckpointPath { name, path, location: PathLocation::Variable(index) })
    });
    let next_words = words(container).skip(1).map(Some).chain([None]);
    let options = numbered_words(container).zip(next_words).filter_map(|((index, word), next)| {
        let option = word.strip_prefix("--")?;
        let (name, path) = option.split_once('=').or_else(|| Some((option, next?)))?;
        let location = PathLocation::Argument(index);
        names_output(name, path).then_some(CheckpointPath { name: word.split('=').next()?, path, location })
    });
    mounts.chain(variables).chain(options)
}

/// Returns true if `name` is that of a directory to which checkpoints are written, and `path` is absolute.
fn names_output(name: &str, path: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    path.starts_with('/') && names_checkpoints(name) && !READS.iter().any(|part| lower.contains(part))
}

fn names_checkpoints(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    CHECKPOINT.iter().any(|part| lower.contains(part))
}

/// Returns the volume that contains `path` in `container`.
fn volume_at<'a>(pod: Pod<'a>, container: Container<'a>, path: &str) -> Option<&'a Value> {
    let contains = |mount_path: &str| {
        let rest = path.strip_prefix(mount_path.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mounts = json::items(container.raw(), "volumeMounts");
    let paths = mounts.filter_map(|mount| Some((json::text(mount, "mountPath")?, json::text(mount, "name")?)));
    let (_, name) = paths.filter(|(path, _)| contains(path)).max_by_key(|(path, _)| path.len())?;
    volumes(pod).map(|(_, volume)| volume).find(|volume| json::text(volume, "name") == Some(name))
}

/// Returns true if another container mounts `volume`, which may copy the checkpoints, or provide them.
fn is_shared(pod: Pod<'_>, container: Container<'_>, volume: &Value) -> bool {
    let name = json::text(volume, "name");
    let mounts =
        |other: &Container<'_>| json::items(other.raw(), "volumeMounts").any(|it| json::text(it, "name") == name);
    let mut others = pod.containers().filter(|other| other.pointer() != container.pointer());
    others.any(|other| other.kind != ContainerKind::Ephemeral && mounts(&other))
}

/// Returns true if the pods of a role are placed on one node.
fn is_on_one_node(pod: Pod<'_>) -> bool {
    let Some(spec) = pod.spec() else { return false };
    let has_field = |path: &[&str]| path.iter().try_fold(pod.raw(), |value, key| value.get(key)).is_some();
    let affinity = spec.get("affinity").and_then(|affinity| affinity.get("podAffinity"));
    let mut terms = affinity
        .into_iter()
        .flat_map(|affinity| json::items(affinity, "requiredDuringSchedulingIgnoredDuringExecution"));
    has_field(&["spec", "nodeName"])
        || has_field(&["spec", "nodeSelector", HOSTNAME])
        || terms.any(|term| json::text(term, "topologyKey") == Some(HOSTNAME))
}

/// Returns the claims of `pod` for volumes, with the index of the volume.
fn claims(pod: Pod<'_>) -> impl Iterator<Item = (usize, &str)> {
    volumes(pod).filter_map(|(index, volume)| Some((index, claim_name(volume)?)))
}

fn claim_name(volume: &Value) -> Option<&str> {
    json::text(volume.get("persistentVolumeClaim")?, "claimName")
}

fn volumes(pod: Pod<'_>) -> impl Iterator<Item = (usize, &Value)> {
    let listed = pod.spec().and_then(|spec| spec.get("volumes")).and_then(Value::as_array);
    listed.into_iter().flatten().enumerate()
}

impl RolePods<'_> {
    /// Returns the first directory for checkpoints.
    pub(super) fn checkpoints(&self) -> Option<&str> {
        self.main_containers().find_map(|container| checkpoint_paths(container).next()).map(|found| found.path)
    }
}
