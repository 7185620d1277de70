//! Tests of the detection of stuck pods.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use trainmesh_core::config::Configuration;
use trainmesh_core::pod::Pod;

/// Checks a pod with these labels and these states of its main container and proxy.
#[rstest]
#[case::stuck(json!({}), json!({"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}}), json!({"running": {}}),
    Some(("the main containers have completed, but proxy istio-proxy is still running", false)))]
#[case::opted_out(json!({"trainmesh.dev/inject": "disabled"}),
    json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}), json!({"running": {}}),
    Some(("the main containers have completed, but proxy istio-proxy is still running", true)))]
#[case::proxy_cannot_start(json!({}), json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}),
    json!({"waiting": {"reason": "CrashLoopBackOff"}}), Some(("the main containers have completed, but the proxy is not running yet", false)))]
#[case::completed_within_the_stabilization_window(json!({}), json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:59Z"}}),
    json!({"running": {}}), None)]
#[case::running(json!({}), json!({"running": {}}), json!({"running": {}}), None)]
#[tokio::test]
async fn finds_stuck_pods(
    #[case] labels: Value,
    #[case] main: Value,
    #[case] proxy: Value,
    #[case] expected: Option<(&str, bool)>,
) {
    let pod = json!({
        "metadata": {"namespace": "team-a", "name": "a", "uid": "1", "labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "istio-proxy"}, {"name": "train"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "istio-proxy", "containerID": "c://1", "state": proxy},
            {"name": "train", "containerID": "c://2", "state": main},
        ]},
    });
    let found = find(&pod, "2026-01-01T00:00:59.5Z");
    assert_eq!(found.as_ref().map(|found| (found.reason.as_str(), found.opted_out)), expected);
}

/// Checks whether a pod, whose main container completed at this time while a sidecar without a method runs, is stuck.
#[rstest]
#[case::within_the_configured_window("2026-01-01T00:00:59Z", json!({}), false)]
#[case::after_it("2026-01-01T00:00:50Z", json!({}), true)]
#[case::within_its_own_window("2026-01-01T00:00:50Z", json!({"trainmesh.dev/settle": "10m"}), false)]
#[case::after_its_own_window("2026-01-01T00:00:59Z", json!({"trainmesh.dev/settle": "0s"}), true)]
#[case::an_invalid_window("2026-01-01T00:00:50Z", json!({"trainmesh.dev/settle": "soon"}), true)]
#[case::on_a_node_whose_clock_is_wrong("2026-01-01T01:00:00Z", json!({}), true)]
#[tokio::test]
async fn a_blocked_sidecar_runs_after_the_stabilization_window(
    #[case] completed: &str,
    #[case] mut annotations: Value,
    #[case] expected: bool,
) {
    annotations["trainmesh.dev/payload-containers"] = json!("train");
    let pod = json!({
        "metadata": {"namespace": "team-a", "name": "a", "uid": "1", "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "uploader"}, {"name": "train"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "uploader", "containerID": "c://1", "state": {"running": {}}},
            {"name": "train", "containerID": "c://2", "state": {"terminated": {"exitCode": 0, "finishedAt": completed}}},
        ]},
    });
    assert_eq!(find(&pod, "2026-01-01T00:00:59.5Z").is_some(), expected);
}

/// Neither the host network nor an annotation that names no container hides a pod.
#[rstest]
#[case::host_network(json!({}), true, "istio-proxy is still running: trainmesh leaves pods with hostNetwork alone")]
#[case::unknown_main_container(json!({"trainmesh.dev/payload-containers": "trian"}), false, "trainmesh.dev/payload-containers does not match the pod: trian")]
#[tokio::test]
async fn pods_that_are_left_alone_are_listed(
    #[case] annotations: Value,
    #[case] host_network: bool,
    #[case] reason: &str,
) {
    let pod = json!({
        "metadata": {"namespace": "team-a", "name": "a", "uid": "1", "annotations": annotations},
        "spec": {"restartPolicy": "Never", "hostNetwork": host_network, "containers": [{"name": "istio-proxy"}, {"name": "train"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "istio-proxy", "containerID": "c://1", "state": {"running": {}}},
            {"name": "train", "containerID": "c://2", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}},
        ]},
    });
    let found = find(&pod, "2026-01-01T01:00:00Z").unwrap();
    assert!(found.reason.contains(reason), "{}", found.reason);
}

/// A proxy that exits later does not make an old problem look new.
#[tokio::test]
async fn the_time_is_that_of_the_main_containers() {
    let terminated = |at: &str| json!({"terminated": {"exitCode": 0, "finishedAt": at}});
    let pod = json!({
        "metadata": {"namespace": "team-a", "name": "a", "uid": "1"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "istio-proxy"}, {"name": "vault-agent"}, {"name": "train"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "istio-proxy", "containerID": "c://1", "state": terminated("2026-01-01T00:50:00Z")},
            {"name": "vault-agent", "containerID": "c://2", "state": {"running": {}}},
            {"name": "train", "containerID": "c://3", "state": terminated("2026-01-01T00:00:00Z")},
        ]},
    });
    let found = find(&pod, "2026-01-01T01:00:00Z").unwrap();
    assert_eq!(found.since, Some("2026-01-01T00:00:00Z".parse().unwrap()));
}

fn find(pod: &Value, now: &str) -> Option<StuckPod> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    let settings = Configuration::embedded().termination;
    let sweeper = Sweeper::new(Client::try_from(config).unwrap(), settings);
    sweeper.stuck_pod(&PodFacts::read(Pod::new(pod)), now.parse().unwrap())
}
