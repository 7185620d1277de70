//! Which pods are one gang: they start together, talk to each other all the time, and must be set up alike.

use std::borrow::Cow;

use super::identify;
use super::kinds::{jobset, leaderworkerset};
use crate::pod::Pod;

/// What all pods of one gang share, and no other pod of their namespace; `None` where nothing tells.
///
/// It is read from what the operator writes before admission: labels that another webhook adds later are not there yet.
#[must_use]
pub fn gang_uid(pod: Pod<'_>) -> Option<Cow<'_, str>> {
    let member = identify(pod)?;
    let owner = || pod.controller().and_then(|owner| owner.uid).map(Cow::Borrowed);
    match member.kind {
        "TrainJob" | "JobSet" => pod.label(jobset::UID).map(Cow::Borrowed).or_else(owner),
        // Every replica of the set is a gang of its own.
        "LeaderWorkerSet" => {
            leaderworkerset::group(pod).map(|group| Cow::Owned(format!("{}/{}/{group}", member.kind, member.job)))
        }
        // The launcher is owned by a Job, the workers by the MPIJob.
        "MPIJob" => Some(Cow::Owned(format!("{}/{}", member.kind, member.job))),
        // One that serves is a gang as much as one that trains.
        "RayCluster" => owner(),
        _ if member.training => owner(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// A pod with these labels and this name, controlled by a `kind` of `api_version` whose uid is `u1`.
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
    #[case::lws_neither(pod("apps/v1", "StatefulSet", "b-3", &json!({"leaderworkerset.sigs.k8s.io/name": "a"})), None)]
    #[case::ray(pod("ray.io/v1", "RayCluster", "a-head", &json!({
        "ray.io/is-ray-node": "yes", "ray.io/cluster": "a", "ray.io/node-type": "head"})), Some("u1"))]
    #[case::volcano(pod("batch.volcano.sh/v1alpha1", "Job", "a-w-0", &json!({"volcano.sh/job-name": "a"})), Some("u1"))]
    #[case::indexed_job(pod("batch/v1", "Job", "a-0-x", &json!({"batch.kubernetes.io/job-completion-index": "0"})), Some("u1"))]
    #[case::queue(pod("batch/v1", "Job", "a-x", &json!({})), None)]
    #[case::web(pod("apps/v1", "ReplicaSet", "a-x", &json!({})), None)]
    #[case::alone(json!({"metadata": {"name": "a"}}), None)]
    fn gangs(#[case] pod: Value, #[case] expected: Option<&str>) {
        assert_eq!(gang_uid(Pod::new(&pod)).as_deref(), expected);
    }
}
