//! State of a workload and of its `PodGroups` in a cluster, for the preview of a manifest.
//!
//! The names of `PodGroups` depend on the UID of the workload and on its restarts, which a manifest does not have.

use serde::Serialize;
use serde_json::Value;

use super::namespace_of;
use crate::dns;
use crate::gang::object::{GroupApi, GroupState, group_minimum, read_group};
use crate::gang::{GangWorkload, WorkloadKey, WorkloadState};
use crate::json::text;
use crate::manifest::Document;
use crate::workload::{self, set_job_set};

/// State of a workload and of `PodGroups` in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterState {
    /// The workload.
    pub workload: LiveWorkload,
    /// `PodGroups` with the names of those that the controller would create, and those with the name of the workload, as
    /// operators create them.
    pub pod_groups: Vec<LiveGroup>,
}

/// A workload that exists in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveWorkload {
    /// Kind of the object that contains the sizes of gangs.
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
    /// Number of pods that the object requests; `None` if it is not known.
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

impl LiveWorkload {
    /// Returns the object to read for `document`: itself, or the `JobSet` of a `TrainJob`. `None` if the sizes of its gangs are
    /// not known, or if the name of the object is not. `namespace` is that of documents without one.
    #[must_use]
    pub fn key(document: &Document, namespace: &str) -> Option<WorkloadKey> {
        let value = &document.value;
        let kind = workload::find(text(value, "apiVersion")?, text(value, "kind")?)?;
        let object = kind.gang.object.unwrap_or(kind);
        object.gang.shape?;
        // A RayJob generates the name of its cluster.
        let has_name_of_document = object.kind == kind.kind || kind.kind == "TrainJob";
        let name =
            text(value.get("metadata")?, "name").filter(|name| has_name_of_document && dns::is_subdomain(name))?;
        let namespace = namespace_of(document, namespace);
        Some(WorkloadKey {
            namespace: Some(namespace).filter(|namespace| dns::is_subdomain(namespace))?.to_owned(),
            group: object.group,
            version: object.versions.first().copied()?,
            kind: object.kind,
            resource: object.resource,
            name: name.to_owned(),
            uid: None,
        })
    }

    /// Reads the live `object` that `key` identifies.
    #[must_use]
    pub fn new(key: &WorkloadKey, object: &Value) -> Self {
        let workload = GangWorkload::from_object(key, object).ok();
        let pods = workload.as_ref().map(|workload| {
            let sizes = workload.shape.roles.iter().map(|role| role.size);
            sizes.fold(0, u64::saturating_add).saturating_mul(workload.shape.groups)
        });
        Self {
            kind: key.kind.to_owned(),
            name: key.name.clone(),
            uid: object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
            restarts: object.pointer("/status/restarts").and_then(Value::as_u64).unwrap_or_default(),
            state: workload.map_or(WorkloadState::Active, |workload| workload.state),
            pods,
        }
    }

