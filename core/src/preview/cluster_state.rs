//! State of the workloads of a document and of their `PodGroups` in a cluster, for the preview of a manifest.
//!
//! The names of `PodGroups` depend on the UID of the workload and on its restarts, which a manifest does not have. The pods of some
//! kinds belong to other objects, whose names only the status of an object that exists contains.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::namespace_of;
use crate::dns;
use crate::gang::object::{GroupApi, GroupState, group_minimum, read_group};
use crate::gang::{GangOwner, GangWorkload, WorkloadKey, WorkloadState};
use crate::json::text;
use crate::manifest::Document;
use crate::workload::{self, WorkloadKind, created_objects, has_final_phase, set_job_set};

/// Kinds whose pods belong to objects that they create, and whose status contains the names of these.
const CREATORS: [&str; 3] = ["RayJob", "CronJob", "AppWrapper"];
/// Kind of the object that a `RayJob` creates.
const RAY_CLUSTER: &str = "RayCluster";

/// State of the workloads of a document, and of `PodGroups`, in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterState {
    /// The object of the manifest, or the `JobSet` of a `TrainJob`, then the objects to which its pods belong.
    pub workloads: Vec<LiveWorkload>,
    /// `PodGroups` with the names of those that the controller creates, and those with the name of a workload, as operators create
    /// them.
    pub pod_groups: Vec<LiveGroup>,
    /// API group and name of each `PodGroup` that the controller creates for the workloads.
    #[serde(skip)]
    pub group_names: Vec<(&'static str, String)>,
}

/// A workload that exists in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveWorkload {
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    pub uid: String,
    /// Number of restarts in which the operator recreated all pods.
    pub restarts: u64,
    /// State of the object.
    #[serde(serialize_with = "state_name")]
    pub state: WorkloadState,
    /// Number of pods that the object requests; `None` if it is not known, or if the pods belong to objects that it creates.
    pub pods: Option<u64>,
}

/// A `PodGroup` that exists in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveGroup {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Name of the object.
    pub name: String,
    /// True if the controller created it. It never changes others.
    pub managed: bool,
    /// True if it is being deleted.
    pub deleting: bool,
    /// Minimum number of pods; `None` if its pods are scheduled one by one.
    pub minimum: Option<u64>,
    /// Kind and name of its first owner, as in `Job/train`; `None` if it has none.
    pub owner: Option<String>,
}

impl ClusterState {
    /// Returns the names of `PodGroups` of any API that operators create for the workloads: those of the objects that contain the
    /// sizes of gangs.
    pub fn names_of_operators(&self) -> impl Iterator<Item = &str> {
        let owns_pods = |workload: &&LiveWorkload| !CREATORS.contains(&workload.kind.as_str());
        self.workloads.iter().filter(owns_pods).map(|workload| workload.name.as_str())
    }
}

impl LiveWorkload {
    /// Returns the object to read for `document`: itself, or the `JobSet` of a `TrainJob`. `None` if neither the sizes of its gangs
    /// are known nor the objects that it creates, or if the name of the object is not. `namespace` is that of documents without one.
    #[must_use]
    pub fn key(document: &Document, namespace: &str) -> Option<WorkloadKey> {
        let value = &document.value;
        let kind = workload::find(text(value, "apiVersion")?, text(value, "kind")?)?;
        key_of(kind, namespace_of(document, namespace), text(value.get("metadata")?, "name")?)
    }

    /// Returns the objects to read that the live `object`, which `key` identifies, has created, and to which its pods belong.
    #[must_use]
    pub fn created(key: &WorkloadKey, object: &Value) -> Vec<WorkloadKey> {
        let created = created_objects(object).into_iter();
        created.filter_map(|(kind, name)| key_of(kind, &key.namespace, name)).collect()
    }

    /// Reads the live `object` that `key` identifies.
    #[must_use]
    pub fn new(key: &WorkloadKey, object: &Value) -> Self {
        let workload = GangWorkload::from_object(key, object).ok();
        let workload = workload.filter(|_| !CREATORS.contains(&key.kind));
        let pods = workload.as_ref().map(|workload| {
            let sizes = workload.shape.roles.iter().map(|role| role.size);
            sizes.fold(0, u64::saturating_add).saturating_mul(workload.shape.groups)
        });
        Self {
            kind: key.kind.to_owned(),
            name: key.name.clone(),
            uid: object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
            restarts: object.pointer("/status/restarts").and_then(Value::as_u64).unwrap_or_default(),
            state: workload.map_or_else(|| state_without_sizes(object), |workload| workload.state),
            pods,
        }
    }

