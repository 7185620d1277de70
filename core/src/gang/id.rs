//! Identity of a gang.

use crate::pod::Pod;
use crate::workload::identify;

/// Maximum length of an ID in bytes. The longest consist of a kind and two label values of 63 bytes.
const MAX_ID_LENGTH: usize = 160;

/// Identifies a gang of pods.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GangId {
    /// Namespace of the pods.
    pub namespace: String,
    /// ID that is unique within the namespace.
    pub id: String,
}

impl GangId {
    /// Determines the gang of `pod` in `namespace`. Returns `None` if the pod does not belong to one.
    ///
    /// The ID depends only on labels and owners that operators set at creation, because other webhooks may add labels
    /// later.
    #[must_use]
    pub fn from_pod(pod: Pod<'_>, namespace: &str) -> Option<Self> {
        let member = identify(pod)?;
        Self::new(namespace, &(member.kind.gang.id)(pod, member)?)
    }

    /// Creates the ID. Returns `None` if no operator can have set it: users can set labels and owners, too.
    #[must_use]
    pub fn new(namespace: &str, id: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
        let valid = (1..=MAX_ID_LENGTH).contains(&id.len()) && id.bytes().all(allowed);
        valid.then(|| Self { namespace: namespace.to_owned(), id: id.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Builds a pod whose controller is a `kind` of `api_version` with the UID `u1`.
    fn pod(api_version: &str, kind: &str, name: &str, labels: &Value) -> Value {
        let owner = json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u1", "controller": true});
        json!({"metadata": {"name": name, "labels": labels, "ownerReferences": [owner]}})
    }

    #[rstest]
    #[case::pytorchjob(pod("kubeflow.org/v1", "PyTorchJob", "a-worker-0", &json!({
        "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": "a"})), Some("u1"))]
    #[case::mpi_worker(pod("kubeflow.org/v2beta1", "MPIJob", "a-worker-0", &json!({
        "training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "a"})), Some("MPIJob/a"))]
    #[case::mpi_launcher(pod("batch/v1", "Job", "a-launcher-x", &json!({
        "training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "a"})), Some("MPIJob/a"))]
    #[case::jobset(pod("batch/v1", "Job", "a-w-0-0-x", &json!({
        "jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "s1"})), Some("s1"))]
    #[case::trainjob(pod("batch/v1", "Job", "a-node-0-0-x", &json!({
        "trainer.kubeflow.org/trainjob-ancestor-step": "trainer", "jobset.sigs.k8s.io/jobset-name": "a",
        "jobset.sigs.k8s.io/jobset-uid": "s1"})), Some("s1"))]
    #[case::lws_leader(pod("apps/v1", "StatefulSet", "a-3", &json!({
        "leaderworkerset.sigs.k8s.io/name": "a", "leaderworkerset.sigs.k8s.io/worker-index": "0"})), Some("LeaderWorkerSet/a/3"))]
    #[case::lws_worker(pod("apps/v1", "StatefulSet", "a-3-1", &json!({
        "leaderworkerset.sigs.k8s.io/name": "a", "leaderworkerset.sigs.k8s.io/group-index": "3"})), Some("LeaderWorkerSet/a/3"))]
    #[case::lws_without_index(pod("apps/v1", "StatefulSet", "b-3", &json!({"leaderworkerset.sigs.k8s.io/name": "a"})), None)]
    #[case::ray(pod("ray.io/v1", "RayCluster", "a-head", &json!({
        "ray.io/is-ray-node": "yes", "ray.io/cluster": "a", "ray.io/node-type": "head"})), Some("u1"))]
    #[case::volcano(pod("batch.volcano.sh/v1alpha1", "Job", "a-w-0", &json!({"volcano.sh/job-name": "a"})), Some("u1"))]
    #[case::indexed_job(pod("batch/v1", "Job", "a-0-x", &json!({"batch.kubernetes.io/job-completion-index": "0"})), Some("u1"))]
    #[case::non_indexed_job(pod("batch/v1", "Job", "a-x", &json!({})), None)]
    #[case::replica_set(pod("apps/v1", "ReplicaSet", "a-x", &json!({})), None)]
    #[case::no_owner(json!({"metadata": {"name": "a"}}), None)]
    #[case::invalid_id(json!({"metadata": {"labels": {
        "jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "\u{1}"}}}), None)]
    #[case::long_id(json!({"metadata": {"labels": {
        "jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "u".repeat(161)}}}), None)]
    fn identifies_the_gang(#[case] pod: Value, #[case] expected: Option<&str>) {
        let gang = GangId::from_pod(Pod::new(&pod), "team-a");
        assert_eq!(gang.as_ref().map(|gang| gang.id.as_str()), expected);
        assert!(gang.is_none_or(|gang| gang.namespace == "team-a"));
    }
}
