//! Accelerators that are idle.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Diagnosis;

use super::objects::{START, ago, event, job_with, main_status, node, rank, rank_of, unscheduled, waiting, with};
use super::report;

const HOUR: u64 = 3600;

/// All four pods of 8 GPUs have been idle since they got their nodes.
fn pulls() -> Vec<Value> {
    job_with(4, waiting("ImagePullBackOff", ""))
}

/// The first pod, and not the second one, waits for its image.
fn head_pulls() -> Vec<Value> {
    let mut pods = job_with(4, json!({}));
    pods[0] = with(pods[0].clone(), waiting("ImagePullBackOff", ""));
    pods
}

fn crashes() -> Vec<Value> {
    let last = json!({"terminated": {"exitCode": 1, "finishedAt": ago(600)}});
    let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    job_with(4, main_status(json!({"restartCount": 9, "lastState": last, "state": state})))
}

/// Ray schedules tasks to the other pods.
fn of_ray(pods: Vec<Value>) -> Vec<Value> {
    let labels = |index: usize| {
        json!({"ray.io/is-ray-node": "yes", "ray.io/cluster": "tune", "ray.io/node-type": if index == 0 { "head" } else { "worker" },
            "ray.io/group": "workers"})
    };
    let change = |(index, mut pod): (usize, Value)| {
        pod["metadata"]["labels"] = labels(index);
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "tune", "controller": true}]);
        pod
    };
    pods.into_iter().enumerate().map(change).collect()
}

/// One pod has failed, for no cause with a finding of its own.
fn failed(index: usize) -> Vec<Value> {
    let end = json!({"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(600)}});
    let mut pods = job_with(4, json!({}));
    let state = with(main_status(json!({"state": end})), json!({"status": {"phase": "Failed"}}));
    pods[index] = with(pods[index].clone(), state);
    pods
}

/// The pods of a group of a `LeaderWorkerSet`.
fn of_leader(pods: Vec<Value>) -> Vec<Value> {
    let change = |(index, mut pod): (usize, Value)| {
        pod["metadata"]["labels"] = json!({"leaderworkerset.sigs.k8s.io/name": "serve",
            "leaderworkerset.sigs.k8s.io/group-index": "0",
            "leaderworkerset.sigs.k8s.io/worker-index": index.to_string()});
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet", "name": "serve", "controller": true}]);
        pod
    };
    pods.into_iter().enumerate().map(change).collect()
}

fn with_metadata(mut pod: Value, metadata: Value) -> Value {
    pod["metadata"] = metadata;
    pod
}

/// Adds the pod that the operator creates after one has failed.
fn with_new(mut pods: Vec<Value>, index: usize, state: Value) -> Vec<Value> {
    let labels = pods[index]["metadata"]["labels"].clone();
    let owners = pods[index]["metadata"]["ownerReferences"].clone();
    let metadata = json!({"namespace": "team-a", "name": "new", "uid": "new", "creationTimestamp": ago(590), "labels": labels,
        "ownerReferences": owners});
    pods.push(with(with_metadata(rank(9), metadata), state));
    pods
}

fn deleting(mut pods: Vec<Value>, index: usize) -> Vec<Value> {
    pods[index]["metadata"]["deletionTimestamp"] = ago(5).into();
    pods
}

/// The pod that submits the job to the cluster.
fn with_failed_submitter(pods: Vec<Value>) -> Vec<Value> {
    let labels = json!({"ray.io/originated-from-cr-name": "tune", "ray.io/originated-from-crd": "RayJob"});
    let owners = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "tune", "controller": true}]);
    let metadata = json!({"namespace": "team-a", "name": "submitter", "uid": "submitter", "creationTimestamp": START, "labels": labels,
        "ownerReferences": owners});
    let job = json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"namespace": "team-a", "name": "tune", "creationTimestamp": START}});
    let cluster = json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"namespace": "team-a", "name": "tune", "creationTimestamp": START,
        "ownerReferences": [{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "tune", "controller": true}]}});
    [pods, vec![with_metadata(failed(0).remove(0), metadata), job, cluster]].concat()
}

