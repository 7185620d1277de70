//! Ranks without a pod.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{START, ago, event, pytorchjob, rank, waiting, with};
use super::{check, report};

/// Returns the pods of a job of one master and three workers without pod `index`, and its object.
fn job_without(index: usize, patch: Value) -> Vec<Value> {
    let pods = (0..4).filter(|rank| *rank != index).map(rank);
    pods.chain([with(pytorchjob(3), patch)]).collect()
}

fn condition(kind: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": START}]}})
}

const MISSING: &[&str] = &["E RankMissing unknown"];

#[rstest]
#[case::worker(job_without(2, json!({})), MISSING)]
#[case::master(job_without(0, json!({})), MISSING)]
#[case::running(job_without(2, condition("Running")), MISSING)]
#[case::complete(job_without(4, json!({})), &[])]
#[case::suspended(job_without(2, json!({"spec": {"runPolicy": {"suspend": true}}})), &["W JobSuspended no"])]
#[case::succeeded(job_without(2, condition("Succeeded")), &["W WorkersLeft no"])]
#[case::failed(job_without(2, condition("Failed")), &["W WorkersLeft no", "I JobFailed no"])]
#[case::being_deleted(job_without(2, json!({"metadata": {"deletionTimestamp": START}})), &[])]
fn a_rank_has_no_pod(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Changes the first pod.
fn with_pod(patch: Value) -> Vec<Value> {
    let mut objects = job_without(2, json!({}));
    objects[0] = with(objects[0].clone(), patch);
    objects
}

fn nodes(text: &str) -> Vec<Value> {
    with_store(text, "llama-master-0:29400")
}

/// The pods have this number of nodes and this store.
fn with_store(nodes: &str, endpoint: &str) -> Vec<Value> {
    let mut objects = job_without(2, json!({}));
    for pod in &mut objects[..3] {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": nodes},
            {"name": "PET_RDZV_BACKEND", "value": "c10d"}, {"name": "PET_RDZV_ENDPOINT", "value": endpoint}]);
    }
    objects
}

#[rstest]
#[case::young(with_pod(json!({"metadata": {"creationTimestamp": ago(299)}})), &[])]
#[case::settled(with_pod(json!({"metadata": {"creationTimestamp": ago(300)}})), MISSING)]
#[case::elastic(nodes("2:4"), &[])]
#[case::elastic_without_its_store(with_store("2:4", "llama-worker-1:29400"), MISSING)]
#[case::elastic_with_a_store_of_another_job(with_store("2:4", "gpt-worker-1:29400"), &[])]
#[case::elastic_below_its_minimum(nodes("4:8"), MISSING)]
#[case::static_size(nodes("4"), MISSING)]
#[case::without_the_workload(job_without(2, json!({}))[..3].to_vec(), &[])]
fn a_rank_may_be_missing(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn the_message_names_the_missing_pods() {
    let report = report(&job_without(2, json!({})));
    let found = &report.diagnoses[0];
    assert_eq!(found.finding.message, "worker-1 does not exist, so 3 other pods of the job wait");
    assert_eq!(found.evidence[0].value, "3, of which 2 exist");
    assert_eq!(found.waste.map(|waste| waste.accelerator_seconds), Some(24 * 3600));
}

/// Before the newest start of a container, the pod may have existed.
#[test]
fn the_peers_of_a_missing_rank_wait_from_the_newest_start() {
    let restarted =
        json!([{"name": "pytorch", "ready": true, "restartCount": 1, "state": {"running": {"startedAt": ago(600)}}}]);
    let found = report(&with_pod(json!({"status": {"containerStatuses": restarted}}))).diagnoses.remove(0);
    assert_eq!(found.waste.map(|waste| waste.accelerator_seconds), Some(24 * 600));
}

#[test]
fn any_number_of_replicas_has_a_short_message() {
    let patch = json!({"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": i32::MAX}}}});
    let report = report(&job_without(2, patch));
    let message = &report.diagnoses[0].finding.message;
    let start = "worker-1, worker-3, worker-4, worker-5, worker-6, worker-7, worker-8, worker-9 and ";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn a_failure_to_create_the_pod_explains_it() {
    let mut objects = job_without(2, json!({}));
    objects.push(event("PyTorchJob", "llama", "FailedCreatePod", "exceeded quota", 60));
    check(&objects, &["E PodCreationFails unknown"]);
}

