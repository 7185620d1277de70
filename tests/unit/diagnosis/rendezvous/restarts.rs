//! Members that restarted alone, or failed for good.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Diagnosis;

use super::super::objects::{ago, event, with};
use super::super::{check, report};
use super::{job_of, job_with, set};

/// The container started an hour ago, terminated `lost` seconds ago, and runs again since `started` seconds ago.
fn restarted(lost: i64, started: i64) -> Value {
    let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": ago(3600), "finishedAt": ago(lost)});
    json!({"status": {"containerStatuses": [{"name": "pytorch", "ready": true, "restartCount": 1,
        "state": {"running": {"startedAt": ago(started)}}, "lastState": {"terminated": ended}}]}})
}

/// The same, after a first run of `seconds`.
fn restarted_after(seconds: i64) -> Value {
    let mut patch = restarted(300, 290);
    patch["status"]["containerStatuses"][0]["lastState"]["terminated"]["startedAt"] = ago(300 + seconds).into();
    patch
}

/// The pods have the policy `Never`, and the roles of the job `policy`.
fn never(mut objects: Vec<Value>, policy: Option<&str>) -> Vec<Value> {
    for pod in &mut objects[..3] {
        pod["spec"]["restartPolicy"] = "Never".into();
    }
    match policy {
        None => drop(objects.remove(3)),
        Some(policy) => {
            for role in ["Master", "Worker"] {
                objects[3]["spec"]["pytorchReplicaSpecs"][role]["restartPolicy"] = policy.into();
            }
        }
    }
    objects
}

fn backoff(mut objects: Vec<Value>, limit: u64) -> Vec<Value> {
    objects[3]["spec"]["runPolicy"] = json!({"backoffLimit": limit});
    objects
}

fn master() -> Vec<Value> {
    job_with(0, restarted(300, 290))
}

