//! Main containers that crash or run out of memory.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{DiagnosisCode, Recovery};

use super::objects::{ago, event, job_with, main_status, pytorchjob, rank, with};
use super::{check, report};

fn termination(reason: &str, code: i64) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": ago(900), "finishedAt": ago(600)}})
}

pub fn crash_loop(restarts: u64, reason: &str, code: i64) -> Value {
    main_status(json!({"restartCount": restarts, "lastState": termination(reason, code),
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}))
}

fn running_again(reason: &str, code: i64) -> Value {
    main_status(
        json!({"restartCount": 1, "lastState": termination(reason, code), "state": {"running": {"startedAt": ago(590)}}}),
    )
}

fn ended(policy: &str, reason: &str, code: i64) -> Value {
    with(main_status(json!({"state": termination(reason, code)})), json!({"spec": {"restartPolicy": policy}}))
}

/// A container that has terminated again, for a part of the delay before its next restart.
fn terminated_again(policy: &str, restarts: u64, code: i64) -> Value {
    let status = main_status(
        json!({"restartCount": restarts, "state": termination("Error", code), "lastState": termination("Error", 1)}),
    );
    with(status, json!({"spec": {"restartPolicy": policy}}))
}

#[rstest]
#[case::between_restarts(terminated_again("OnFailure", 3, 1), &["E CrashLoop unknown"])]
#[case::early_restart(terminated_again("OnFailure", 2, 1), &[])]
#[case::completed_after_restarts(terminated_again("OnFailure", 3, 0), &["W RankCompletedEarly unknown"])]
#[case::not_restarted_any_more(terminated_again("Never", 3, 1), &["E RankFailed unknown"])]
#[case::often(crash_loop(3, "Error", 1), &["E CrashLoop unknown"])]
#[case::first_connections(crash_loop(2, "Error", 1), &["W CrashLoop unknown"])]
#[case::by_memory(crash_loop(5, "OOMKilled", 137), &["E OutOfMemory unknown"])]
#[case::memory_restarted(running_again("OOMKilled", 137), &["W OutOfMemory unknown"])]
#[case::memory_not_restarted(ended("Never", "OOMKilled", 137), &["E OutOfMemory no"])]
#[case::killed_by_somebody_else(ended("Never", "Error", 137), &["E RankFailed unknown"])]
#[case::about_to_be_restarted(ended("OnFailure", "OOMKilled", 137), &["E OutOfMemory unknown"])]
#[case::pod_failed_by_memory(with(ended("OnFailure", "OOMKilled", 137), evicted()), &["E OutOfMemory no"])]
#[case::restarted(ended("OnFailure", "Error", 137), &[])]
#[case::pod_failed(with(ended("OnFailure", "Error", 137), evicted()), &["E RankFailed unknown"])]
#[case::pod_always_restarts_failed(with(ended("Always", "Error", 137), evicted()), &["E RankFailed unknown"])]
fn terminations(#[case] patch: Value, #[case] expected: &[&str]) {
    check(&job_with(3, patch), expected);
}

/// A bare pod without accelerators does not train.
#[rstest]
#[case::rank(json!({}), "raise the memory limit, or lower the batch size")]
#[case::another_program(
    json!({"metadata": {"labels": null, "ownerReferences": null}, "spec": {"containers": [{"name": "pytorch"}]}}),
    "raise the memory limit of the container in the evidence"
)]
fn memory_of_programs(#[case] patch: Value, #[case] fix: &str) {
    let found = report(&[with(with(rank(0), running_again("OOMKilled", 137)), patch)]).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[test]
fn several_pods_run_again() {
    let mut pods = job_with(3, running_again("OOMKilled", 137));
    pods[2] = with(pods[2].clone(), running_again("OOMKilled", 137));
    let message = "worker-0, worker-1 exceeded their memory limits and run again";
    assert_eq!(report(&pods).diagnoses.remove(0).finding.message, message);
}

/// The log does not show that a probe failed.
#[rstest]
#[case::probe(
    "Container pytorch failed liveness probe, will be restarted",
    "pytorch",
    "the kubelet terminates the container",
    3
)]
#[case::another_container(
    "Container log failed liveness probe, will be restarted",
    "log",
    "read the log of the last run",
    1
)]
#[case::deletion("Stopping container pytorch", "pytorch", "read the log of the last run", 1)]
fn probes_that_fail(#[case] killing: &str, #[case] container: &str, #[case] fix: &str, #[case] evidence: usize) {
    let path = json!({"involvedObject": {"fieldPath": format!("spec.containers{{{container}}}")}});
    let events = vec![
        event("Pod", "llama-worker-0", "Unhealthy", "Liveness probe failed: context deadline exceeded", 620),
        event("Pod", "llama-worker-0", "Killing", killing, 610),
    ];
    let events: Vec<Value> = events.into_iter().map(|event| with(event, path.clone())).collect();
    let found = report(&[job_with(3, crash_loop(6, "Error", 137)), events].concat()).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    assert_eq!(found.evidence.len(), evidence, "{found:?}");
}