/// A second group, which is newer and runs.
fn with_group(pods: Vec<Value>) -> Vec<Value> {
    let change = |mut pod: Value| {
        let name = format!("{}-1", pod["metadata"]["name"].as_str().unwrap());
        pod["metadata"]["name"] = name.into();
        pod["metadata"]["creationTimestamp"] = ago(590).into();
        pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"] = "1".into();
        pod
    };
    pods.into_iter().chain(of_leader(job_with(4, json!({}))).into_iter().map(change)).collect()
}

/// The other three pods of 8 GPUs wait for the head since its end. A finished pod holds no accelerators.
#[rstest]
#[case::head(of_ray(failed(0)), &[Some((24, 24 * 600))])]
#[case::worker(of_ray(failed(1)), &[None])]
#[case::leader_worker_set(of_leader(failed(2)), &[None])]
#[case::another_group_is_newer(with_group(of_leader(failed(2))), &[None])]
#[case::new_head_runs(with_new(of_ray(failed(0)), 0, json!({})), &[])]
#[case::new_head_is_pending(with_new(of_ray(failed(0)), 0, unscheduled(&ago(590))), &[])]
#[case::new_worker_runs(with_new(of_ray(failed(1)), 1, json!({})), &[])]
#[case::new_worker_is_pending(with_new(of_ray(failed(1)), 1, unscheduled(&ago(590))), &[])]
#[case::worker_of_another_role_is_newer(with_new(of_ray(failed(0)), 1, json!({})), &[Some((32, 32 * 600))])]
#[case::head_is_being_deleted(deleting(of_ray(failed(0)), 0), &[])]
#[case::submitter(with_failed_submitter(of_ray(job_with(4, json!({})))), &[])]
fn a_pod_of_a_cluster_has_failed(#[case] objects: Vec<Value>, #[case] expected: &[Option<(u64, u64)>]) {
    let report = report(&objects);
    let found: Vec<&Diagnosis> = report.diagnoses.iter().filter(|found| found.code.code() == "RankFailed").collect();
    let waste = |found: &&Diagnosis| found.waste.map(|waste| (waste.accelerators, waste.accelerator_seconds));
    assert_eq!(found.iter().map(waste).collect::<Vec<_>>(), expected, "{:#?}", report.diagnoses);
    let fixes_job = |found: &&Diagnosis| found.finding.fix.is_some_and(|fix| fix.contains("recreate the job"));
    assert!(!found.iter().any(fixes_job), "{found:#?}");
}

/// torchrun needs two of the four pods, and the one with this name, which has the store.
fn elastic(pods: Vec<Value>, host: &str) -> Vec<Value> {
    let change = |mut pod: Value| {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": "2:4"},
            {"name": "PET_RDZV_BACKEND", "value": "c10d"}, {"name": "PET_RDZV_ENDPOINT", "value": format!("{host}:29400")}]);
        pod
    };
    pods.into_iter().map(change).collect()
}

fn with_finished(pods: Vec<Value>) -> Vec<Value> {
    pods.into_iter().chain([with(rank(4), json!({"status": {"phase": "Succeeded"}}))]).collect()
}

/// The pod that waits replaces another one, with which the job worked for most of the hour.
fn replacing(pods: Vec<Value>) -> Vec<Value> {
    let change = |mut pod: Value| {
        if pod.to_string().contains("ImagePullBackOff") {
            pod["metadata"]["creationTimestamp"] = ago(600).into();
        }
        pod
    };
    pods.into_iter().map(change).collect()
}

/// The node of worker 0 does not exist any more. `ready` is the condition of its pod since some seconds.
fn gone(ready: Option<(&str, i64)>, events: Vec<Value>) -> Vec<Value> {
    let condition =
        ready.map(|(status, seconds)| json!([{"type": "Ready", "status": status, "lastTransitionTime": ago(seconds)}]));
    let pods = job_with(4, json!({"status": {"conditions": condition}}));
    [pods, [0, 2, 3].map(|index| node(&format!("node-{index}"))).to_vec(), events].concat()
}

