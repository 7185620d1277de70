//! Suspended jobs and the quota of Kueue.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{START, ago, pytorchjob, rank, rank_of, unscheduled, with};
use super::{check, report};

/// Returns the Workload of the job.
fn workload(active: bool, conditions: Value) -> Value {
    let owner = json!([{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "llama", "controller": true}]);
    json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"namespace": "team-a", "name": "pytorchjob-llama", "ownerReferences": owner},
        "spec": {"active": active}, "status": {"conditions": conditions}})
}

fn condition(kind: &str, status: &str, reason: &str, since: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": since})
}

fn suspended(queue: bool) -> Value {
    let labels = if queue { json!({"kueue.x-k8s.io/queue-name": "team"}) } else { json!({}) };
    with(pytorchjob(1), json!({"metadata": {"labels": labels}, "spec": {"runPolicy": {"suspend": true}}}))
}

fn finished(kind: &str) -> Value {
    json!({"status": {"conditions": [condition(kind, "True", "R", START)]}})
}

fn cron_job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"namespace": "team-a", "name": "backup"},
        "spec": {"suspend": true, "schedule": "0 1 * * *"}})
}

#[rstest]
#[case::by_a_user(vec![suspended(false)], &["W JobSuspended no"])]
#[case::in_a_queue(vec![suspended(true)], &["I JobSuspended unknown"])]
#[case::no_quota(vec![suspended(true), workload(true, json!([condition("QuotaReserved", "False", "Pending", START)]))], &["I JobSuspended unknown"])]
#[case::no_such_queue(vec![suspended(true), workload(true, json!([condition("QuotaReserved", "False", "Inadmissible", START)]))], &["W JobSuspended no"])]
#[case::evicted(vec![suspended(true), workload(true, json!([condition("Evicted", "True", "Preempted", START)]))], &["W JobSuspended yes"])]
#[case::no_longer_evicted(vec![suspended(true), workload(true, json!([condition("Evicted", "False", "QuotaReserved", START)]))], &["I JobSuspended unknown"])]
#[case::deactivated(vec![suspended(true), workload(false, json!([]))], &["W JobSuspended no"])]
#[case::not_suspended(vec![pytorchjob(1)], &[])]
#[case::succeeded(vec![with(suspended(false), finished("Succeeded"))], &[])]
#[case::failed(vec![with(suspended(true), finished("Failed"))], &[])]
#[case::not_succeeded(vec![with(suspended(false), finished("Running"))], &["W JobSuspended no"])]
#[case::schedule(vec![cron_job()], &[])]
fn suspension(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[rstest]
#[case::inadmissible(workload(true, json!([condition("QuotaReserved", "False", "Inadmissible", START)])), "Kueue cannot admit the job: m", "correct the label kueue.x-k8s.io/queue-name")]
#[case::deactivated(workload(false, json!([])), "the job is deactivated in Kueue", "read the condition Evicted")]
fn fixes_for_a_queue(#[case] workload: Value, #[case] message: &str, #[case] fix: &str) {
    let found = report(&[suspended(true), workload]).diagnoses.remove(0);
    assert_eq!(found.finding.message, message);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// Two pods that Kueue holds by a gate, and their Workload in queue `gpu`.
fn gated(reason: &str, status: &str) -> Vec<Value> {
    let gate = json!({"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}});
    let pods = (0..2).map(|index| with(with(rank(index), unscheduled(&ago(900))), gate.clone()));
    let workload = workload(true, json!([condition("QuotaReserved", status, reason, START)]));
    pods.chain([with(workload, json!({"spec": {"queueName": "gpu"}}))]).collect()
}

#[rstest]
#[case::no_quota(gated("Pending", "False"), "I PodsGated unknown", "the job waits for quota in Kueue's queue gpu")]
#[case::no_such_queue(gated("Inadmissible", "False"), "W PodsGated no", "Kueue cannot admit the job: m")]
#[case::admitted(gated("QuotaReserved", "True"), "W PodsGated unknown", "Kueue has reserved quota for the job")]
fn gates_of_kueue(#[case] objects: Vec<Value>, #[case] expected: &str, #[case] message: &str) {
    check(&objects, &[expected]);
    let found = report(&objects).diagnoses.remove(0);
    let start = "master-0, worker-0 are held by the scheduling gate kueue.x-k8s.io/admission: ";
    assert_eq!(found.finding.message, format!("{start}{message}"));
}

#[test]
fn a_job_is_suspended() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "team-a", "name": "a"}, "spec": {"suspend": true}});
    check(&[job], &["W JobSuspended no"]);
}

fn admitted(seconds: i64) -> Value {
    condition("Admitted", "True", "Admitted", &ago(seconds))
}

#[rstest]
#[case::no_pods(workload(true, json!([admitted(600)])), vec![rank_of("gpt", 0)], &["W QuotaHeld unknown"])]
#[case::just_admitted(workload(true, json!([admitted(599)])), vec![rank_of("gpt", 0)], &[])]
#[case::finished(workload(true, json!([admitted(600), condition("Finished", "True", "Succeeded", START)])), vec![rank_of("gpt", 0)], &[])]
#[case::pods_run(workload(true, json!([admitted(600)])), vec![rank(0), rank(1)], &[])]
#[case::pods_not_in_the_snapshot(workload(true, json!([admitted(600)])), vec![], &[])]
fn idle_quota(#[case] workload: Value, #[case] pods: Vec<Value>, #[case] expected: &[&str]) {
    check(&[vec![pytorchjob(1), workload], pods].concat(), expected);
}