/// A pod that the kubelet evicted because of its own limit, without a condition.
fn evicted() -> Value {
    json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "Pod ephemeral local storage usage exceeds 100Gi."}})
}

#[rstest]
#[case::never("Never")]
#[case::on_failure("OnFailure")]
fn an_evicted_rank_shows_the_reason(#[case] policy: &str) {
    let objects = [job_with(3, with(ended(policy, "Error", 137), evicted())), vec![pytorchjob(2)]].concat();
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!((found.code, found.recovery), (DiagnosisCode::RankFailed, Recovery::RankStays));
    let values: Vec<_> = found.evidence.iter().map(|evidence| &*evidence.value).collect();
    assert_eq!(values, ["Evicted: Pod ephemeral local storage usage exceeds 100Gi.", "exit code 137"]);
    assert!(found.finding.fix.unwrap().starts_with("read status.reason"));
}

/// An init container between restarts.
fn init_crash(reason: &str, code: i64) -> Value {
    let status = json!([{"name": "fetch", "restartCount": 3, "lastState": termination(reason, code), "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    json!({"spec": {"initContainers": [{"name": "fetch"}]}, "status": {"phase": "Pending", "initContainerStatuses": status}})
}

#[rstest]
#[case::main(
    crash_loop(3, "Error", 1),
    "worker-0 crashes again and again",
    "kubectl -n team-a logs llama-worker-0 --previous, with -c"
)]
#[case::first_restart(
    crash_loop(1, "Error", 1),
    "worker-0 crashes and is restarted after a delay",
    "kubectl -n team-a logs llama-worker-0 --previous, with -c"
)]
#[case::init_out_of_memory(
    init_crash("OOMKilled", 137),
    "container fetch of worker-0 crashes again and again",
    "kubectl -n team-a logs llama-worker-0 --previous -c fetch"
)]
#[case::init(
    init_crash("Error", 1),
    "container fetch of worker-0 crashes again and again",
    "kubectl -n team-a logs llama-worker-0 --previous -c fetch"
)]
#[case::both(
    with(init_crash("Error", 1), crash_loop(3, "Error", 1)),
    "worker-0 crashes again and again",
    "kubectl -n team-a logs llama-worker-0 --previous -c fetch"
)]
fn the_container_that_crashes_is_named(#[case] patch: Value, #[case] subject: &str, #[case] command: &str) {
    let found = report(&job_with(3, patch)).diagnoses.remove(0);
    assert_eq!(found.finding.message, format!("{subject}, so 2 other pods of the job wait"));
    assert!(found.fix().unwrap().contains(command), "{found:?}");
}

#[test]
fn a_sidecar_out_of_memory_is_not_a_rank() {
    let mut pods = job_with(2, json!({}));
    pods[1]["metadata"]["annotations"] = json!({"sidecar.istio.io/status": "{\"containers\": [\"istio-proxy\"]}",
        "traffic.sidecar.istio.io/includeOutboundIPRanges": ""});
    pods[1]["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "istio-proxy"}));
    let status = json!({"name": "istio-proxy", "ready": true, "restartCount": 1, "state": {"running": {"startedAt": ago(500)}},
        "lastState": termination("OOMKilled", 137)});
    pods[1]["status"]["containerStatuses"].as_array_mut().unwrap().push(status);
    check(&pods, &[]);
}

/// A kill on the node of worker 0, `seconds` ago.
fn kill(message: &str, seconds: i64) -> Value {
    with(event("Node", "node-1", "OOMKilling", message, seconds), json!({"metadata": {"namespace": "default"}}))
}

#[rstest]
#[case::node(kill("Killed process 7 (python)", 60), json!({}), &["W ProcessKilled unknown"])]
#[case::own_cgroup(kill("kubepods/podllama-worker-0-uid", 60), json!({}), &["W ProcessKilled unknown"])]
#[case::cgroup_of_another_pod(kill("kubepods/pod1234", 60), json!({}), &[])]
#[case::before_the_start(kill("Killed process 7 (python)", 3601), json!({}), &[])]
#[case::explained(kill("Killed process 7 (python)", 620), running_again("OOMKilled", 137), &["W OutOfMemory unknown"])]
#[case::another_reason(event("Node", "node-1", "NodeReady", "", 60), json!({}), &[])]
fn processes(#[case] event: Value, #[case] patch: Value, #[case] expected: &[&str]) {
    let mut objects = job_with(2, patch);
    objects.push(event);
    check(&objects, expected);
}
