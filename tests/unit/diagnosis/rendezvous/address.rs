//! The path to the master.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, LogName, LogReader, Selection, diagnose};

use super::super::objects::{NOW, START, ago, with};
use super::super::{check, report};
use super::{job_of, job_with, service, set};

/// Returns the job after a change to its Service.
fn service_with(patch: Value) -> Vec<Value> {
    let mut objects = job_with(0, json!({}));
    objects[4] = with(service(), patch);
    objects
}

/// Returns the job with another address of its master.
fn address(host: &str) -> Vec<Value> {
    let mut objects = job_with(0, json!({}));
    for pod in &mut objects[..3] {
        *pod = set(pod.clone(), &[("MASTER_ADDR", host), ("PET_MASTER_ADDR", host)]);
    }
    objects
}

fn without_service() -> Vec<Value> {
    let other = json!({"metadata": {"name": "other"}});
    service_with(other)
}

fn cluster_ip(port: u64, target: Value) -> Vec<Value> {
    service_with(json!({"spec": {"clusterIP": "10.96.0.9", "ports": [{"port": port, "targetPort": target}]}}))
}

#[rstest]
#[case::selects(service_with(json!({})), &[])]
#[case::missing(without_service(), &["E MasterUnresolvable unknown"])]
#[case::no_services_in_the_snapshot(job_with(0, json!({}))[..4].to_vec(), &[])]
#[case::selector(service_with(json!({"spec": {"selector": {"training.kubeflow.org/job-name": "gpt"}}})), &["E ServiceMissesMaster no"])]
#[case::no_selector(service_with(json!({"spec": {"selector": null}})), &[])]
#[case::alias(service_with(json!({"spec": {"type": "ExternalName", "selector": {"a": "b"}}})), &[])]
#[case::another_port_of_a_headless_service(service_with(json!({"spec": {"ports": [{"port": 1}]}})), &[])]
#[case::cluster_ip(cluster_ip(23456, json!(23456)), &[])]
#[case::cluster_ip_with_a_named_port(cluster_ip(23456, json!("pytorchjob-port")), &[])]
#[case::cluster_ip_with_another_port(cluster_ip(29500, json!(23456)), &["E ServicePortClosed no"])]
#[case::cluster_ip_to_another_port(cluster_ip(23456, json!(29500)), &["E ServicePortClosed no"])]
fn services(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns the job without its Service, after the main container of a worker exited with `code`, with a proxy that still runs. `policy` is
/// the restart policy of the pod.
fn ended(code: i64, policy: &str) -> Vec<Value> {
    let mut objects = without_service();
    let mut containers = objects[2]["spec"]["containers"].clone();
    containers.as_array_mut().unwrap().push(json!({"name": "istio-proxy", "image": "istio/proxyv2:1"}));
    let statuses = json!([
        {"name": "pytorch", "state": {"terminated": {"exitCode": code, "startedAt": START, "finishedAt": ago(10)}}},
        {"name": "istio-proxy", "ready": true, "state": {"running": {"startedAt": START}}}]);
    let patch =
        json!({"spec": {"containers": containers, "restartPolicy": policy}, "status": {"containerStatuses": statuses}});
    objects[2] = with(objects[2].clone(), patch);
    objects
}

/// A rank that has completed had found the master.
#[rstest]
#[case::completed(ended(0, "Never"), &[])]
#[case::failed(ended(1, "Never"), &["E MasterUnresolvable unknown"])]
fn members_that_have_met(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

pub const CONNECTION: &str = "node-0:12:40 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n";

const UNRESOLVED: &str = "[W socket.cpp:601] [c10d] The client socket has failed to connect to [llama-master-0]:23456 (errno: -2 - Name or \
    service not known)\n";

/// Only the log of a worker proves that it found the master: it may have restarted after the others had.
#[rstest]
#[case::all([CONNECTION, CONNECTION], 0)]
#[case::one([CONNECTION, ""], 1)]
#[case::of_a_former_run([&format!("{CONNECTION}{UNRESOLVED}"), CONNECTION], 1)]
#[case::after_an_attempt([&format!("{UNRESOLVED}{CONNECTION}"), CONNECTION], 0)]
#[case::none(["", ""], 1)]
fn logs_of_workers(#[case] logs: [&str; 2], #[case] expected: usize) {
    assert_eq!(count_with_logs(&without_service(), logs, "MasterUnresolvable"), expected);
}

/// Returns the number of findings with this code about objects and the logs of both workers.
pub fn count_with_logs(objects: &[Value], logs: [&str; 2], code: &str) -> usize {
    let mut snapshot = ClusterSnapshot::default();
    for object in objects {
        assert!(snapshot.add(object, "default").unwrap());
    }
    for (index, text) in logs.iter().enumerate() {
        let mut reader = LogReader::new(LogName::from_file_stem(&format!("llama-worker-{index}")));
        reader.push(text.as_bytes());
        for log in reader.finish() {
            snapshot.add_log(log).unwrap();
        }
    }
    let report = diagnose(&snapshot, &Selection::default(), NOW.parse().unwrap());
    report.diagnoses.iter().filter(|found| found.code.code() == code).count()
}

#[rstest]
#[case::short("llama-master-0", &[])]
#[case::namespace("llama-master-0.team-a", &[])]
#[case::service("llama-master-0.team-a.svc", &[])]
#[case::complete("llama-master-0.team-a.svc.cluster.local.", &[])]
#[case::missing("llama-master-1", &["E MasterUnresolvable unknown"])]
#[case::missing_complete("llama-master-1.team-a.svc.cluster.local", &["E MasterUnresolvable unknown"])]
#[case::another_namespace("llama-master-0.team-b.svc", &[])]
#[case::outside("master.example.com", &[])]
#[case::own_address("10.0.0.0", &[])]
#[case::another_address("10.0.0.9", &["E MasterUnresolvable no"])]
#[case::loopback("127.0.0.1", &["E MasterUnresolvable no"])]
fn names(#[case] host: &str, #[case] expected: &[&str]) {
    check(&address(host), expected);
}

#[test]
fn all_members_with_the_address_are_named() {
    let found = report(&address("localhost")).diagnoses.remove(0);
    assert_eq!(found.finding.message, "MASTER_ADDR leads worker-0, worker-1 to themselves instead of the master");
    assert_eq!(found.evidence.len(), 2);
    assert!(found.finding.fix.unwrap().starts_with("remove the setting in the evidence"), "{found:?}");
}

/// The Service of a `TrainJob` contains all pods, of which the name selects one.
#[rstest]
#[case::found("llama-0.llama-master-0", "llama-0", &[])]
#[case::with_namespace("llama-0.llama-master-0.team-a", "llama-0", &[])]
#[case::of_another_pod("llama-1.llama-master-0", "llama-0", &["E ServiceMissesMaster no"])]
fn records_of_pods(#[case] host: &str, #[case] hostname: &str, #[case] expected: &[&str]) {
    let mut objects = address(host);
    objects[0] = with(objects[0].clone(), json!({"spec": {"hostname": hostname, "subdomain": "llama-master-0"}}));
    check(&objects, expected);
}

fn not_ready(seconds: i64) -> Value {
    json!({"status": {"conditions": [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": START},
        {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": ago(seconds)}]}})
}

#[rstest]
#[case::not_ready(job_with(0, not_ready(120)), &["E MasterNotReady unknown"])]
#[case::a_moment_ago(job_with(0, not_ready(119)), &[])]
#[case::worker(job_with(1, not_ready(600)), &[])]
fn readiness(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn a_service_may_publish_addresses_that_are_not_ready() {
    let mut objects = job_with(0, not_ready(600));
    objects[4] = with(service(), json!({"spec": {"publishNotReadyAddresses": true}}));
    check(&objects, &[]);
}

/// Adds an init container that has run for `seconds` to worker 0, which has not started.
fn lookup(name: &str, seconds: i64) -> Vec<Value> {
    let statuses = json!([{"name": name, "state": {"running": {"startedAt": ago(seconds)}}}]);
    let waiting = json!([{"name": "pytorch", "state": {"waiting": {"reason": "PodInitializing"}}}]);
    let patch = json!({"spec": {"initContainers": [{"name": name}]}, "status": {"phase": "Pending",
        "initContainerStatuses": statuses, "containerStatuses": waiting}});
    job_with(1, patch)
}

#[rstest]
#[case::lookup(lookup("init-pytorch", 120), &["E MasterLookupFails unknown"])]
#[case::a_moment(lookup("init-pytorch", 119), &[])]
#[case::another_init_container(lookup("download", 600), &["W PodNotStarting unknown"])]
fn lookups(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn messages_count_the_pods() {
    let message = |objects: &[Value]| report(objects).diagnoses[0].finding.message.clone();
    let expected = "worker-0 waits for the name of Service team-a/llama-master-0, which should resolve";
    assert_eq!(message(&lookup("init-pytorch", 120)), expected);
    let mut objects = awaited("ContainerCreating", 120);
    assert_eq!(message(&objects), "worker-0, worker-1 run, and master-0 has not started");
    let recent = json!([{"name": "pytorch", "state": {"running": {"startedAt": ago(60)}}}]);
    objects[2] = with(objects[2].clone(), json!({"status": {"containerStatuses": recent}}));
    assert_eq!(message(&objects), "worker-0 runs, and master-0 has not started");
}

/// The master is starting, and the workers have run for `seconds`.
fn awaited(reason: &str, seconds: i64) -> Vec<Value> {
    let running = json!({"status": {"containerStatuses": [{"name": "pytorch", "state": {"running": {"startedAt": ago(seconds)}}}]}});
    let mut objects = job_of(&running);
    let waiting = json!([{"name": "pytorch", "restartCount": 0, "state": {"waiting": {"reason": reason}}}]);
    let scheduled = json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(300)}]);
    let status = json!({"phase": "Pending", "conditions": scheduled, "containerStatuses": waiting});
    objects[0] = with(objects[0].clone(), json!({"status": status}));
    objects
}

#[rstest]
#[case::first(awaited("ContainerCreating", 120), &["I MasterAwaited yes"])]
#[case::overdue(awaited("ContainerCreating", 600), &["I MasterAwaited unknown"])]
#[case::a_moment(awaited("ContainerCreating", 119), &[])]
#[case::another_finding(awaited("ImagePullBackOff", 600), &["E ImagePullFails unknown"])]
fn workers_first(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}