/// Returns a pod of a `JobSet` with two roles.
fn jobset_pod(role: &str, index: usize) -> Value {
    let name = format!("js-{role}-{index}");
    let labels = json!({"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/replicatedjob-name": role,
        "jobset.sigs.k8s.io/job-index": "0", "batch.kubernetes.io/job-completion-index": index.to_string(),
        "training.kubeflow.org/job-name": null, "training.kubeflow.org/operator-name": null,
        "training.kubeflow.org/replica-type": null, "training.kubeflow.org/replica-index": null});
    with(
        rank(0),
        json!({"metadata": {"name": name, "uid": name, "labels": labels, "ownerReferences": null,
        "annotations": {"batch.kubernetes.io/job-completion-index": index.to_string(),
            "jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/replicatedjob-name": role}}}),
    )
}

/// Returns the pods of an Indexed Job with these indexes, of `pods` pods, and its object.
fn indexed_job(indexes: &[usize], pods: usize) -> Vec<Value> {
    let of_job = |index: &usize| {
        let labels = json!({"batch.kubernetes.io/job-name": "ij", "batch.kubernetes.io/job-completion-index": index.to_string(),
            "training.kubeflow.org/job-name": null, "training.kubeflow.org/operator-name": null,
            "training.kubeflow.org/replica-type": null, "training.kubeflow.org/replica-index": null});
        let name = format!("ij-{index}-x");
        with(
            rank(0),
            json!({"metadata": {"name": name, "uid": name, "labels": labels, "ownerReferences": null},
            "spec": {"subdomain": "ij"}}),
        )
    };
    let template = json!({"spec": {"containers": [super::objects::main_container()], "subdomain": "ij"}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "team-a", "name": "ij", "creationTimestamp": START},
        "spec": {"completions": pods, "parallelism": pods, "completionMode": "Indexed", "template": template}});
    indexes.iter().map(of_job).chain([job]).collect()
}

#[rstest]
#[case::one(&[0, 1, 3], 4, Some("the pod with index 2 does not exist, so 3 other pods of the job wait"))]
#[case::two(&[0, 2], 4, Some("the pods with the indexes 1, 3 do not exist, so 2 other pods of the job wait"))]
#[case::many(&[0], 12, Some("the pods with the indexes 1, 2, 3, 4, 5, 6, 7, 8 and 3 more do not exist, so 1 other pod of the job waits"))]
#[case::complete(&[0, 1, 2, 3], 4, None)]
fn the_missing_indexes_of_a_job_are_named(
    #[case] indexes: &[usize],
    #[case] pods: usize,
    #[case] message: Option<&str>,
) {
    let report = report(&indexed_job(indexes, pods));
    let found = report.diagnoses.iter().find(|found| found.code.code() == "RankMissing");
    assert_eq!(found.map(|found| &*found.finding.message), message, "{report:?}");
}

/// Returns the pods of a Job, with a change to all of them and to its object.
fn changed(mut objects: Vec<Value>, pod: Value, job: Value) -> Vec<Value> {
    let object = objects.pop().map(|object| with(object, job));
    objects.into_iter().map(|object| with(object, pod.clone())).chain(object).collect()
}

/// The pods of a queue do not wait for each other.
#[rstest]
#[case::group(changed(indexed_job(&[0, 1], 3), json!({}), json!({})), &["E RankMissing unknown"])]
#[case::in_turn(changed(indexed_job(&[1, 5], 3), json!({}), json!({"spec": {"completions": 100}})), &[])]
#[case::own_limits(changed(indexed_job(&[0, 1], 3), json!({"spec": {"subdomain": null}}), json!({"spec": {"backoffLimitPerIndex": 1}})), &[])]
#[case::own_limits_in_a_group(changed(indexed_job(&[0, 1], 3), json!({}), json!({"spec": {"backoffLimitPerIndex": 1}})), &["E RankMissing unknown"])]
fn the_pods_of_a_job_may_be_independent(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[rstest]
#[case::group(json!({}), Some(24))]
#[case::in_turn(json!({"spec": {"completions": 100}}), Some(8))]
fn the_pods_of_a_queue_work_on(#[case] job: Value, #[case] expected: Option<u64>) {
    let mut objects = changed(indexed_job(&[0, 1, 2], 3), json!({}), job);
    objects[1] = with(objects[1].clone(), waiting("ImagePullBackOff", ""));
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.waste.map(|waste| waste.accelerators), expected, "{found:?}");
}