#[rstest]
#[case::master(master(), &["E MasterRestarted yes"])]
#[case::worker(job_with(1, restarted(300, 290)), &["E WorkerRestarted yes"])]
#[case::all(job_of(&restarted(300, 290)), &[])]
#[case::past_twice_the_timeout(job_with(0, restarted(1200, 1190)), &["E MasterRestarted unknown"])]
#[case::before_twice_the_timeout(job_with(0, restarted(1199, 1190)), &["E MasterRestarted yes"])]
#[case::a_moment_ago(job_with(0, restarted(61, 59)), &[])]
#[case::before_the_group_formed(job_with(0, restarted_after(29)), &[])]
#[case::after_the_group_formed(job_with(0, restarted_after(30)), &["E MasterRestarted yes"])]
#[case::never(never(master(), Some("Never")), &["E MasterRestarted no"])]
#[case::exit_code(never(master(), Some("ExitCode")), &["E MasterRestarted yes"])]
#[case::unknown_policy(never(master(), None), &["E MasterRestarted unknown"])]
// One restart of the master, and one of each worker to come.
#[case::backoff_reached(backoff(master(), 3), &["E MasterRestarted no"])]
#[case::backoff_left(backoff(master(), 4), &["E MasterRestarted yes"])]
fn restarts(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn a_staggered_start_is_no_restart() {
    let late = json!({"status": {"containerStatuses": [{"name": "pytorch", "restartCount": 0, "ready": true,
        "state": {"running": {"startedAt": ago(300)}}}]}});
    check(&job_with(0, late), &[]);
}

#[test]
fn members_that_started_after_the_restart_have_joined() {
    let mut objects = master();
    for pod in &mut objects[1..3] {
        *pod = with(pod.clone(), restarted(280, 270));
    }
    check(&objects, &[]);
}

#[test]
fn peers_are_idle_since_the_restart() {
    let report = report(&master());
    let waste = report.diagnoses[0].waste.unwrap();
    assert_eq!((waste.accelerators, waste.accelerator_seconds), (24, 24 * 300));
    assert_eq!(report.diagnoses[0].finding.message, "master-0 restarted, and worker-0, worker-1 did not");
}

/// Returns the job whose member `index` was created `seconds` ago, while the others have run for an hour.
fn recreated(index: usize, seconds: i64) -> Vec<Value> {
    let running = json!({"running": {"startedAt": ago(seconds - 10)}});
    let status = json!([{"name": "pytorch", "restartCount": 0, "ready": true, "state": running}]);
    job_with(index, json!({"metadata": {"creationTimestamp": ago(seconds)}, "status": {"containerStatuses": status}}))
}

#[test]
fn a_recreated_master_is_recognized_by_its_events_or_the_condition_of_the_job() {
    let recreated = || recreated(0, 3001);
    check(&recreated(), &[]);
    let killed = event("Pod", "llama-master-0", "Killing", "Stopping container pytorch", 3011);
    check(&[recreated(), vec![killed]].concat(), &["E MasterRestarted unknown"]);
    let started = event("Pod", "llama-master-0", "Started", "", 2991);
    check(&[recreated(), vec![started]].concat(), &[]);
    let mut objects = recreated();
    objects[3]["status"] = json!({"conditions": [{"type": "Restarting", "status": "False"}]});
    check(&objects, &["E MasterRestarted unknown"]);
}

/// A member without accelerators, whose group uses Gloo.
fn without_accelerators(mut objects: Vec<Value>) -> Vec<Value> {
    for pod in &mut objects[..3] {
        pod["spec"]["containers"][0]["resources"] = json!({});
    }
    objects
}

/// Peers that have run for longer than their first connection may take had a group before.
#[rstest]
#[case::master(recreated(0, 300), &["W MasterRestarted yes"])]
#[case::worker(recreated(1, 300), &["W WorkerRestarted yes"])]
#[case::after_the_timeout(recreated(0, 3000), &["W MasterRestarted unknown"])]
#[case::within_the_timeout(recreated(0, 3001), &[])]
#[case::after_that_of_gloo(without_accelerators(recreated(0, 1800)), &["W MasterRestarted unknown"])]
#[case::within_that_of_gloo(without_accelerators(recreated(0, 1801)), &[])]
fn a_recreated_member_is_recognized_by_its_age(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns the failed pod of member `index`, which ran for `seconds` until `end` seconds ago.
fn former(index: usize, seconds: i64, end: i64) -> Value {
    let ended = json!({"terminated": {"exitCode": 1, "startedAt": ago(end + seconds), "finishedAt": ago(end)}});
    let status = json!([{"name": "pytorch", "restartCount": 0, "state": ended}]);
    let pod = super::member(index);
    let name = format!("{}-former", pod["metadata"]["name"].as_str().unwrap());
    with(pod, json!({"metadata": {"name": name}, "status": {"phase": "Failed", "containerStatuses": status}}))
}

#[test]
fn a_recreated_member_is_recognized_by_its_former_pod() {
    let with_former = |seconds: i64| [recreated(0, 3300), vec![former(0, seconds, 3310)]].concat();
    check(&with_former(30), &["E MasterRestarted unknown"]);
    check(&with_former(29), &[]);
    let report = report(&with_former(30));
    assert_eq!(report.diagnoses[0].evidence[0].value, "replaces llama-master-0-former");
}

/// A running pod of the same position belongs to another Job of the role.
#[rstest]
#[case::runs(json!({}), false)]
#[case::is_deleted(json!({"metadata": {"deletionTimestamp": ago(10)}}), true)]
fn a_former_pod_is_finished_or_deleted(#[case] patch: Value, #[case] expected: bool) {
    let mut other = former(0, 100, 3310);
    let ended = other["status"]["containerStatuses"][0]["state"].take();
    let running = json!({"running": {"startedAt": ago(3305)}});
    let status = json!([{"name": "pytorch", "restartCount": 1, "lastState": ended, "state": running}]);
    other = with(other, json!({"status": {"phase": "Running", "containerStatuses": status}}));
    let found = report(&[recreated(0, 3300), vec![with(other, patch)]].concat());
    let replaces = |found: &Diagnosis| found.evidence.iter().any(|evidence| evidence.value.starts_with("replaces"));
    assert_eq!(found.diagnoses.iter().any(replaces), expected, "{found:#?}");
}

/// The peers were recreated before the master, because they failed first.
#[test]
fn members_that_all_were_recreated_have_joined() {
    let mut objects = recreated(0, 3300);
    (objects[1], objects[2]) = (recreated(1, 3400)[1].clone(), recreated(2, 3400)[2].clone());
    let former = [former(0, 100, 3310), former(1, 100, 3410), former(2, 100, 3410)];
    check(&[objects, former.to_vec()].concat(), &[]);
}

/// The groups of other kinds do not depend on the variables of PyTorch.
#[rstest]
#[case::parameter_servers(json!({"training.kubeflow.org/operator-name": "tfjob-controller"}))]
#[case::ray(json!({"ray.io/is-ray-node": "yes", "ray.io/cluster": "llama", "training.kubeflow.org/job-name": null}))]
#[case::several_groups(json!({"leaderworkerset.sigs.k8s.io/name": "llama", "training.kubeflow.org/job-name": null}))]
fn other_kinds(#[case] labels: Value) {
    let mut objects = master();
    objects.retain(|object| object["kind"] != "PyTorchJob");
    objects[1] = set(objects[1].clone(), &[("MASTER_PORT", "29500")]);
    check(&objects, &["E SettingsDiffer no", "E MasterRestarted yes"]);
    for pod in &mut objects[..3] {
        *pod = with(pod.take(), json!({"metadata": {"labels": labels, "ownerReferences": null}}));
    }
    check(&objects, &[]);
}

#[test]
fn agents_with_a_dynamic_rendezvous_form_a_new_group() {
    let mut objects = job_with(2, restarted(300, 290));
    for pod in &mut objects[..3] {
        *pod = set(pod.clone(), &[("PET_RDZV_BACKEND", "c10d"), ("PET_RDZV_ENDPOINT", "llama-master-0:23456")]);
    }
    check(&objects, &[]);
}

fn failed(code: i64, seconds: i64) -> Value {
    let state = json!({"terminated": {"exitCode": code, "reason": "Error", "startedAt": ago(3600), "finishedAt": ago(seconds)}});
    json!({"spec": {"restartPolicy": "Never"}, "status": {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": state}]}})
}

#[rstest]
#[case::never(never(job_with(1, failed(1, 60)), Some("Never")), &["E RankFailed no"])]
#[case::exit_code(never(job_with(1, failed(134, 60)), Some("ExitCode")), &["E RankFailed unknown"])]
#[case::unknown_policy(never(job_with(1, failed(1, 60)), None), &["E RankFailed unknown"])]
#[case::a_moment_ago(never(job_with(1, failed(1, 59)), Some("Never")), &[])]
#[case::success(never(job_with(1, failed(0, 600)), Some("Never")), &[])]
#[case::all(never(job_of(&failed(1, 600)), Some("Never")), &[])]
fn failures(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn a_failed_rank_that_was_replaced_has_restarted() {
    let mut objects = never(job_with(1, failed(1, 600)), Some("ExitCode"));
    let new = with(
        super::member(1),
        json!({"metadata": {"name": "llama-worker-0b", "creationTimestamp": ago(590)},
        "status": {"containerStatuses": [{"name": "pytorch", "ready": true, "state": {"running": {"startedAt": ago(580)}}}]}}),
    );
    objects[1] = with(objects[1].clone(), json!({"metadata": {"creationTimestamp": ago(7200)}}));
    check(&objects.into_iter().chain([new]).collect::<Vec<_>>(), &["E WorkerRestarted yes"]);
}

/// Returns the job whose worker has restarted `count` times, and whose other members have these variables.
fn restarted_worker(count: u64, variables: &[(&str, &str)]) -> Vec<Value> {
    let mut objects = job_with(1, restarted(300, 290));
    objects[1]["status"]["containerStatuses"][0]["restartCount"] = count.into();
    for index in [0, 2] {
        objects[index] = set(objects[index].take(), variables);
    }
    objects
}

const UNWATCHED: (&str, &str) = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0");

/// The peers rejoin only if something aborts their operation.
#[rstest]
#[case::watchdog(restarted_worker(1, &[]), "yes", None)]
#[case::disabled(restarted_worker(1, &[UNWATCHED]), "no", Some("TORCH_NCCL_ASYNC_ERROR_HANDLING=0"))]
#[case::former_name(restarted_worker(1, &[("NCCL_ASYNC_ERROR_HANDLING", "0")]), "no", Some("NCCL_ASYNC_ERROR_HANDLING=0"))]
#[case::newer_name(restarted_worker(1, &[("NCCL_ASYNC_ERROR_HANDLING", "0"), ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3")]), "yes", None)]
#[case::blocking(restarted_worker(1, &[UNWATCHED, ("TORCH_NCCL_BLOCKING_WAIT", "1")]), "yes", None)]
#[case::gloo(without_accelerators(restarted_worker(1, &[])), "unknown", None)]
#[case::two_restarts(restarted_worker(2, &[]), "yes", Some("exit code 1, 2 restarts"))]
#[case::three_restarts(restarted_worker(3, &[]), "unknown", Some("exit code 1, 3 restarts"))]
fn peers_that_are_aborted(#[case] objects: Vec<Value>, #[case] recovers: &str, #[case] value: Option<&str>) {
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!((found.code.code(), found.recovery.recovers().name()), ("WorkerRestarted", recovers));
    let has_value = |value: &str| found.evidence.iter().any(|evidence| evidence.value == value);
    assert!(value.is_none_or(has_value), "{found:?}");
}

const PROBED: &str = "the kubelet restarts a container whose probe fails";
const NOT_PROBED: &str = "find out why it terminated";

/// The kubelet terminates a container soon after its probe failed. A readiness probe restarts nothing.
#[rstest]
#[case::liveness("Liveness probe failed", "pytorch", 310, json!({"exitCode": 137}), PROBED, true)]
#[case::startup("Startup probe failed", "pytorch", 300, json!({"exitCode": 143}), PROBED, true)]
#[case::readiness("Readiness probe failed", "pytorch", 310, json!({"exitCode": 137}), NOT_PROBED, true)]
#[case::long_before("Liveness probe failed", "pytorch", 421, json!({"exitCode": 137}), NOT_PROBED, true)]
#[case::after_it("Liveness probe failed", "pytorch", 299, json!({"exitCode": 137}), NOT_PROBED, true)]
#[case::own_exit_code("Liveness probe failed", "pytorch", 310, json!({"exitCode": 1}), NOT_PROBED, true)]
#[case::out_of_memory("Liveness probe failed", "pytorch", 310, json!({"exitCode": 137, "reason": "OOMKilled"}), NOT_PROBED, true)]
#[case::another_container("Liveness probe failed", "fluent-bit", 310, json!({"exitCode": 137}), NOT_PROBED, false)]
fn probes_of_a_member_that_restarted(
    #[case] message: &str,
    #[case] container: &str,
    #[case] seconds: i64,
    #[case] end: Value,
    #[case] fix: &str,
    #[case] is_evidence: bool,
) {
    let mut objects = restarted_worker(1, &[]);
    let ended = &mut objects[1]["status"]["containerStatuses"][0]["lastState"]["terminated"];
    *ended = with(ended.clone(), end);
    let path = json!({"involvedObject": {"fieldPath": format!("spec.containers{{{container}}}")}});
    objects.push(with(event("Pod", "llama-worker-0", "Unhealthy", message, seconds), path));
    let report = report(&objects);
    let found = report.diagnoses.iter().find(|found| found.code.code() == "WorkerRestarted").unwrap();
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    assert_eq!(found.evidence.iter().any(|evidence| evidence.value == message), is_evidence, "{found:?}");
}
