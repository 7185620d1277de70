//! Fixes of special cases, each beside a case with the usual fix.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Recovery;

use super::objects::{START, ago, job_with, main_container, pytorchjob, rank, with};
use super::report;

/// A pod that failed with `code`.
fn failed(code: i64, status: Value) -> Value {
    let ended = json!({"terminated": {"exitCode": code, "reason": "Error", "finishedAt": ago(600)}});
    let statuses = json!([{"name": "pytorch", "restartCount": 0, "state": ended}]);
    let patch =
        json!({"spec": {"restartPolicy": "Never"}, "status": {"phase": "Failed", "containerStatuses": statuses}});
    with(patch, json!({"status": status}))
}

fn ended_by(reason: &str, message: &str) -> Value {
    failed(137, json!({"reason": reason, "message": message}))
}

/// A job whose workers have this restart policy.
fn policy(policy: &str) -> Value {
    with(pytorchjob(1), json!({"spec": {"pytorchReplicaSpecs": {"Worker": {"restartPolicy": policy}}}}))
}

const EXIT_CODE: &str =
    "read the log of the rank: kubectl logs; with ExitCode, the operator replaces a pod only if its code";
const NOT_REPLACED: &str = "read the log of the rank: kubectl logs; with ExitCode, the operator replaces a pod whose code is 128 or more, and it has not";
const USUAL: &str = "read the log of the rank: kubectl logs; then recreate the job";

#[rstest]
#[case::shutdown(
    ended_by("Terminated", "Pod was terminated in response to imminent node shutdown."),
    "OnFailure",
    "read the message: for a node that is shut down"
)]
#[case::pressure(
    ended_by("Evicted", "The node was low on resource: memory."),
    "OnFailure",
    "read the message: for a node that is shut down"
)]
#[case::own_limit(
    ended_by("Evicted", "Usage of EmptyDir volume a exceeds the limit"),
    "OnFailure",
    "read status.reason in the evidence: correct the limit"
)]
#[case::deadline(
    ended_by("DeadlineExceeded", "Pod was active on the node longer"),
    "OnFailure",
    "read status.reason in the evidence"
)]
#[case::own_code(failed(1, json!({})), "ExitCode", EXIT_CODE)]
#[case::signal(failed(137, json!({})), "ExitCode", NOT_REPLACED)]
#[case::signal_with_another_policy(failed(137, json!({})), "Never", USUAL)]
#[case::another_policy(failed(1, json!({})), "Never", USUAL)]
fn failed_ranks(#[case] patch: Value, #[case] restarts: &str, #[case] fix: &str) {
    let objects = [job_with(2, patch), vec![policy(restarts)]].concat();
    let report = report(&objects);
    let found = report.diagnoses.iter().find(|found| found.code.code() == "RankFailed").unwrap();
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[rstest]
#[case::evicted("Evicted", "read the message: free the resource on the node")]
#[case::devices("UnexpectedAdmissionError", "read the message; for devices, check the device plugin")]
fn pods_that_a_node_does_not_admit(#[case] reason: &str, #[case] fix: &str) {
    let status = json!({"phase": "Failed", "reason": reason, "message": "m", "containerStatuses": null});
    let found = report(&job_with(2, json!({"status": status}))).diagnoses.remove(0);
    assert_eq!(found.code.code(), "RejectedByNode");
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// Returns a Job with three pods in different states, and its status.
pub fn job_of(status: Value) -> Vec<Value> {
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "tr", "controller": true}]);
    let pod = |index: usize| {
        let name = format!("tr-{index}");
        let labels = json!({"batch.kubernetes.io/job-name": "tr", "batch.kubernetes.io/job-completion-index": index.to_string()});
        let mut pod = rank(index);
        pod["metadata"] = json!({"namespace": "team-a", "name": name, "uid": name, "creationTimestamp": START, "labels": labels,
            "annotations": {"batch.kubernetes.io/job-completion-index": index.to_string()}, "ownerReferences": owner});
        if index == 1 { with(pod, failed(1, json!({}))) } else { pod }
    };
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [main_container()]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "tr", "creationTimestamp": START},
        "spec": {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimit": 1, "template": template},
        "status": status});
    vec![pod(0), pod(1), pod(2), job]
}

/// A Job replaces pods up to its limit. Its fix names no policy of an operator.
#[rstest]
#[case::limit_reached(json!({"failed": 2}), Recovery::RankStays)]
#[case::below_the_limit(json!({"failed": 1}), Recovery::RankReplaced)]
#[case::about_to_fail(
    json!({"failed": 1, "conditions": [{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": ago(600)}]}),
    Recovery::RankStays
)]
fn ranks_of_a_job(#[case] status: Value, #[case] recovery: Recovery) {
    let report = report(&job_of(status));
    let found = report.diagnoses.iter().find(|found| found.code.code() == "RankFailed").unwrap();
    assert_eq!(found.recovery, recovery);
    assert!(!found.finding.fix.unwrap().contains("operator"), "{found:?}");
    assert!(found.finding.fix.unwrap().contains("larger backoffLimit"), "{found:?}");
}

/// The operator of a `JobSet` has no restart policy.
#[test]
fn ranks_of_a_jobset() {
    let mut objects = job_of(json!({}));
    objects.pop();
    for pod in &mut objects {
        let keys = json!({"jobset.sigs.k8s.io/jobset-name": "tr", "jobset.sigs.k8s.io/replicatedjob-name": "workers",
            "jobset.sigs.k8s.io/job-index": "0"});
        *pod = with(pod.clone(), json!({"metadata": {"labels": keys, "annotations": keys}}));
    }
    let report = report(&objects);
    let found = report.diagnoses.iter().find(|found| found.code.code() == "RankFailed").unwrap();
    assert!(found.finding.fix.unwrap().contains("failurePolicy.maxRestarts"), "{found:?}");
}
