//! Pods with a node whose containers do not start.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{ago, event, job_with, main_container, node, waiting, with};
use super::{check, report};

/// Returns the patch for a pod that has had a node for `seconds`, and whose main container waits.
fn starting(reason: &str, seconds: i64) -> Value {
    let scheduled = json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(seconds)}]);
    with(waiting(reason, ""), json!({"status": {"conditions": scheduled}}))
}

fn creating(seconds: i64) -> Value {
    starting("ContainerCreating", seconds)
}

/// Returns the patch for a pod whose init container runs.
fn initializing(name: &str, seconds: i64) -> Value {
    let status = json!([{"name": name, "ready": false, "state": {"running": {"startedAt": ago(seconds - 10)}}}]);
    let init = json!({"spec": {"initContainers": [{"name": name}]}, "status": {"initContainerStatuses": status}});
    with(starting("PodInitializing", seconds), init)
}

/// Returns the patch for a pod with a sidecar that runs and is not ready, so that its hook may block the main container.
fn with_sidecar(seconds: i64) -> Value {
    let statuses = json!([
        {"name": "pytorch", "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}},
        {"name": "agent", "restartCount": 0, "ready": false, "state": {"running": {"startedAt": ago(seconds)}}}]);
    let sidecar = json!({"metadata": {"annotations": {"trainmesh.dev/helper-containers": "agent"}},
        "spec": {"containers": [main_container(), {"name": "agent"}]}, "status": {"containerStatuses": statuses}});
    with(creating(seconds), sidecar)
}

/// The pod was created after its events.
fn recreated(seconds: i64) -> Value {
    with(creating(seconds), json!({"metadata": {"creationTimestamp": ago(seconds)}}))
}

const ERROR: &[&str] = &["E PodNotStarting unknown"];
const WARNING: &[&str] = &["W PodNotStarting unknown"];

#[rstest]
#[case::volume(creating(300), "FailedMount", 60, ERROR)]
#[case::network(creating(300), "FailedCreatePodSandBox", 60, ERROR)]
#[case::claim(creating(300), "FailedPrepareDynamicResources", 60, ERROR)]
#[case::a_moment(creating(299), "FailedMount", 60, &[])]
#[case::recent_error(creating(899), "FailedMount", 599, ERROR)]
#[case::old_error(creating(899), "FailedMount", 600, &[])]
#[case::error_of_a_former_pod(recreated(400), "FailedMount", 401, &[])]
#[case::image(creating(899), "Pulling", 890, &[])]
#[case::large_image(creating(900), "Pulling", 890, WARNING)]
#[case::download(initializing("download", 900), "Started", 890, WARNING)]
#[case::short_download(initializing("download", 899), "Started", 889, &[])]
#[case::wait_for_the_master(initializing("init-pytorch", 3000), "Started", 890, &[])]
#[case::sidecar(with_sidecar(900), "Started", 890, WARNING)]
#[case::recent_sidecar(with_sidecar(899), "Started", 890, &[])]
#[case::another_finding(starting("ImagePullBackOff", 900), "FailedMount", 60, &["E ImagePullFails unknown"])]
fn starts(#[case] patch: Value, #[case] reason: &str, #[case] seconds: i64, #[case] expected: &[&str]) {
    let event = event("Pod", "llama-worker-0", reason, "message", seconds);
    check(&[job_with(3, patch), vec![event]].concat(), expected);
}

/// Returns the patch for a pod whose init container has terminated with `code` and runs again for `seconds`.
fn retried(code: i64, seconds: i64) -> Value {
    let last = json!({"terminated": {"exitCode": code, "startedAt": ago(3400), "finishedAt": ago(3300)}});
    let status = json!([{"name": "download", "restartCount": 1, "lastState": last, "state": {"running": {"startedAt": ago(seconds)}}}]);
    with(initializing("download", 3500), json!({"status": {"initContainerStatuses": status}}))
}

#[rstest]
#[case::success(retried(0, 60), WARNING)]
#[case::failure(retried(1, 900), WARNING)]
#[case::recent_failure(retried(1, 899), &[])]
fn an_init_container_that_runs_again(#[case] patch: Value, #[case] expected: &[&str]) {
    check(&job_with(3, patch), expected);
}

/// Returns the patch for a pod whose init container has terminated.
fn initialized(seconds: i64) -> Value {
    let ended = json!({"terminated": {"exitCode": 0, "startedAt": ago(seconds), "finishedAt": ago(seconds - 10)}});
    let status = json!([{"name": "download", "restartCount": 0, "state": ended}]);
    with(initializing("download", seconds), json!({"status": {"initContainerStatuses": status}}))
}

/// Volumes and network of a pod are complete before its first image is pulled.
#[rstest]
#[case::pulling(creating(899), Some(("Pulling", 200)), &[])]
#[case::pulled(creating(899), Some(("Pulled", 200)), &[])]
#[case::created(creating(899), Some(("Created", 200)), &[])]
#[case::started(creating(899), Some(("Started", 200)), &[])]
#[case::for_long(creating(900), Some(("Pulling", 200)), WARNING)]
#[case::before_the_error(creating(899), Some(("Pulling", 202)), ERROR)]
#[case::another_event(creating(899), Some(("Scheduled", 200)), ERROR)]
#[case::init_container_runs(initializing("download", 899), None, &[])]
#[case::init_container_has_terminated(initialized(899), None, &[])]
#[case::init_container_for_long(initializing("download", 900), None, WARNING)]
fn an_error_that_is_over(#[case] patch: Value, #[case] later: Option<(&str, i64)>, #[case] expected: &[&str]) {
    let events = [("FailedMount", 201)].into_iter().chain(later);
    let events = events.map(|(reason, seconds)| event("Pod", "llama-worker-0", reason, "message", seconds));
    check(&job_with(3, patch).into_iter().chain(events).collect::<Vec<_>>(), expected);
}

#[test]
fn a_lost_node_is_the_cause() {
    check(
        &[job_with(3, creating(900)), vec![node("node-0"), node("node-2")]].concat(),
        &["E NodeNotReporting unknown"],
    );
}

#[test]
fn the_newest_error_is_the_evidence() {
    let events = [("FailedMount", 200), ("FailedAttachVolume", 100), ("Pulled", 300)]
        .map(|(reason, seconds)| event("Pod", "llama-worker-0", reason, "message", seconds));
    let report = report(&[job_with(3, creating(900)), events.to_vec()].concat());
    let found = &report.diagnoses[0];
    let message = "worker-0 has a node and has not started, so 2 other pods of the job wait";
    assert_eq!((&*found.finding.message, &*found.evidence[0].field), (message, "FailedAttachVolume"));
}

#[rstest]
#[case::image(creating(900), None, "check the events of the pod: kubectl -n team-a describe pod llama-worker-0")]
#[case::init_container(
    initializing("download", 900),
    None,
    "read the log of the container in the evidence: kubectl -n team-a logs llama-worker-0 -c download"
)]
#[case::sidecar(
    with_sidecar(900),
    None,
    "read the log of the container in the evidence: kubectl -n team-a logs llama-worker-0 -c agent"
)]
#[case::volume(creating(300), Some("FailedMount"), "read the event: create the Secret")]
fn fixes_fit_the_evidence(#[case] patch: Value, #[case] failure: Option<&str>, #[case] fix: &str) {
    let events = failure.map(|reason| event("Pod", "llama-worker-0", reason, "message", 60));
    let objects: Vec<Value> = job_with(3, patch).into_iter().chain(events).collect();
    let found = report(&objects).diagnoses.remove(0);
    assert!(found.fix().unwrap().starts_with(fix), "{:?}", found.fix());
}