fn departed(object: (&str, &str), reason: &str, seconds: i64) -> Value {
    event(object.0, object.1, reason, "", seconds)
}

const NODE: (&str, &str) = ("Node", "node-1");

#[rstest]
#[case::unready(gone(Some(("False", 120)), vec![]), Some((32, 32 * 120)))]
#[case::deleted(gone(Some(("True", 3600)), vec![departed(NODE, "DeletingNode", 120)]), Some((32, 32 * 120)))]
#[case::silent_and_then_deleted(gone(None, vec![departed(NODE, "DeletingNode", 120), departed(NODE, "NodeNotReady", 180)]), Some((32, 32 * 180)))]
#[case::event_of_the_pod(gone(None, vec![departed(("Pod", "llama-worker-0"), "NodeNotReady", 60)]), Some((32, 32 * 60)))]
#[case::another_node(gone(None, vec![departed(("Node", "node-2"), "DeletingNode", 120)]), None)]
#[case::before_the_pod(gone(None, vec![departed(NODE, "DeletingNode", 3601)]), None)]
#[case::never_ready(gone(Some(("False", 3600)), vec![]), None)]
#[case::not_known(gone(None, vec![]), None)]
fn a_node_is_gone(#[case] objects: Vec<Value>, #[case] expected: Option<(u64, u64)>) {
    let report = report(&objects);
    let found = &report.diagnoses[0];
    let waste = found.waste.map(|waste| (waste.accelerators, waste.accelerator_seconds));
    assert_eq!((found.code.code(), waste), ("NodeNotReporting", expected), "{found:#?}");
}

#[rstest]
#[case::peers_wait(pulls(), Some((32, 32 * HOUR)))]
#[case::since_a_pod_was_replaced(replacing(pulls()), Some((32, 32 * 600)))]
#[case::since_the_crash(crashes(), Some((32, 32 * 600)))]
#[case::ray(of_ray(pulls()), Some((8, 8 * HOUR)))]
#[case::head_of_ray(of_ray(head_pulls()), Some((32, 32 * HOUR)))]
#[case::elastic(elastic(pulls(), "llama-master-0"), Some((8, 8 * HOUR)))]
#[case::elastic_without_its_store(elastic(pulls(), "llama-worker-0"), Some((32, 32 * HOUR)))]
#[case::elastic_without_its_store_since_a_crash(elastic(crashes(), "llama-worker-0"), Some((32, 32 * 600)))]
#[case::other_jobs_work(pulls().into_iter().chain([rank_of("gpt", 0)]).collect(), Some((32, 32 * HOUR)))]
#[case::finished_pods_hold_nothing(with_finished(pulls()), Some((32, 32 * HOUR)))]
#[case::no_accelerators(
    job_with(2, waiting("ImagePullBackOff", "")).into_iter().map(|mut pod| { pod["spec"]["containers"][0]["resources"] = json!({}); pod }).collect(),
    None
)]
fn idle_accelerators(#[case] pods: Vec<Value>, #[case] expected: Option<(u64, u64)>) {
    let report = report(&pods);
    let waste = report.diagnoses[0].waste.map(|waste| (waste.accelerators, waste.accelerator_seconds));
    assert_eq!(waste, expected, "{:#?}", report.diagnoses[0]);
}

#[test]
fn the_most_expensive_finding_of_a_severity_is_the_first() {
    let cheap = with(rank_of("a", 0), waiting("ImagePullBackOff", ""));
    let expensive: Vec<Value> = pulls();
    let report = report(&[vec![cheap], expensive].concat());
    let workloads: Vec<&str> = report.diagnoses.iter().map(|found| found.workload.name.as_str()).collect();
    assert_eq!(workloads, ["llama", "a"]);
}
