//! Pods on nodes that left, reject them or report a problem.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Recovery;

use super::objects::{ago, event, job_with, node, rank, with};
use super::{check, report};

fn ready(status: &str, since: i64) -> Value {
    with(
        node("node-1"),
        json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "NodeStatusUnknown",
            "lastTransitionTime": ago(since)}]}}),
    )
}

#[rstest]
#[case::left(vec![node("node-0")], &["E NodeNotReporting unknown"])]
#[case::unknown_nodes(vec![], &[])]
#[case::healthy(vec![node("node-0"), node("node-1")], &[])]
#[case::silent(vec![node("node-0"), ready("Unknown", 60)], &["E NodeNotReporting unknown"])]
#[case::not_ready(vec![node("node-0"), ready("False", 60)], &["E NodeNotReporting unknown"])]
#[case::restart_of_the_kubelet(vec![node("node-0"), ready("Unknown", 59)], &[])]
fn nodes_of_running_pods(#[case] nodes: Vec<Value>, #[case] expected: &[&str]) {
    let mut objects = job_with(2, json!({}));
    objects.extend(nodes);
    check(&objects, expected);
}

/// The node controller deletes the pods of a silent node after 5 minutes.
#[rstest]
#[case::in_time(599, json!({}), Recovery::NodeSilent)]
#[case::overdue(600, json!({}), Recovery::EvictionOverdue)]
#[case::evicted(600, deleted(-30, json!([])), Recovery::NodeSilent)]
fn evictions_from_silent_nodes(#[case] silent: i64, #[case] patch: Value, #[case] recovery: Recovery) {
    let objects = [job_with(2, patch), vec![node("node-0"), ready("Unknown", silent)]].concat();
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.recovery, recovery);
    assert!(found.finding.fix.unwrap().contains("out-of-service"), "{found:?}");
}

fn deleted(seconds: i64, finalizers: Value) -> Value {
    json!({"metadata": {"deletionTimestamp": ago(seconds), "finalizers": finalizers}})
}

#[rstest]
#[case::node_gone(deleted(120, json!([])), vec![node("node-0")], &["E PodStuckTerminating no"])]
#[case::finalizer(deleted(120, json!(["kueue.x-k8s.io/managed"])), vec![node("node-0"), node("node-1")], &["W PodStuckTerminating unknown"])]
#[case::processes(deleted(120, json!([])), vec![node("node-0"), node("node-1")], &["W PodStuckTerminating unknown"])]
#[case::normal_deletion(deleted(119, json!([])), vec![node("node-0"), node("node-1")], &[])]
#[case::in_the_grace_period(deleted(-30, json!([])), vec![node("node-0"), node("node-1")], &[])]
fn deletions(#[case] patch: Value, #[case] nodes: Vec<Value>, #[case] expected: &[&str]) {
    let mut objects = job_with(2, patch);
    objects.extend(nodes);
    check(&objects, expected);
}

/// Without a finalizer, only the kubelet can end the deletion.
#[rstest]
#[case::finalizer(json!(["kueue.x-k8s.io/managed"]), Recovery::FinalizerHeld, "if the node is gone")]
#[case::processes(json!([]), Recovery::DeletionRetried, "no finalizer holds the pod")]
fn deletions_on_a_node_that_reports(#[case] finalizers: Value, #[case] recovery: Recovery, #[case] fix: &str) {
    let failed = event("Pod", "llama-worker-0", "FailedKillPod", "error killing pod", 100);
    let objects = [job_with(2, deleted(120, finalizers)), vec![node("node-0"), node("node-1"), failed]].concat();
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.recovery, recovery);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    assert!(found.evidence.iter().any(|evidence| evidence.field == "FailedKillPod"), "{found:?}");
}

fn disruption(status: &str) -> Value {
    let condition = json!({"type": "DisruptionTarget", "status": status, "reason": "PreemptionByScheduler",
        "message": "preempting to accommodate a higher priority pod", "lastTransitionTime": ago(100)});
    json!({"status": {"phase": "Failed", "conditions": [condition]}})
}

