//! The workload that owns a pod, and the gang of the pod: a pure function of the workload's object and of the labels
//! that its operator sets. All members of a gang therefore compute the same name and size.

mod key;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use key::WorkloadKey;

use crate::hash;
use crate::pod::Pod;
use crate::workload::{
    GangRole, GangShape, Manifest, PodIdentity, RenderError, Runtimes, SOLE_ROLE, WorkloadKind, identify,
};

/// UID of a workload in a manifest that was never created in a cluster.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Maximum length of the workload's name in the name of a gang. With the hash, the name is a valid label value.
const MAX_NAME_PREFIX: usize = 50;
/// Maximum number of roles of a workload. Operators' objects have a few; a role takes some 200 bytes.
const MAX_ROLES: usize = 64;
/// Maximum length of the fields of a role that select nodes, as JSON. Affinities of real jobs take some hundred bytes, and
/// the webhook keeps the roles of thousands of workloads.
const MAX_PLACEMENT: usize = 8 * 1024;
/// Condition types with which the supported kinds report that a workload has ended.
const FINAL_CONDITIONS: [&str; 5] = ["Complete", "Completed", "Succeeded", "Failed", "FailureTarget"];

/// The workload object as an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangOwner {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    pub uid: String,
}

/// State of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadState {
    /// Its pods run, or are about to.
    Active,
    /// It is suspended: its pods are deleted or not created yet.
    Suspended,
    /// It has succeeded or failed, or is being deleted.
    Finished,
}

/// A workload whose pods form gangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangWorkload {
    /// The object.
    pub owner: GangOwner,
    /// Roles and sizes.
    pub shape: GangShape,
    /// State of the object.
    pub state: WorkloadState,
}

/// Position of a gang within its workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GangPosition {
    /// Number of restarts in which the operator recreated all pods.
    pub attempt: u64,
    /// Index of the group, in a workload with several.
    pub group: u64,
    /// Stage of the roles; see [`GangRole::stage`].
    pub stage: usize,
}

/// Pods of a workload that are scheduled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gang<'a> {
    /// Name of the gang and of its object: a valid label value, unique per owner UID, attempt, group and stage.
    pub name: String,
    /// The workload.
    pub owner: &'a GangOwner,
    /// Position within the workload.
    pub position: GangPosition,
    /// Roles of the gang.
    pub roles: Vec<&'a GangRole>,
    /// Number of pods.
    pub size: u64,
    /// Number of pods that are scheduled together: at most `size`.
    pub min_members: u64,
}

