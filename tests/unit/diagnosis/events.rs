//! Pods that cannot be created: only events show it.

use rstest::rstest;
use serde_json::{Value, json};

use super::check;
use super::objects::{ago, event, pytorchjob, rank, with};

const QUOTA: &str = "pods \"llama-worker-0\" is forbidden: exceeded quota: gpus";
const DENIED: &str = "admission webhook \"policy.example.com\" denied the request";

fn failure(kind: &str, message: &str, seconds: i64) -> Value {
    event(kind, "llama", "FailedCreate", message, seconds)
}

#[rstest]
#[case::quota(vec![pytorchjob(3)], failure("PyTorchJob", QUOTA, 60), &["E PodCreationFails unknown"])]
#[case::webhook(vec![pytorchjob(3)], failure("PyTorchJob", DENIED, 60), &["E PodCreationFails no"])]
#[case::some_exist(vec![pytorchjob(3), rank(0)], failure("PyTorchJob", QUOTA, 60), &["E PodCreationFails unknown"])]
#[case::all_exist(vec![pytorchjob(1), rank(0), rank(1)], failure("PyTorchJob", QUOTA, 60), &[])]
#[case::created_since(vec![pytorchjob(3), with(rank(0), json!({"metadata": {"creationTimestamp": ago(30)}}))], failure("PyTorchJob", QUOTA, 60), &[])]
#[case::long_ago(vec![pytorchjob(3)], failure("PyTorchJob", QUOTA, 1800), &[])]
#[case::another_job(vec![pytorchjob(3)], event("PyTorchJob", "gpt", "FailedCreate", QUOTA, 60), &[])]
#[case::another_reason(vec![pytorchjob(3)], event("PyTorchJob", "llama", "SuccessfulCreatePod", "", 60), &[])]
fn failures_to_create_pods(#[case] mut objects: Vec<Value>, #[case] event: Value, #[case] expected: &[&str]) {
    objects.push(event);
    check(&objects, expected);
}

/// The event is about the Job that a `JobSet` owns.
#[test]
fn an_owned_object_has_the_event() {
    let jobset = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"namespace": "team-a", "name": "set"},
        "spec": {"replicatedJobs": []}});
    let owner =
        json!([{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "controller": true}]);
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "set-workers-0", "ownerReferences": owner}, "spec": {}});
    let objects = [jobset, job, event("Job", "set-workers-0", "FailedCreate", DENIED, 60)];
    check(&objects, &["E PodCreationFails no"]);
    let report = super::report(&objects);
    assert_eq!(report.diagnoses[0].workload.to_string(), "JobSet team-a/set");
}
