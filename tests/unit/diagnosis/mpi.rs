//! MPI jobs.

use rstest::rstest;
use serde_json::{Value, json};

use super::check;
use super::objects::{START, ago, with};

/// Returns a pod of the job: the launcher, or worker `index`.
fn pod(role: &str, index: usize) -> Value {
    let name = format!("mpi-{role}-{index}");
    let owner = if role == "launcher" {
        json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "mpi-launcher", "controller": true}])
    } else {
        json!([{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "mpi", "controller": true}])
    };
    let resources = if role == "launcher" { json!({}) } else { json!({"limits": {"nvidia.com/gpu": 4}}) };
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "team-a", "name": name, "creationTimestamp": START, "ownerReferences": owner,
            "labels": {"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "mpi",
                "training.kubeflow.org/job-role": role, "training.kubeflow.org/replica-index": index.to_string()}},
        "spec": {"nodeName": format!("node-{index}"), "restartPolicy": "OnFailure", "containers": [{"name": "mpi", "resources": resources}]},
        "status": {"phase": "Running", "startTime": START,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": START}, {"type": "Ready", "status": "True", "lastTransitionTime": START}],
            "containerStatuses": [{"name": "mpi", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": START}}}]}})
}

/// Returns the job with two workers, and its Service.
fn job() -> Vec<Value> {
    let replica = |count: usize| json!({"replicas": count, "template": {"spec": {"containers": [{"name": "mpi"}]}}});
    let object = json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob",
        "metadata": {"namespace": "team-a", "name": "mpi", "creationTimestamp": START},
        "spec": {"slotsPerWorker": 4, "mpiReplicaSpecs": {"Launcher": replica(1), "Worker": replica(2)}}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "mpi"},
        "spec": {"clusterIP": "None", "selector": {"training.kubeflow.org/job-name": "mpi"}}});
    vec![pod("launcher", 0), pod("worker", 0), pod("worker", 1), object, service]
}

/// Returns the job after a change to object `index`.
fn job_with(index: usize, patch: Value) -> Vec<Value> {
    let mut objects = job();
    objects[index] = with(objects[index].clone(), patch);
    objects
}

#[rstest]
#[case::fewer(3, &[])]
#[case::same(4, &[])]
#[case::more(5, &["W SlotsExceedAccelerators no"])]
fn ranks_of_a_worker(#[case] slots: u64, #[case] expected: &[&str]) {
    check(&job_with(3, json!({"spec": {"slotsPerWorker": slots}})), expected);
}

fn not_ready(seconds: i64) -> Value {
    json!({"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ago(seconds)}]}})
}

#[rstest]
#[case::not_ready(job_with(1, not_ready(120)), &["E WorkersUnreachable unknown"])]
#[case::a_moment(job_with(1, not_ready(119)), &[])]
#[case::no_service(job_with(4, json!({"metadata": {"name": "other"}})), &["E WorkersUnreachable unknown"])]
#[case::no_services_in_the_snapshot(job()[..4].to_vec(), &[])]
fn workers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn a_service_may_publish_workers_that_are_not_ready() {
    let mut objects = job_with(1, not_ready(600));
    objects[4]["spec"]["publishNotReadyAddresses"] = true.into();
    check(&objects, &[]);
}

fn launcher_finished(seconds: i64) -> Value {
    let state = json!({"terminated": {"exitCode": 0, "startedAt": START, "finishedAt": ago(seconds)}});
    json!({"status": {"phase": "Succeeded", "containerStatuses": [{"name": "mpi", "state": state}]}})
}

fn condition(kind: &str, seconds: i64) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": ago(seconds)}]}})
}

#[rstest]
#[case::launcher(job_with(0, launcher_finished(120)), &["W WorkersLeft no"])]
#[case::a_moment(job_with(0, launcher_finished(119)), &[])]
#[case::failed(job_with(3, condition("Failed", 120)), &["W WorkersLeft no"])]
#[case::running(job_with(3, condition("Running", 600)), &[])]
fn workers_after_the_launcher(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Two workers without nodes for 5 minutes wait for a gang, and there is no launcher.
fn gang(policy: &str, minimum: u64) -> Vec<Value> {
    let mut objects = job_with(3, json!({"spec": {"launcherCreationPolicy": policy}}));
    let patch = json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "mpi"}}, "spec": {"nodeName": null},
        "status": {"phase": "Pending", "startTime": null, "containerStatuses": null, "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": ago(300)}]}});
    for pod in &mut objects[1..3] {
        *pod = with(pod.clone(), patch.clone());
    }
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "mpi", "creationTimestamp": START}, "spec": {"minMember": minimum}});
    objects[0] = group;
    objects
}

const PENDING: &str = "W PodsUnschedulable unknown";

#[rstest]
#[case::with_the_launcher(gang("WaitForWorkersReady", 3), &["E LauncherAwaitsGang no", PENDING])]
#[case::workers_only(gang("WaitForWorkersReady", 2), &[PENDING])]
#[case::at_startup(gang("AtStartup", 3), &[PENDING])]
fn launchers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}