/// Reason why the gang of a workload or pod is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownGang {
    /// No gang is known for pods of this kind.
    Kind(&'static str),
    /// The object has no role for the pod.
    Role(String),
    /// The operator creates some pods only after others have a node, so that they cannot wait for each other.
    Conflict(&'static str),
    /// The object is not valid, or too large.
    Object(String),
}

impl WorkloadState {
    /// Reads the state of `object` from its deletion timestamp and its conditions, which do not show that it is suspended.
    pub(crate) fn read(object: &Value) -> Self {
        let is_deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let is_final = |condition: &Value| {
            let text = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default();
            FINAL_CONDITIONS.contains(&text("type")) && text("status") == "True"
        };
        if is_deleted || conditions.into_iter().flatten().any(is_final) { Self::Finished } else { Self::Active }
    }
}

impl GangOwner {
    /// Returns the name of the gang at `position`.
    pub(crate) fn gang_name(&self, position: GangPosition) -> String {
        let GangPosition { attempt, group, stage } = position;
        let hash = hash::of(&json!([self.uid, attempt, group, stage]));
        let prefix = &self.name[..self.name.floor_char_boundary(MAX_NAME_PREFIX)];
        let prefix = prefix.trim_end_matches(|symbol: char| !symbol.is_ascii_alphanumeric());
        format!("{prefix}-{hash}")
    }
}

impl GangWorkload {
    /// Reads the workload from `object`, the live object that `key` identifies.
    ///
    /// # Errors
    /// Returns why its gangs are not known.
    pub fn from_object(key: &WorkloadKey, object: &Value) -> Result<Self, UnknownGang> {
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or(NO_UID);
        if key.uid.as_deref().is_some_and(|expected| expected != uid) {
            return Err(UnknownGang::Object("it was replaced by another object of the same name".to_owned()));
        }
        let kind = crate::workload::find(&key.api_version(), key.kind).ok_or(UnknownGang::Kind(key.kind))?;
        let manifest = Manifest { raw: object, namespace: &key.namespace, runtimes: &Runtimes::default() };
        Self::new(key, uid, read_shape(kind, &manifest)?, WorkloadState::read(object))
    }

    /// Computes the workload that the operator of `manifest`, of this `kind`, creates, for the pods that `key` belongs
    /// to.
    ///
    /// # Errors
    /// Returns why its gangs are not known.
    pub fn from_manifest(
        key: &WorkloadKey,
        kind: &'static WorkloadKind,
        manifest: &Manifest<'_>,
    ) -> Result<Self, UnknownGang> {
        let uid = key.uid.as_deref().unwrap_or(NO_UID);
        Self::new(key, uid, read_shape(kind, manifest)?, WorkloadState::read(manifest.raw))
    }

    fn new(key: &WorkloadKey, uid: &str, shape: GangShape, state: WorkloadState) -> Result<Self, UnknownGang> {
        if shape.roles.len() > MAX_ROLES {
            return Err(UnknownGang::Object(format!("it has more than {MAX_ROLES} roles")));
        }
        if shape.roles.iter().any(|role| Value::Object(role.placement.clone()).to_string().len() > MAX_PLACEMENT) {
            return Err(UnknownGang::Object(format!(
                "the fields of a role that select nodes exceed {MAX_PLACEMENT} bytes"
            )));
        }
        if let Some(conflict) = shape.conflict {
            return Err(UnknownGang::Conflict(conflict));
        }
        let state = if state == WorkloadState::Active && shape.suspended { WorkloadState::Suspended } else { state };
        let owner = GangOwner {
            api_version: key.api_version(),
            kind: key.kind.to_owned(),
            name: key.name.clone(),
            uid: uid.to_owned(),
        };
        Ok(Self { owner, shape, state })
    }

    /// Returns true if some pod of the workload has peers, with which it communicates.
    #[must_use]
    pub fn has_several_pods(&self) -> bool {
        self.shape.roles.iter().map(|role| role.size).fold(0, u64::saturating_add) > 1
    }

    /// Returns the gang of `pod`, a pod of this workload.
    ///
    /// # Errors
    /// Returns why it is not known.
    pub fn gang_of(&self, pod: Pod<'_>) -> Result<Gang<'_>, UnknownGang> {
        let member = gang_member(pod).ok_or(UnknownGang::Kind("Pod"))?;
        let role = self.role_of(member).ok_or_else(|| UnknownGang::Role(role_name(member).to_owned()))?;
        let kind = member.kind.gang.object.unwrap_or(member.kind);
        let (attempt, group) =
            (kind.gang.position)(pod).ok_or_else(|| UnknownGang::Role(role_name(member).to_owned()))?;
        Ok(self.gang(GangPosition { attempt, group, stage: role.stage }))
    }

    /// Returns true if other pods of the workload start together with `pod`.
    #[must_use]
    pub fn starts_with_others(&self, pod: Pod<'_>) -> bool {
        self.gang_of(pod).is_ok_and(|gang| gang.size > 1)
    }

    /// Returns the role of a pod of this workload.
    #[must_use]
    pub fn role_of(&self, member: PodIdentity<'_>) -> Option<&GangRole> {
        self.shape.roles.iter().find(|role| role.name == role_name(member))
    }

    /// Returns the gang at `position`.
    #[must_use]
    pub fn gang(&self, position: GangPosition) -> Gang<'_> {
        let roles: Vec<&GangRole> = self.shape.roles.iter().filter(|role| role.stage == position.stage).collect();
        let size = pods(&roles);
        // Those who write a minimum know that pods of a later stage do not count yet: TR010 reports one above this stage.
        let min = self.shape.min_members.unwrap_or(size);
        Gang {
            name: self.owner.gang_name(position),
            owner: &self.owner,
            position,
            roles,
            size,
            min_members: min.clamp(1.min(size), size),
        }
    }
}

impl<'a> Gang<'a> {
    /// Returns the gang without the roles that `is_outside` accepts, and the names of these. They count neither for its size
    /// nor for its minimum.
    #[must_use]
    pub fn without(self, is_outside: impl Fn(&GangRole) -> bool) -> (Self, Vec<&'a str>) {
        let Self { name, owner, position, roles, min_members, .. } = self;
        let (outside, roles): (Vec<&'a GangRole>, Vec<&'a GangRole>) =
            roles.into_iter().partition(|&role| is_outside(role));
        let size = pods(&roles);
        let min_members = min_members.saturating_sub(pods(&outside)).clamp(1.min(size), size);
        let outside = outside.into_iter().map(|role| role.name.as_str()).collect();
        (Self { name, owner, position, roles, size, min_members }, outside)
    }
}

/// Returns the number of pods of `roles`.
fn pods(roles: &[&GangRole]) -> u64 {
    roles.iter().map(|role| role.size).fold(0, u64::saturating_add)
}

/// Returns the identity of `pod` if it belongs to a gang.
#[must_use]
pub fn gang_member(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let member = identify(pod)?;
    (member.kind.gang.id)(pod, member).map(|_| member)
}

/// Returns the name of the role of a pod in a [`GangShape`].
pub(super) fn role_name(member: PodIdentity<'_>) -> &str {
    member.role.unwrap_or(SOLE_ROLE)
}

fn read_shape(kind: &'static WorkloadKind, manifest: &Manifest<'_>) -> Result<GangShape, UnknownGang> {
    let shape = kind.gang.shape.ok_or(UnknownGang::Kind(kind.kind))?;
    shape(manifest).map_err(|error: RenderError| UnknownGang::Object(error.to_string()))
}

impl std::fmt::Display for UnknownGang {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kind(kind) => write!(formatter, "the gang size of a {kind} is unknown"),
            Self::Role(role) => write!(formatter, "the workload has no role {role}"),
            Self::Conflict(conflict) => formatter.write_str(conflict),
            Self::Object(problem) => write!(formatter, "the workload cannot be read: {problem}"),
        }
    }
}