/// No priority class keeps a node from being shut down.
#[rstest]
#[case::shutdown("TerminationByKubelet", "read the message: for a node that is shut down")]
#[case::preemption(
    "PreemptionByScheduler",
    "if nothing replaces the pods, create the job again; protect training pods"
)]
fn fixes_for_an_eviction(#[case] reason: &str, #[case] fix: &str) {
    let mut patch = disruption("True");
    patch["status"]["conditions"][0]["reason"] = reason.into();
    let found = report(&job_with(2, patch)).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

fn rejection(reason: &str) -> Value {
    json!({"status": {"phase": "Failed", "reason": reason, "containerStatuses": null,
        "message": "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu"}})
}

fn without_node(mut patch: Value) -> Value {
    patch["spec"] = json!({"nodeName": null});
    patch
}

/// The main container of a pod has completed.
fn ran() -> Value {
    let ended = json!({"terminated": {"exitCode": 0, "startedAt": ago(900), "finishedAt": ago(100)}});
    json!({"status": {"containerStatuses": [{"name": "pytorch", "restartCount": 0, "state": ended}]}})
}

#[rstest]
#[case::evicted(disruption("True"), &["W PodDisrupted unknown"])]
#[case::not_evicted(disruption("False"), &[])]
#[case::devices(rejection("UnexpectedAdmissionError"), &["E RejectedByNode unknown"])]
#[case::resource(rejection("OutOfnvidia.com/gpu"), &["E RejectedByNode unknown"])]
#[case::affinity(rejection("NodeAffinity"), &["E RejectedByNode unknown"])]
#[case::topology(rejection("TopologyAffinityError"), &["E RejectedByNode unknown"])]
#[case::pressure(rejection("Evicted"), &["E RejectedByNode unknown"])]
#[case::reason_of_a_future_kubelet(rejection("SomethingElse"), &["E RejectedByNode unknown"])]
#[case::no_reason(rejection(""), &[])]
#[case::no_node(without_node(rejection("Evicted")), &[])]
#[case::evicted_after_it_ran(with(rejection("Evicted"), ran()), &[])]
#[case::another_failure(rejection("DeadlineExceeded"), &[])]
#[case::without_owner(json!({"metadata": {"ownerReferences": null}, "status": {"phase": "Failed", "reason": "NodeAffinity"}}), &["E RejectedByNode no"])]
fn lost_pods(#[case] patch: Value, #[case] expected: &[&str]) {
    check(&job_with(2, patch.clone()), expected);
    // A newer pod with the same role and index replaces it.
    let replacement =
        with(rank(1), json!({"metadata": {"uid": "new", "name": "llama-worker-0-new", "creationTimestamp": ago(50)}}));
    let mut pods = job_with(2, patch);
    pods.push(replacement);
    check(&pods, &[]);
}

#[test]
fn a_pod_that_its_kubelet_evicts_is_not_called_rejected() {
    let message = |reason| report(&job_with(2, rejection(reason))).diagnoses[0].finding.message.to_string();
    assert_eq!(message("Evicted"), "worker-0 was evicted by the kubelet of node-1, so 1 other pod of the job waits");
    let rejected = "worker-0 was rejected by the kubelet of node-1, so 1 other pod of the job waits";
    assert_eq!(message("TopologyAffinityError"), rejected);
}

fn with_condition(kind: &str, status: &str) -> Value {
    let mut node = node("node-1");
    let condition = json!({"type": kind, "status": status, "reason": "R", "lastTransitionTime": ago(60)});
    node["status"]["conditions"].as_array_mut().unwrap().push(condition);
    node
}

fn with_taint(key: &str) -> Value {
    with(node("node-1"), json!({"spec": {"taints": [{"key": key, "value": "true", "effect": "NoSchedule"}]}}))
}

fn with_label(value: &str) -> Value {
    with(
        node("node-1"),
        json!({"metadata": {"labels": {"sagemaker.amazonaws.com/node-health-status": value}},
            "spec": {"taints": [{"key": "sagemaker.amazonaws.com/node-health-status", "value": "Unschedulable", "effect": "NoSchedule"}]}}),
    )
}

const UNHEALTHY: &[&str] = &["E AcceleratorUnhealthy no"];

#[rstest]
#[case::xid(with_condition("XidCriticalError", "True"), UNHEALTHY)]
#[case::eks(with_condition("AcceleratedHardwareReady", "False"), UNHEALTHY)]
#[case::eks_healthy(with_condition("AcceleratedHardwareReady", "True"), &[])]
#[case::gpu(with_condition("GpuProblem", "True"), UNHEALTHY)]
#[case::healthy_name(with_condition("GPUHealthy", "False"), UNHEALTHY)]
#[case::unhealthy_name(with_condition("GpuUnhealthy", "True"), UNHEALTHY)]
#[case::no_problem(with_condition("XidCriticalError", "False"), &[])]
#[case::healthy(with_condition("GPUHealthy", "True"), &[])]
#[case::unhealthy_name_without_problem(with_condition("GpuUnhealthy", "False"), &[])]
#[case::setup(with_condition("GPUDriverInstalled", "True"), &[])]
#[case::setup_of_mig(with_condition("GPUMigEnabled", "False"), &[])]
#[case::no_setup(with_condition("GpuUnavailable", "True"), UNHEALTHY)]
#[case::not_ready(with_condition("GpuNotReady", "True"), UNHEALTHY)]
#[case::failed_setup(with_condition("GPUInstalledDriverFailed", "True"), UNHEALTHY)]
#[case::hyperpod_replacement(with_label("UnschedulablePendingReplacement"), &["E AcceleratorUnhealthy unknown"])]
#[case::hyperpod_reboot(with_label("UnschedulablePendingReboot"), &["E AcceleratorUnhealthy unknown"])]
#[case::hyperpod_checks_run(with_label("Unschedulable"), &[])]
#[case::hyperpod_healthy(with_label("Schedulable"), &[])]
#[case::another_condition(with_condition("DiskPressure", "True"), &[])]
#[case::taint(with_taint("example.com/gpu-xid-error"), UNHEALTHY)]
#[case::reserved_node(with_taint("nvidia.com/gpu"), &[])]
#[case::another_fault(with_taint("example.com/disk-fault"), &[])]
fn accelerators(#[case] node_1: Value, #[case] expected: &[&str]) {
    let mut objects = job_with(2, json!({}));
    objects.extend([node("node-0"), node_1]);
    check(&objects, expected);
}
