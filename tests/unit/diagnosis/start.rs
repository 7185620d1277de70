//! Containers that do not start.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Recovery;

use super::objects::{ago, event, job_with, rank, waiting, with};
use super::{check, report};

#[rstest]
#[case::missing("ImagePullBackOff", "manifest unknown", &["E ImagePullFails no"])]
#[case::denied("ErrImagePull", "403 Forbidden", &["E ImagePullFails no"])]
#[case::retried("ErrImagePull", "dial tcp: i/o timeout", &["E ImagePullFails unknown"])]
#[case::invalid("InvalidImageName", "couldn't parse image", &["E ImagePullFails no"])]
#[case::never("ErrImageNeverPull", "", &["E ImagePullFails no"])]
#[case::configuration("CreateContainerConfigError", "secret \"a\" not found", &["E ContainerNotCreated no"])]
#[case::runtime("RunContainerError", "exec: no such file", &["E ContainerNotCreated no"])]
#[case::creating("ContainerCreating", "", &["W PodNotStarting unknown"])]
#[case::initializing("PodInitializing", "", &["W PodNotStarting unknown"])]
fn reasons_of_waiting_containers(#[case] reason: &str, #[case] message: &str, #[case] expected: &[&str]) {
    check(&job_with(3, waiting(reason, message)), expected);
}

/// A short status only repeats the reason.
#[rstest]
#[case::short_status("Back-off pulling image \"registry/train:1\"", "registry/train:1", 100, "no")]
#[case::status_with_the_cause("Back-off pulling image: dial tcp: i/o timeout", "registry/train:1", 100, "unknown")]
#[case::another_image("Back-off pulling image \"registry/train:1\"", "registry/other:1", 100, "unknown")]
#[case::earlier_pod("Back-off pulling image \"registry/train:1\"", "registry/train:1", 3601, "unknown")]
fn events_about_a_pull(#[case] status: &str, #[case] image: &str, #[case] age: i64, #[case] recovers: &str) {
    let message = format!("Failed to pull image \"{image}\": rpc error: code = NotFound desc = {image}: not found");
    let event = event("Pod", "llama-worker-0", "Failed", &message, age);
    let found = report(&[job_with(3, waiting("ImagePullBackOff", status)), vec![event]].concat()).diagnoses.remove(0);
    assert_eq!(found.recovery.recovers().name(), recovers);
    let is_quoted = found.evidence.iter().any(|evidence| evidence.value == message);
    assert_eq!(is_quoted, recovers == "no", "{found:?}");
}

#[rstest]
#[case::pulled("ErrImagePull", "push the image")]
#[case::invalid("InvalidImageName", "imagePullPolicy")]
#[case::never("ErrImageNeverPull", "imagePullPolicy")]
fn the_fix_of_an_image_depends_on_the_reason(#[case] reason: &str, #[case] expected: &str) {
    let found = report(&job_with(3, waiting(reason, ""))).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().contains(expected), "{:?}", found.finding);
}

#[rstest]
#[case::limit(
    "toomanyrequests: You have reached your unauthenticated pull rate limit",
    "the registry limits the number of pulls"
)]
#[case::denied("pull access denied", "read the message: correct the image name")]
#[case::platform("no match for platform in manifest: not found", "the image does not exist for the architecture")]
#[case::disk(
    "failed to extract layer sha256:aa: write /var/lib/x: no space left on device",
    "the disk of the node is full"
)]
#[case::name_server("dial tcp: lookup registry on 10.96.0.10:53: no such host", "the node does not reach the registry")]
fn the_fix_of_an_image_depends_on_the_message(#[case] message: &str, #[case] fix: &str) {
    let found = report(&job_with(3, waiting("ErrImagePull", message))).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{:?}", found.finding);
}

/// A change of the job does not repair a node.
#[rstest]
#[case::command(
    "exec: \"train\": executable file not found in $PATH",
    Recovery::ConfigurationMissing,
    "read the message"
)]
#[case::driver(
    "nvidia-container-cli: initialization error: driver rpc error: timed out: unknown",
    Recovery::NodeFaulty,
    "check the node"
)]
#[case::disk("write /var/lib/x: no space left on device", Recovery::NodeFaulty, "check the node")]
#[case::device("nvidia-container-cli: device error: GPU-abc: unknown device", Recovery::NodeFaulty, "check the node")]
#[case::cdi("unresolvable CDI devices nvidia.com/gpu=7", Recovery::NodeFaulty, "check the node")]
fn faults_of_the_node(#[case] message: &str, #[case] recovery: Recovery, #[case] fix: &str) {
    let found = report(&job_with(3, waiting("RunContainerError", message))).diagnoses.remove(0);
    assert_eq!(found.recovery, recovery);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    let names_node = found.evidence.iter().any(|evidence| evidence.value == "node-1");
    assert_eq!(names_node, recovery == Recovery::NodeFaulty, "{found:?}");
}

#[rstest]
#[case::grace_period(119, &[])]
#[case::after_it(120, &["E ContainerNotCreated no"])]
fn an_operator_may_still_create_the_configuration(#[case] age: i64, #[case] expected: &[&str]) {
    let patch = with(waiting("CreateContainerConfigError", ""), json!({"metadata": {"creationTimestamp": ago(age)}}));
    check(&job_with(3, patch), expected);
}

#[test]
fn a_finished_pod_does_not_wait() {
    let patch = with(waiting("ImagePullBackOff", ""), json!({"status": {"phase": "Failed"}}));
    check(&job_with(3, patch), &[]);
}

#[test]
fn an_init_container_blocks_its_pod() {
    let init = json!({
        "spec": {"initContainers": [{"name": "init-pytorch", "image": "alpine"}]},
        "status": {"phase": "Pending", "containerStatuses": null,
            "initContainerStatuses": [{"name": "init-pytorch", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]},
    });
    check(&job_with(2, init), &["E ImagePullFails unknown"]);
}

#[test]
fn one_finding_for_each_image() {
    let waits = |index: usize, image: &str| {
        let mut pod = with(rank(index), waiting("ImagePullBackOff", "not found"));
        pod["spec"]["containers"][0]["image"] = image.into();
        pod
    };
    let pods = [rank(0), waits(1, "a:1"), waits(2, "a:1"), waits(3, "b:1")];
    let report = report(&pods);
    let messages: Vec<&str> = report.diagnoses.iter().map(|found| &*found.finding.message).collect();
    let expected = [
        "worker-0, worker-1 cannot pull image a:1, so 2 other pods of the job wait",
        "worker-2 cannot pull image b:1, so 3 other pods of the job wait",
    ];
    assert_eq!(messages, expected);
    let first = &report.diagnoses[0];
    assert_eq!(first.evidence[0].object, "Pod team-a/llama-worker-0");
    assert_eq!(first.evidence[0].field, "status.containerStatuses[pytorch].state.waiting");
    assert_eq!(first.evidence[0].value, "ImagePullBackOff: not found");
    assert_eq!(
        (first.finding.subject.as_str(), first.finding.link),
        ("PyTorchJob team-a/llama", "docs/diagnose.md#imagepullfails")
    );
}

#[test]
fn a_healthy_job_has_no_finding() {
    let pods: Vec<Value> = (0..4).map(rank).collect();
    let report = report(&pods);
    assert_eq!((report.workloads, report.pods, report.diagnoses.len()), (1, 4, 0));
}
