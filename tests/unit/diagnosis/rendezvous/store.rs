//! Stores of torchrun's dynamic rendezvous, and its agents.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::objects::{START, ago, node, rank_of, with};
use super::super::{check, report};
use super::address::{CONNECTION, count_with_logs};
use super::{job_of, job_with, set};

/// Returns the job with a dynamic rendezvous.
pub fn dynamic(objects: Vec<Value>, backend: &str, endpoint: &str) -> Vec<Value> {
    let mut objects = objects;
    for pod in &mut objects[..3] {
        *pod = set(pod.clone(), &[("PET_RDZV_BACKEND", backend), ("PET_RDZV_ENDPOINT", endpoint)]);
    }
    objects
}

/// Returns a pod of etcd with its Service. `state` is that of its container.
fn etcd(image: &str, arguments: &[&str], state: Value, ready: &str, since: i64) -> Vec<Value> {
    let conditions = json!([{"type": "Ready", "status": ready, "lastTransitionTime": ago(since)}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "team-a", "name": "etcd-0", "creationTimestamp": START, "labels": {"app": "etcd"}},
        "spec": {"nodeName": "node-0", "containers": [{"name": "etcd", "image": image, "args": arguments}]},
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [{"name": "etcd", "ready": ready == "True", "state": state}]}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "etcd"},
        "spec": {"clusterIP": "10.96.0.8", "selector": {"app": "etcd"}, "ports": [{"port": 2379}]}});
    vec![pod, service]
}

fn running() -> Value {
    json!({"running": {"startedAt": START}})
}

pub fn with_etcd(image: &str, arguments: &[&str]) -> Vec<Value> {
    let etcd = etcd(image, arguments, running(), "True", 3600);
    [dynamic(job_with(0, json!({})), "etcd-v2", "etcd:2379"), etcd].concat()
}

#[rstest]
#[case::enabled("quay.io/coreos/etcd:v3.4.23", &["--enable-v2=true"], &[])]
#[case::enabled_without_value("quay.io/coreos/etcd:v3.5.1", &["--enable-v2"], &[])]
#[case::disabled("quay.io/coreos/etcd:v3.5.1", &[], &["E EtcdWithoutV2 no"])]
#[case::disabled_by_flag("quay.io/coreos/etcd:v3.5.1", &["--enable-v2=false"], &["E EtcdWithoutV2 no"])]
#[case::removed("registry.k8s.io/etcd:3.6.4-0", &["--enable-v2=true"], &["E EtcdWithoutV2 no"])]
#[case::default("quay.io/coreos/etcd:v3.3.10", &[], &[])]
#[case::no_version("etcd:latest", &[], &[])]
#[case::digest("etcd@sha256:0123", &[], &[])]
#[case::another_program("registry:5000/store:3.6.0", &[], &[])]
fn versions(#[case] image: &str, #[case] arguments: &[&str], #[case] expected: &[&str]) {
    check(&with_etcd(image, arguments), expected);
}

/// The flag may be in a file, or the variable in another object.
#[rstest]
#[case::file(json!({"args": ["--config-file=/etc/etcd/etcd.yaml"]}), &[])]
#[case::file_by_a_variable(json!({"env": [{"name": "ETCD_CONFIG_FILE", "value": "/etc/etcd/etcd.yaml"}]}), &[])]
#[case::config_map(json!({"envFrom": [{"configMapRef": {"name": "etcd"}}]}), &[])]
#[case::key_of_a_config_map(json!({"env": [{"name": "ETCD_ENABLE_V2", "valueFrom": {"configMapKeyRef": {"name": "etcd", "key": "v2"}}}]}), &[])]
#[case::variable(json!({"env": [{"name": "ETCD_ENABLE_V2", "value": "true"}]}), &[])]
#[case::disabled_by_a_variable(json!({"env": [{"name": "ETCD_ENABLE_V2", "value": "false"}]}), &["E EtcdWithoutV2 no"])]
#[case::flag_beside_a_config_map(json!({"args": ["--enable-v2=false"], "envFrom": [{"configMapRef": {"name": "etcd"}}]}), &["E EtcdWithoutV2 no"])]
fn settings_of_etcd(#[case] patch: Value, #[case] expected: &[&str]) {
    let mut objects = with_etcd("quay.io/coreos/etcd:v3.5.1", &[]);
    let container = &mut objects[5]["spec"]["containers"][0];
    *container = with(container.clone(), patch);
    check(&objects, expected);
}

