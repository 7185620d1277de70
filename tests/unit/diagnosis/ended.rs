//! Jobs that have failed, or whose pods have.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{START, ago, event, main_status, node, pytorchjob, rank, with};
use super::{check, findings, report};

/// Pods of the job, which failed at these times with these reasons and codes.
fn failed<const COUNT: usize>(ends: [(i64, &str, i64); COUNT]) -> Vec<Value> {
    let pod = |(index, (seconds, reason, code)): (usize, (i64, &str, i64))| {
        let ended =
            json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": START, "finishedAt": ago(seconds)}});
        let status = with(main_status(json!({"state": ended})), json!({"status": {"phase": "Failed"}}));
        with(with(rank(index), status), json!({"spec": {"restartPolicy": "Never"}}))
    };
    ends.into_iter().enumerate().map(pod).collect()
}

/// The job after conditions, each with its age in seconds.
fn job(conditions: &[(&str, i64)]) -> Value {
    let condition = |(kind, seconds): &(&str, i64)| json!({"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": ago(*seconds)});
    with(pytorchjob(1), json!({"status": {"conditions": conditions.iter().map(condition).collect::<Vec<_>>()}}))
}

const MEMORY: (i64, &str, i64) = (900, "OOMKilled", 137);
const LATER: (i64, &str, i64) = (870, "Error", 1);

fn and(mut pods: Vec<Value>, object: Value) -> Vec<Value> {
    pods.push(object);
    pods
}

#[rstest]
#[case::failed(and(failed([LATER, MEMORY]), job(&[("Failed", 860)])), &["I OutOfMemory no", "I JobFailed no"])]
#[case::another_cause(and(failed([LATER, (880, "Error", 3)]), job(&[("Failed", 860)])), &["I JobFailed no"])]
#[case::without_pods(vec![job(&[("Failed", 860)]), node("node-0")], &["I JobFailed no"])]
#[case::succeeded(and(failed([LATER, MEMORY]), job(&[("Succeeded", 10)])), &[])]
#[case::job_not_in_the_snapshot(failed([LATER, (880, "Error", 3)]), &["I JobFailed unknown"])]
#[case::unreported(and(failed([(900, "Error", 1), (930, "Error", 1)]), job(&[("Running", 3600)])), &["E FailureUnreported unknown"])]
#[case::unreported_memory(and(failed([(900, "Error", 1), (930, "OOMKilled", 137)]), job(&[("Running", 3600)])), &["E FailureUnreported unknown", "I OutOfMemory no"])]
#[case::replacement_denied(
    and(and(failed([(900, "Error", 1), (930, "Error", 1)]), job(&[("Running", 3600)])), event("PyTorchJob", "llama", "FailedCreate", "denied", 60)),
    &["E PodCreationFails no"]
)]
#[case::may_be_reported(and(failed([(899, "Error", 1), (930, "Error", 1)]), job(&[("Running", 3600)])), &[])]
#[case::suspended(and(failed([LATER, (930, "Error", 1)]), with(job(&[("Running", 3600)]), json!({"spec": {"runPolicy": {"suspend": true}}}))), &["W JobSuspended no"])]
fn failed_jobs(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[rstest]
#[case::first(failed([LATER, MEMORY]), "the job has failed; worker-0 failed first, with exit code 137 (OOMKilled)", "exit code 137 (OOMKilled)")]
#[case::together(failed([(900, "Error", 1), (900, "Error", 1)]), "the job has failed; master-0 failed first or at the same time as others, with exit code 1", "exit code 1")]
#[case::one(failed([(900, "Error", 1), (900, "Completed", 0)]), "the job has failed: master-0 with exit code 1", "exit code 1")]
#[case::terminated_because_the_job_failed(failed([(100, "Error", 143), (100, "Error", 143)]), "the job has failed", "R: m")]
fn the_first_failure_is_named(#[case] pods: Vec<Value>, #[case] message: &str, #[case] evidence: &str) {
    let found = report(&and(pods, job(&[("Failed", 860)])));
    let found = found.diagnoses.iter().find(|found| found.code.code() == "JobFailed").unwrap();
    assert_eq!((&*found.finding.message, &*found.evidence[0].value), (message, evidence));
    assert_eq!(found.evidence.last().unwrap().field, "status.conditions[Failed]");
}

/// The pods were terminated because of the deadline.
#[rstest]
#[case::of_a_job("DeadlineExceeded", "Job was active longer than specified deadline")]
#[case::of_the_training_operator(
    "PyTorchJobFailed",
    "PyTorchJob llama has failed because it was active longer than specified deadline"
)]
fn a_deadline_has_passed(#[case] reason: &str, #[case] message: &str) {
    let mut object = job(&[("Failed", 860)]);
    object["status"]["conditions"][0]["reason"] = reason.into();
    object["status"]["conditions"][0]["message"] = message.into();
    let found = report(&and(failed([LATER, (870, "Error", 143)]), object)).diagnoses.remove(0);
    assert_eq!(found.finding.message, "the job has failed: it ran for longer than activeDeadlineSeconds");
    assert_eq!(found.evidence[0].field, "status.conditions[Failed]");
    assert!(found.finding.fix.unwrap().starts_with("raise activeDeadlineSeconds"), "{found:?}");
}

