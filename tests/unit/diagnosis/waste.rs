//! Accelerators that are idle.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{ago, event, job_with, main_status, node, rank, rank_of, waiting, with};
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

fn elastic(pods: Vec<Value>) -> Vec<Value> {
    let change = |mut pod: Value| {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": "2:4"}]);
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
#[case::elastic(elastic(pulls()), Some((8, 8 * HOUR)))]
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
