//! Ranks that crash because their process group does not form, and those that crash before or for another reason.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::check;
use super::super::objects::{START, ago, with};
use super::store::{down, dynamic, restarted, with_etcd};
use super::{job_of, job_with, service, set};

/// Lets member `index` crash again and again, the last time `seconds` ago.
fn crashing(mut objects: Vec<Value>, index: usize, seconds: i64) -> Vec<Value> {
    let ended = json!({"terminated": {"exitCode": 1, "startedAt": ago(seconds + 10), "finishedAt": ago(seconds)}});
    let status = json!([{"name": "pytorch", "restartCount": 5, "lastState": ended,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    objects[index] = with(objects[index].clone(), json!({"status": {"containerStatuses": status}}));
    objects
}

/// Returns the job in which worker 0 has another value of a setting.
fn worker_sets(name: &str, value: &str) -> Vec<Value> {
    let mut objects = job_with(0, json!({}));
    objects[1] = set(objects[1].clone(), &[(name, value)]);
    objects
}

/// Returns the job after a change to its Service.
fn service_with(patch: Value) -> Vec<Value> {
    let mut objects = job_with(0, json!({}));
    objects[4] = with(service(), patch);
    objects
}

fn without_service() -> Vec<Value> {
    service_with(json!({"metadata": {"name": "other"}}))
}

fn another_selector() -> Vec<Value> {
    service_with(json!({"spec": {"selector": {"training.kubeflow.org/job-name": "gpt"}}}))
}

fn another_port() -> Vec<Value> {
    service_with(json!({"spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 29500, "targetPort": 23456}]}}))
}

/// The master is not ready since ten minutes.
fn not_ready() -> Value {
    json!({"status": {"conditions": [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": START},
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": ago(600)}]}})
}

/// A sidecar of the master crashes, so that the master is not ready.
fn sidecar_crashes() -> Vec<Value> {
    let mut objects = job_with(0, not_ready());
    let master = &mut objects[0];
    master["metadata"]["annotations"] = json!({"trainmesh.dev/helper-containers": "agent"});
    master["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "agent"}));
    let ended = json!({"terminated": {"exitCode": 1, "startedAt": ago(310), "finishedAt": ago(300)}});
    let status = json!({"name": "agent", "restartCount": 5, "lastState": ended, "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
    master["status"]["containerStatuses"].as_array_mut().unwrap().push(status);
    objects
}

const ETCD: &str = "registry.k8s.io/etcd:3.6.4-0";

#[rstest]
#[case::settings(crashing(worker_sets("MASTER_PORT", "29500"), 2, 300), &["E SettingsDiffer no", "W CrashLoop unknown"])]
#[case::ranks(crashing(worker_sets("RANK", "2"), 2, 300), &["E RanksCollide no", "W CrashLoop unknown"])]
#[case::address(crashing(without_service(), 2, 300), &["E MasterUnresolvable unknown", "W CrashLoop unknown"])]
#[case::selector(crashing(another_selector(), 2, 300), &["E ServiceMissesMaster no", "W CrashLoop unknown"])]
#[case::port(crashing(another_port(), 2, 300), &["E ServicePortClosed no", "W CrashLoop unknown"])]
#[case::readiness(crashing(job_with(0, not_ready()), 2, 300), &["E MasterNotReady unknown", "W CrashLoop unknown"])]
#[case::sidecar_of_the_master(sidecar_crashes(), &["E CrashLoop unknown", "W MasterNotReady unknown"])]
#[case::version_of_etcd(crashing(with_etcd(ETCD, &[]), 2, 300), &["E EtcdWithoutV2 no", "W CrashLoop unknown"])]
#[case::restart(crashing(job_of(&json!({})), 2, 300), &["E CrashLoop unknown"])]
fn crashes_without_a_group(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// The member with the store restarted a minute ago.
fn host_restarted() -> Vec<Value> {
    dynamic(job_with(0, restarted(60)), "c10d", "llama-master-0:23456")
}

/// The Service of the etcd does not exist, since an unknown time.
fn without_etcd() -> Vec<Value> {
    dynamic(job_with(0, json!({})), "etcd", "etcd:2379")
}

/// A rank that failed before the store may be the cause.
#[rstest]
#[case::after_etcd(crashing(down(60, 3600), 1, 30), &["E StoreLost yes", "W CrashLoop unknown"])]
#[case::before_etcd(crashing(down(60, 3600), 1, 160), &["E CrashLoop unknown", "E StoreLost yes"])]
#[case::etcd_without_a_service(crashing(without_etcd(), 1, 30), &["E StoreLost unknown", "E CrashLoop unknown"])]
#[case::after_the_host(crashing(host_restarted(), 1, 30), &["E StoreLost yes", "W CrashLoop unknown"])]
#[case::before_the_host(crashing(host_restarted(), 1, 160), &["E CrashLoop unknown", "E StoreLost yes"])]
fn crashes_and_a_lost_store(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}