/// The first two show the order.
#[test]
fn each_failure_is_evidence() {
    let ends = [LATER, (880, "Error", 3), (875, "Error", 4)];
    let found = report(&and(failed(ends), job(&[("Failed", 860)]))).diagnoses.remove(0);
    let values: Vec<&str> = found.evidence.iter().map(|evidence| &*evidence.value).collect();
    assert_eq!(values, ["exit code 3", "exit code 4", "R: m", "exit code 1"]);
}

#[rstest]
#[case::no_pod(vec![job(&[("Failed", 860)])], "read the message of the condition")]
#[case::pods(and(failed([LATER, MEMORY]), job(&[("Failed", 860)])), "read the log of the pod")]
fn a_log_needs_a_pod(#[case] objects: Vec<Value>, #[case] fix: &str) {
    let found = report(&objects).diagnoses.into_iter().find(|found| found.code.code() == "JobFailed").unwrap();
    assert!(found.finding.fix.is_some_and(|found| found.starts_with(fix)), "{found:?}");
}

/// The training operator keeps the pods of a job that has finished, by default.
#[rstest]
#[case::succeeded(rank(1), &[("Succeeded", 120)], &["W WorkersLeft no"])]
#[case::failed(rank(1), &[("Failed", 120)], &["W WorkersLeft no", "I JobFailed no"])]
#[case::a_moment(rank(1), &[("Succeeded", 119)], &[])]
#[case::finished(with(rank(1), json!({"status": {"phase": "Succeeded"}})), &[("Succeeded", 120)], &[])]
fn workers_after_the_job(#[case] worker: Value, #[case] conditions: &[(&str, i64)], #[case] expected: &[&str]) {
    check(&[worker, job(conditions)], expected);
}

/// With this policy, the operator should have deleted the worker.
#[rstest]
#[case::running("Running", "W WorkersLeft unknown", "check that the operator of the job runs")]
#[case::none("None", "W WorkersLeft no", "set runPolicy.cleanPodPolicy to Running")]
fn workers_that_should_have_been_deleted(#[case] policy: &str, #[case] expected: &str, #[case] fix: &str) {
    let job = with(job(&[("Succeeded", 120)]), json!({"spec": {"runPolicy": {"cleanPodPolicy": policy}}}));
    let objects = [rank(1), job];
    check(&objects, &[expected]);
    let found = report(&objects).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    let shows_policy = found.evidence.iter().any(|evidence| evidence.field == "spec.runPolicy.cleanPodPolicy");
    assert_eq!(shows_policy, policy == "Running");
}

/// The cause stays the first finding after the job has failed, with its workers left.
#[rstest]
#[case::failed(&[("Failed", 860)], &["E RankFailed no", "W WorkersLeft no", "I JobFailed no"])]
#[case::running(&[("Running", 860)], &["E RankFailed no"])]
fn a_rank_of_a_failed_job(#[case] conditions: &[(&str, i64)], #[case] expected: &[&str]) {
    check(&[failed([LATER, (900, "Error", 1)]).swap_remove(0), rank(1), job(conditions)], expected);
}

/// The phase of a Volcano Job is final, once it is Failed.
#[rstest]
#[case::failed("Failed", "I JobFailed no", true)]
#[case::restarting("Restarting", "I JobFailed unknown", false)]
fn a_job_of_volcano(#[case] phase: &str, #[case] expected: &str, #[case] is_shown: bool) {
    let job = json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"namespace": "team-a", "name": "a"},
        "spec": {"tasks": [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [{"name": "a"}]}}}]},
        "status": {"state": {"phase": phase}}});
    let owner = json!([{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "a", "controller": true}]);
    let metadata = json!({"metadata": {"labels": null, "ownerReferences": owner}});
    let objects = [with(failed([LATER]).swap_remove(0), metadata), job];
    assert_eq!(findings(&objects), [expected]);
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.evidence.iter().any(|evidence| evidence.field == "status.state.phase"), is_shown, "{found:?}");
}

/// A pod without an owner is not replaced.
#[rstest]
#[case::bare(json!({"metadata": {"ownerReferences": null, "labels": null}}), &["I JobFailed no"])]
#[case::of_a_job(json!({"metadata": {"labels": null, "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "a", "controller": true}]}}), &["I JobFailed unknown"])]
#[case::of_a_schedule(json!({"metadata": {"labels": null, "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "a", "controller": true}]}}), &[])]
#[case::evicted(json!({"metadata": {"ownerReferences": null, "labels": null}, "status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}}), &["W PodDisrupted no"])]
#[case::runs(json!({"metadata": {"ownerReferences": null, "labels": null}, "status": {"phase": "Running"}}), &[])]
#[case::succeeded(json!({"metadata": {"ownerReferences": null, "labels": null}, "status": {"phase": "Succeeded"}}), &[])]
fn pods_alone(#[case] patch: Value, #[case] expected: &[&str]) {
    let pod = with(failed([LATER, LATER]).swap_remove(0), patch);
    assert_eq!(findings(&[pod]), expected);
}