/// Headless Services forward nothing, so that their ports have no effect.
#[rstest]
#[case::forwarded("etcd:2379", "10.96.0.8", &[])]
#[case::not_forwarded("etcd:2380", "10.96.0.8", &["E ServicePortClosed no"])]
#[case::headless("etcd:2380", "None", &[])]
#[case::default("etcd", "10.96.0.8", &[])]
fn ports_of_etcd(#[case] endpoint: &str, #[case] address: &str, #[case] expected: &[&str]) {
    let etcd = etcd("quay.io/coreos/etcd:v3.3.10", &[], running(), "True", 3600);
    let mut objects = [dynamic(job_with(0, json!({})), "etcd-v2", endpoint), etcd].concat();
    objects[6]["spec"]["clusterIP"] = address.into();
    check(&objects, expected);
}

#[rstest]
#[case::not_met(["", ""], 1)]
#[case::met([CONNECTION, CONNECTION], 0)]
fn agents_that_have_met_reach_etcd(#[case] logs: [&str; 2], #[case] expected: usize) {
    let etcd = etcd("quay.io/coreos/etcd:v3.3.10", &[], running(), "True", 3600);
    let objects = [dynamic(job_with(0, json!({})), "etcd-v2", "etcd:2380"), etcd].concat();
    assert_eq!(count_with_logs(&objects, logs, "ServicePortClosed"), expected);
    let fix = report(&objects).diagnoses[0].finding.fix.unwrap();
    assert!(fix.starts_with("correct the port in the endpoint"), "{fix}");
}

/// etcd is not ready since `lost` seconds, and the agents have run for `age`.
pub fn down(lost: i64, age: i64) -> Vec<Value> {
    let state = json!({"waiting": {"reason": "ContainerCreating"}});
    let etcd = etcd("quay.io/coreos/etcd:v3.3.10", &[], state, "False", lost);
    let started = json!({"status": {"containerStatuses": [{"name": "pytorch", "ready": true, "state": {"running": {"startedAt": ago(age)}}}]}});
    let agents = dynamic(job_of(&started), "etcd", "etcd.team-a.svc:2379");
    [agents, etcd].concat()
}