    /// Sets the UID and the restarts in a pod of the manifest, where its operator does.
    pub(super) fn identify(&self, pod: &mut Value) {
        let owners = pod.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        let is_same = |owner: &&mut Value| {
            text(owner, "kind") == Some(self.kind.as_str()) && text(owner, "name") == Some(self.name.as_str())
        };
        for owner in owners.into_iter().flatten().filter(is_same) {
            owner["uid"] = self.uid.as_str().into();
        }
        if self.kind == "JobSet" {
            set_job_set(pod, &self.uid, self.restarts);
        }
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn document(kind: &str, api_version: &str, metadata: &Value) -> Document {
        Document::generated("a.yaml", json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
    }

    #[rstest]
    #[case::job("Job", "batch/v1", json!({"name": "a"}), Some("Job team-a/a"))]
    #[case::namespace("JobSet", "jobset.x-k8s.io/v1alpha2", json!({"name": "a", "namespace": "b"}), Some("JobSet b/a"))]
    #[case::created("TrainJob", "trainer.kubeflow.org/v1alpha1", json!({"name": "a"}), Some("JobSet team-a/a"))]
    #[case::generated_name("Job", "batch/v1", json!({"generateName": "a-"}), None)]
    #[case::generated_cluster("RayJob", "ray.io/v1", json!({"name": "a"}), None)]
    #[case::invalid_name("Job", "batch/v1", json!({"name": "../secrets/a"}), None)]
    #[case::invalid_namespace("Job", "batch/v1", json!({"name": "a", "namespace": "b/c"}), None)]
    #[case::no_gang("Deployment", "apps/v1", json!({"name": "a"}), None)]
    #[case::unknown("Train", "example.com/v1", json!({"name": "a"}), None)]
    fn the_object_of_a_document_is_identified(
        #[case] kind: &str,
        #[case] api_version: &str,
        #[case] metadata: Value,
        #[case] expected: Option<&str>,
    ) {
        let key = LiveWorkload::key(&document(kind, api_version, &metadata), "team-a");
        let found = key.map(|WorkloadKey { kind, namespace, name, .. }| format!("{kind} {namespace}/{name}"));
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest]
    #[case::active(json!({}), json!({}), "active")]
    #[case::suspended(json!({"suspend": true}), json!({}), "suspended")]
    #[case::finished(json!({}), json!({"conditions": [{"type": "Complete", "status": "True"}]}), "finished")]
    fn a_workload_is_read(#[case] fields: Value, #[case] status: Value, #[case] expected: &str) {
        let mut object = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "uid": "u1"}, "status": status,
            "spec": {"completionMode": "Indexed", "parallelism": 4, "completions": 8},
        });
        json_patch::merge(&mut object["spec"], &fields);
        let key = LiveWorkload::key(&document("Job", "batch/v1", &json!({"name": "a"})), "team-a").unwrap();
        let live = LiveWorkload::new(&key, &object);
        assert_eq!((live.uid.as_str(), workload_state(live.state), live.pods), ("u1", expected, Some(4)));
    }

    /// The label and the owner of a pod are set only where its operator sets them.
    #[test]
    fn pods_of_the_manifest_get_the_identity_of_the_workload() {
        let live = |kind: &str| LiveWorkload {
            kind: kind.to_owned(),
            name: "a".to_owned(),
            uid: "u1".to_owned(),
            restarts: 3,
            state: WorkloadState::Active,
            pods: None,
        };
        let owner = json!({"kind": "Job", "name": "a", "uid": "0", "controller": true});
        let pod = json!({"metadata": {"ownerReferences": [owner], "labels": {
            "jobset.sigs.k8s.io/jobset-uid": "0", "jobset.sigs.k8s.io/restart-attempt": "0",
        }}});
        let identified = |kind: &str| {
            let mut pod = pod.clone();
            live(kind).identify(&mut pod);
            let labels = &pod["metadata"]["labels"];
            [
                &pod["metadata"]["ownerReferences"][0]["uid"],
                &labels["jobset.sigs.k8s.io/jobset-uid"],
                &labels["jobset.sigs.k8s.io/restart-attempt"],
            ]
            .map(|value| value.as_str().unwrap().to_owned())
        };
        assert_eq!(identified("Job"), ["u1", "0", "0"]);
        assert_eq!(identified("JobSet"), ["0", "u1", "3"]);
        let mut bare = json!({"metadata": {}});
        live("JobSet").identify(&mut bare);
        assert_eq!(bare, json!({"metadata": {}}));
    }

    #[rstest]
    #[case::own(json!({"trainmesh.dev/managed": "true"}), json!({"schedulingPolicy": {"gang": {"minCount": 4}}}), true, Some(4))]
    #[case::released(json!({"trainmesh.dev/managed": "true"}), json!({"schedulingPolicy": {"basic": {}}}), true, None)]
    #[case::of_others(json!({}), json!({"schedulingPolicy": {"gang": {"minCount": 2}}}), false, Some(2))]
    fn a_group_is_read(
        #[case] labels: Value,
        #[case] spec: Value,
        #[case] managed: bool,
        #[case] minimum: Option<u64>,
    ) {
        let owners = json!([{"kind": "Job", "name": "train"}]);
        let object = json!({"metadata": {"name": "g", "labels": labels, "ownerReferences": owners}, "spec": spec});
        let group = LiveGroup::new(GroupApi::NativeV1Alpha2, &object);
        assert_eq!((group.managed, group.minimum, group.owner.as_deref()), (managed, minimum, Some("Job/train")));
        assert_eq!((group.name.as_str(), group.deleting), ("g", false));
    }
}