    /// Returns true if `owner` is this object.
    pub(super) fn is_owner(&self, owner: &GangOwner) -> bool {
        (&self.kind, &self.name) == (&owner.kind, &owner.name)
    }

    /// Sets the UID and the restarts in a pod of the manifest, where its operator does.
    pub(super) fn identify(&self, pod: &mut Value) {
        let owners = pod.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for owner in owners.into_iter().flatten().filter(|owner| self.is_named_in(owner)) {
            owner["uid"] = self.uid.as_str().into();
        }
        if self.kind == "JobSet" {
            set_job_set(pod, &self.name, &self.uid, self.restarts);
        }
    }

    /// Returns true if the owner reference names this object.
    fn is_named_in(&self, owner: &Value) -> bool {
        text(owner, "kind") == Some(self.kind.as_str()) && text(owner, "name") == Some(self.name.as_str())
    }
}

/// Returns true if no pod follows that would need `object`, a planned `PodGroup`: the first of the `live` workloads, which is that of
/// the manifest, or the owner of the object has ended.
pub(super) fn is_obsolete(object: &Value, live: &[LiveWorkload]) -> bool {
    let owner = object.pointer("/metadata/ownerReferences/0");
    live.iter().enumerate().any(|(index, workload)| {
        let is_concerned = index == 0 || owner.is_some_and(|owner| workload.is_named_in(owner));
        is_concerned && workload.state == WorkloadState::Finished
    })
}

/// Returns `manifest` with the status from which the name of its `RayCluster` is rendered, if that is one of `live`.
pub(super) fn with_status<'a>(manifest: &'a Value, live: &[LiveWorkload]) -> Cow<'a, Value> {
    let is_created =
        |workload: &&LiveWorkload| workload.kind == RAY_CLUSTER && text(manifest, "kind") == Some("RayJob");
    match (live.iter().find(is_created), manifest.as_object()) {
        (Some(cluster), Some(fields)) => {
            let mut fields = fields.clone();
            fields.insert("status".to_owned(), json!({"rayClusterName": cluster.name}));
            Cow::Owned(Value::Object(fields))
        }
        _ => Cow::Borrowed(manifest),
    }
}

/// Returns the object to read for an object of this kind.
fn key_of(kind: &'static WorkloadKind, namespace: &str, name: &str) -> Option<WorkloadKey> {
    let is_creator = CREATORS.contains(&kind.kind);
    let object = kind.gang.object.filter(|_| !is_creator).unwrap_or(kind);
    let is_read = is_creator || object.gang.shape.is_some();
    // They become parts of the path of a request.
    let are_valid = [namespace, name].into_iter().all(dns::is_subdomain);
    let version = object.versions.first().copied().filter(|_| is_read && are_valid)?;
    Some(WorkloadKey {
        namespace: namespace.to_owned(),
        group: object.group,
        version,
        kind: object.kind,
        resource: object.resource,
        name: name.to_owned(),
        uid: None,
    })
}

/// Returns the state of an object that does not contain the sizes of its gangs, or not in a known form.
fn state_without_sizes(object: &Value) -> WorkloadState {
    match WorkloadState::read(object) {
        WorkloadState::Active if has_final_phase(object) => WorkloadState::Finished,
        WorkloadState::Active if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) => {
            WorkloadState::Suspended
        }
        state => state,
    }
}

impl LiveGroup {
    /// Reads a `PodGroup` of `api`.
    #[must_use]
    pub fn new(api: GroupApi, object: &Value) -> Self {
        let state = read_group(api, object);
        let owner = object.pointer("/metadata/ownerReferences/0").and_then(|owner| {
            let (kind, name) = (text(owner, "kind")?, text(owner, "name")?);
            Some(format!("{kind}/{name}"))
        });
        Self {
            api_version: api.api_version(),
            name: object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            managed: matches!(state, GroupState::Own { .. }),
            deleting: object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()),
            minimum: group_minimum(api, object),
            owner,
        }
    }
}

/// Returns the name of a state in JSON and text.
#[must_use]
pub(crate) fn workload_state(state: WorkloadState) -> &'static str {
    match state {
        WorkloadState::Active => "active",
        WorkloadState::Suspended => "suspended",
        WorkloadState::Finished => "finished",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn state_name<S: serde::Serializer>(state: &WorkloadState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(workload_state(*state))
}