#[test]
fn the_evidence_of_an_etcd_that_terminates_is_its_last_end() {
    let mut objects = down(1740, 3600);
    let status = json!([{"name": "etcd", "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "startedAt": ago(600), "finishedAt": ago(540)}}}]);
    objects[5] = with(objects[5].clone(), json!({"status": {"containerStatuses": status}}));
    let report = report(&objects);
    let found = report.diagnoses.iter().find(|found| found.code.code() == "StoreLost").unwrap();
    let shown = |index: usize| {
        let evidence = &found.evidence[index];
        (&*evidence.field, &*evidence.value, evidence.time.map(|time| time.to_string()))
    };
    assert_eq!(shown(0), ("status.containerStatuses[etcd].state.waiting", "CrashLoopBackOff", None));
    let end = ("status.containerStatuses[etcd].lastState.terminated", "exit code 1", Some(ago(540)));
    assert_eq!(shown(1), end);
    assert!(found.fix().unwrap().contains("kubectl -n team-a logs etcd-0 --previous -c etcd"), "{found:?}");
}

fn never(mut objects: Vec<Value>) -> Vec<Value> {
    for pod in &mut objects[..3] {
        pod["spec"]["restartPolicy"] = "Never".into();
    }
    objects
}

#[rstest]
#[case::before_the_group_formed(down(300, 300), &["E StoreLost yes"])]
#[case::for_longer_than_the_timeout(down(3000, 600), &["E StoreLost unknown"])]
#[case::after_the_group_formed(down(60, 3600), &["E StoreLost yes"])]
#[case::the_agents_should_have_exited(down(120, 3600), &["E StoreLost unknown"])]
#[case::agents_that_are_not_restarted(never(down(60, 3600)), &["E StoreLost no"])]
fn etcd_down(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// All agents have exited without their store, which is down since `lost` seconds, and wait for a restart.
fn crashed(lost: i64, restarts: u64) -> Vec<Value> {
    let ended = json!({"terminated": {"exitCode": 1, "startedAt": ago(lost - 10), "finishedAt": ago(lost - 20)}});
    let status = json!([{"name": "pytorch", "restartCount": restarts, "lastState": ended,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    let mut objects = down(lost, 3600);
    for pod in &mut objects[..3] {
        *pod = with(pod.clone(), json!({"status": {"containerStatuses": status}}));
    }
    objects
}

fn with_limit(mut objects: Vec<Value>, limit: u64) -> Vec<Value> {
    objects[3]["spec"]["runPolicy"]["backoffLimit"] = limit.into();
    objects
}

/// Agents that exit restart until they find their store again, and their crashes are no cause of their own.
#[rstest]
#[case::first_restart(crashed(60, 1), &["E StoreLost yes", "W CrashLoop unknown"])]
#[case::for_long(crashed(1800, 9), &["E StoreLost yes", "W CrashLoop unknown"])]
#[case::restarts_left(with_limit(crashed(1800, 9), 31), &["E StoreLost yes", "W CrashLoop unknown"])]
#[case::restarts_used_up(with_limit(crashed(1800, 9), 30), &["E StoreLost no", "W CrashLoop unknown"])]
fn agents_exit_without_their_store(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Like [`crashed`], but only one of the agents has exited.
fn partly_crashed(lost: i64) -> Vec<Value> {
    let mut objects = down(lost, 3600);
    objects[1] = crashed(lost, 9)[1].clone();
    objects
}

/// One agent that exits does not prove that the monitor of the others works.
#[rstest]
#[case::soon(partly_crashed(60), &["E StoreLost yes", "W CrashLoop unknown"])]
#[case::for_long(partly_crashed(1800), &["E StoreLost unknown", "W CrashLoop unknown"])]
fn one_agent_exits_without_its_store(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn an_etcd_outside_of_the_cluster_is_not_visible() {
    check(&dynamic(job_with(0, json!({})), "etcd", "etcd.example.com:2379"), &[]);
}

#[rstest]
#[case::url("etcd", "http://etcd:2379", &["E StoreLost no"], "remove the scheme")]
#[case::no_service("etcd", "etcd:2379", &["E StoreLost unknown"], "create the Service")]
#[case::url_of_a_member("c10d", "tcp://llama-master-0:29400", &["E StoreLost no"], "remove the scheme")]
fn endpoints(#[case] backend: &str, #[case] endpoint: &str, #[case] expected: &[&str], #[case] fix: &str) {
    let objects = dynamic(job_with(0, json!({})), backend, endpoint);
    check(&objects, expected);
    assert!(report(&objects).diagnoses[0].finding.fix.unwrap().starts_with(fix));
}

#[test]
fn a_missing_service_of_etcd() {
    check(&dynamic(job_with(0, json!({})), "etcd", "etcd:2379"), &["E StoreLost unknown"]);
}

pub fn restarted(lost: i64) -> Value {
    let ended = json!({"exitCode": 1, "startedAt": ago(3600), "finishedAt": ago(lost)});
    json!({"status": {"containerStatuses": [{"name": "pytorch", "ready": true, "restartCount": 1,
        "state": {"running": {"startedAt": ago(lost - 5)}}, "lastState": {"terminated": ended}}]}})
}

#[rstest]
#[case::host(job_with(0, restarted(60)), &["E StoreLost yes"])]
#[case::host_for_long(job_with(0, restarted(120)), &["E StoreLost unknown"])]
#[case::host_never(never(job_with(0, restarted(60))), &["E StoreLost no"])]
#[case::another_member(job_with(1, restarted(60)), &[])]
#[case::all(job_of(&restarted(60)), &[])]
fn c10d(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&dynamic(objects, "c10d", "llama-master-0:23456"), expected);
}

/// Without the store, not even the minimum of nodes is enough.
#[rstest]
#[case::fixed("3")]
#[case::elastic("1:3")]
fn all_accelerators_wait_for_the_store(#[case] nodes: &str) {
    let mut objects = dynamic(job_with(0, restarted(60)), "c10d", "llama-master-0:23456");
    for pod in &mut objects[..3] {
        *pod = set(pod.clone(), &[("PET_NNODES", nodes)]);
    }
    let found = report(&objects).diagnoses.remove(0);
    let waste = found.waste.map(|waste| (waste.accelerators, waste.accelerator_seconds));
    assert_eq!((found.code.code(), waste), ("StoreLost", Some((24, 24 * 60))));
    assert!(found.finding.fix.unwrap().starts_with("find out why the member with the store terminated"), "{found:?}");
}

#[rstest]
#[case::state(
    exited("PET_MAX_RESTARTS", 1),
    "status.containerStatuses[pytorch].state.terminated",
    "exit code 1, 1 restart of the container"
)]
#[case::last_state(
    waits(exited("PET_MAX_RESTARTS", 1)),
    "status.containerStatuses[pytorch].lastState.terminated",
    "exit code 1, 1 restart of the container"
)]
fn the_evidence_is_a_field_of_the_pod(#[case] objects: Vec<Value>, #[case] field: &str, #[case] value: &str) {
    let report = report(&objects);
    let found = report.diagnoses.iter().find(|found| found.code.code() == "RestartsUsedUp").unwrap();
    assert_eq!((&*found.evidence[0].field, &*found.evidence[0].value), (field, value));
}

/// The container of worker 0 waits for its next start.
fn waits(mut objects: Vec<Value>) -> Vec<Value> {
    let status = &mut objects[1]["status"]["containerStatuses"][0];
    status["lastState"] = status["state"].take();
    status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    objects
}

/// The agent of worker 0 exited with `code`.
fn exited(setting: &str, code: i64) -> Vec<Value> {
    let ended = json!({"exitCode": code, "startedAt": ago(3600), "finishedAt": ago(30)});
    let status = json!([{"name": "pytorch", "restartCount": 1, "state": {"terminated": ended}}]);
    let mut objects = job_with(1, json!({"status": {"containerStatuses": status}}));
    objects[1] = set(objects[1].clone(), &[(setting, "3")]);
    objects
}

#[rstest]
#[case::used_up(exited("PET_MAX_RESTARTS", 1), &["W RestartsUsedUp unknown"])]
#[case::for_good(never(exited("PET_MAX_RESTARTS", 1)), &["W RestartsUsedUp no"])]
#[case::killed(exited("PET_MAX_RESTARTS", 137), &[])]
#[case::not_torchrun(exited("MAX_RESTARTS", 1), &[])]
fn agents(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns a pod of `job` in the rendezvous `id`.
fn agent(job: &str, id: Option<&str>, endpoint: &str) -> Vec<Value> {
    let env =
        [Some(("PET_RDZV_BACKEND", "etcd")), Some(("PET_RDZV_ENDPOINT", endpoint)), id.map(|id| ("PET_RDZV_ID", id))];
    let env: Vec<Value> = env.into_iter().flatten().map(|(name, value)| super::variable(name, value)).collect();
    let pod = |index: usize| {
        let mut pod = rank_of(job, index);
        pod["spec"]["containers"][0]["env"] = json!(env);
        pod
    };
    vec![pod(0), pod(1)]
}

#[rstest]
#[case::default_id(agent("a", None, "etcd.example.com:1"), agent("b", None, "etcd.example.com:1"), &["E RendezvousShared no"])]
#[case::same_id(agent("a", Some("x"), "etcd:1"), agent("b", Some("x"), "etcd:1"), &["E RendezvousShared no"])]
#[case::own_ids(agent("a", Some("x"), "etcd:1"), agent("b", Some("y"), "etcd:1"), &[])]
#[case::own_stores(agent("a", Some("x"), "etcd-a:1"), agent("b", Some("x"), "etcd-b:1"), &[])]
#[case::own_ports(agent("a", Some("x"), "etcd:1"), agent("b", Some("x"), "etcd:2"), &[])]
fn two_jobs(#[case] first: Vec<Value>, #[case] second: Vec<Value>, #[case] expected: &[&str]) {
    check(&[first, second].concat(), expected);
}

#[rstest]
#[case::enough("1:3", 1, "E NodeNotReporting yes")]
#[case::too_few("3:4", 1, "E NodeNotReporting unknown")]
#[case::fixed("3", 1, "E NodeNotReporting unknown")]
#[case::that_with_the_store("1:3", 0, "E NodeNotReporting unknown")]
fn a_node_is_lost(#[case] nodes: &str, #[case] lost: usize, #[case] expected: &str) {
    let mut objects = job_with(0, json!({}));
    for pod in &mut objects[..3] {
        *pod = set(
            pod.clone(),
            &[("PET_NNODES", nodes), ("PET_RDZV_BACKEND", "c10d"), ("PET_RDZV_ENDPOINT", "llama-master-0:1")],
        );
    }
    let silent =
        json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": ago(60)}]}});
    objects.extend((0..3).map(|index| {
        let node = node(&format!("node-{index}"));
        if index == lost { with(node, silent.clone()) } else { node }
    }));
    check(&objects, &[expected]);
}

#[rstest]
#[case::default_id(None, "PET_RDZV_ID of container pytorch", "not set, so it is none")]
#[case::own_id(Some("x"), "PET_RDZV_ID of container pytorch", "x")]
fn the_identifier_is_evidence(#[case] id: Option<&str>, #[case] field: &str, #[case] value: &str) {
    let objects = [agent("a", id, "etcd.example.com:1"), agent("b", id, "etcd.example.com:1")].concat();
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!((&*found.evidence[0].field, &*found.evidence[0].value), (field, value));
}
