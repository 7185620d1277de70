//! Accelerators that are idle.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{ago, job_with, main_status, rank, rank_of, waiting, with};
use super::report;

const HOUR: u64 = 3600;

/// All four pods of 8 GPUs have been idle since they got their nodes.
fn pulls() -> Vec<Value> {
    job_with(4, waiting("ImagePullBackOff", ""))
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

#[rstest]
#[case::peers_wait(pulls(), Some((32, 32 * HOUR)))]
#[case::since_a_pod_was_replaced(replacing(pulls()), Some((32, 32 * 600)))]
#[case::since_the_crash(crashes(), Some((32, 32 * 600)))]
#[case::ray(of_ray(pulls()), Some((8, 8 * HOUR)))]
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