#[test]
fn roles_of_a_jobset_may_start_in_order() {
    let template = json!({"spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed",
        "template": {"spec": {"containers": [super::objects::main_container()]}}}});
    let role = |name: &str| json!({"name": name, "replicas": 1, "template": template});
    let jobset = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"namespace": "team-a", "name": "js", "creationTimestamp": START},
        "spec": {"replicatedJobs": [role("first"), role("second")]}});
    check(&[jobset_pod("first", 0), jobset_pod("first", 1), jobset.clone()], &[]);
    check(&[jobset_pod("first", 0), jobset], MISSING);
}

/// Returns the pods of a Ray cluster, of which pod 0 has this type of node, and the cluster.
fn ray(first: &str, patch: Value) -> Vec<Value> {
    let pod = |index: usize| {
        let mut pod = rank(index);
        let node_type = if index == 0 { first } else { "worker" };
        pod["metadata"]["labels"] = json!({"ray.io/is-ray-node": "yes", "ray.io/cluster": "tune", "ray.io/node-type": node_type, "ray.io/group": "gpu"});
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "tune", "controller": true}]);
        pod
    };
    let cluster = json!({"apiVersion": "ray.io/v1", "kind": "RayCluster",
        "metadata": {"namespace": "team-a", "name": "tune", "creationTimestamp": START}});
    vec![pod(0), pod(1), with(cluster, patch)]
}

fn young(mut objects: Vec<Value>) -> Vec<Value> {
    objects[1]["metadata"]["creationTimestamp"] = ago(299).into();
    objects
}

fn deleting(mut objects: Vec<Value>) -> Vec<Value> {
    for pod in &mut objects[..2] {
        pod["metadata"]["deletionTimestamp"] = ago(5).into();
    }
    objects
}

const HEAD_MISSING: &[&str] = &["W RankMissing unknown"];

/// Adds the event of KubeRay about the head that it deleted.
fn head_deleted(mut objects: Vec<Value>, seconds: i64) -> Vec<Value> {
    objects.push(event("RayCluster", "tune", "DeletedHeadPod", "Deleted head Pod team-a/tune-head", seconds));
    objects
}

/// Adds the event of KubeRay about a new head.
fn head_created(mut objects: Vec<Value>, seconds: i64) -> Vec<Value> {
    objects.push(event("RayCluster", "tune", "CreatedHeadPod", "Created head Pod team-a/tune-head", seconds));
    objects
}

/// The head schedules the tasks of all workers.
#[rstest]
#[case::head(ray("head", json!({})), &[])]
#[case::no_head(ray("worker", json!({})), HEAD_MISSING)]
#[case::deleted_head(head_deleted(ray("worker", json!({})), 300), MISSING)]
#[case::head_deleted_a_moment_ago(head_deleted(ray("worker", json!({})), 299), HEAD_MISSING)]
#[case::created_since(head_created(head_deleted(ray("worker", json!({})), 600), 590), HEAD_MISSING)]
#[case::created_before(head_created(head_deleted(ray("worker", json!({})), 600), 3000), MISSING)]
#[case::young(young(ray("worker", json!({}))), &[])]
#[case::deleted(deleting(ray("worker", json!({}))), &[])]
#[case::suspended(ray("worker", json!({"spec": {"suspend": true}})), &["W JobSuspended no"])]
#[case::without_the_cluster(ray("worker", json!({}))[..2].to_vec(), &[])]
fn a_ray_cluster_without_its_head(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// The time since which they wait is that of the event.
#[test]
fn all_accelerators_wait_for_the_head() {
    let found = report(&ray("worker", json!({}))).diagnoses.remove(0);
    assert_eq!(found.finding.message, "the head of the Ray cluster does not exist, so 2 workers wait");
    assert!(found.waste.is_none(), "{found:?}");
    assert!(found.finding.fix.unwrap().contains("recreate the cluster"), "{found:?}");
    let found = report(&head_deleted(ray("worker", json!({})), 600)).diagnoses.remove(0);
    let waste = found.waste.unwrap();
    assert_eq!((waste.accelerators, waste.accelerator_seconds), (16, 16 * 600));
}
