//! Settings and ranks of the members.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::objects::{ago, with};
use super::super::{check, report};
use super::{job_with, member, set};

/// Returns the job after a change to the variables of worker 0.
fn worker_sets(variables: &[(&str, &str)]) -> Vec<Value> {
    let mut objects = job_with(1, json!({}));
    objects[1] = set(objects[1].clone(), variables);
    objects
}

/// Returns the job after a change to the command of worker 0.
fn worker_runs(command: &[&str]) -> Vec<Value> {
    let mut objects = job_with(1, json!({}));
    objects[1]["spec"]["containers"][0]["command"] = json!(command);
    objects
}

#[rstest]
#[case::healthy(job_with(1, json!({})), &[])]
#[case::port(worker_sets(&[("MASTER_PORT", "29500")]), &["E SettingsDiffer no"])]
#[case::address(worker_sets(&[("MASTER_ADDR", "llama-worker-1")]), &["E SettingsDiffer no"])]
#[case::world_size(worker_sets(&[("WORLD_SIZE", "4")]), &["E SettingsDiffer no"])]
#[case::the_last_entry_takes_effect(worker_sets(&[("MASTER_PORT", "29500"), ("MASTER_PORT", "23456")]), &[])]
#[case::flag(worker_runs(&["torchrun", "--master_port=29500"]), &["E SettingsDiffer no"])]
#[case::flag_in_a_script(worker_runs(&["sh", "-c", "torchrun --master-port 29500 train.py"]), &["E SettingsDiffer no"])]
#[case::same_flag(worker_runs(&["torchrun", "--master_port=23456"]), &[])]
#[case::flag_replaces_the_variable(with_flags(), &[])]
#[case::assignment(worker_runs(&["sh", "-c", "export MASTER_PORT=29500; python train.py"]), &["E SettingsDiffer no"])]
#[case::computed(worker_runs(&["sh", "-c", "MASTER_PORT=$PORT python train.py"]), &[])]
#[case::new_pod(with_age(worker_sets(&[("MASTER_PORT", "29500")]), 59), &[])]
#[case::rank(worker_sets(&[("RANK", "2")]), &["E RanksCollide no"])]
#[case::rank_too_large(worker_sets(&[("RANK", "3")]), &["E RanksCollide no"])]
#[case::node_rank(worker_sets(&[("PET_NODE_RANK", "2")]), &["E RanksCollide no"])]
#[case::node_rank_too_large(worker_sets(&[("PET_NODE_RANK", "3")]), &["E RanksCollide no"])]
#[case::replaced_pod(replaced(), &[])]
fn members(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// All members use torchrun with the same flag, so that the variable of worker 0 has no effect.
fn with_flags() -> Vec<Value> {
    let mut objects = worker_sets(&[("MASTER_PORT", "29500")]);
    for pod in &mut objects[..3] {
        pod["spec"]["containers"][0]["args"] = json!(["--master_port=23456"]);
    }
    objects
}

fn with_age(objects: Vec<Value>, seconds: i64) -> Vec<Value> {
    let change = |object: Value| with(object, json!({"metadata": {"creationTimestamp": ago(seconds)}}));
    objects.into_iter().map(change).collect()
}

/// A pod that is being deleted has the rank of the pod that replaces it.
fn replaced() -> Vec<Value> {
    let old = with(member(1), json!({"metadata": {"name": "llama-worker-old", "deletionTimestamp": ago(10)}}));
    job_with(1, json!({})).into_iter().chain([old]).collect()
}

#[test]
fn a_master_may_use_its_own_name() {
    for own in ["localhost", "127.0.0.1", "llama-master-0", "10.0.0.0"] {
        let mut objects = job_with(0, json!({}));
        objects[0] = set(objects[0].clone(), &[("MASTER_ADDR", own)]);
        check(&objects, &[]);
    }
}

#[test]
fn values_from_other_sources_are_not_compared() {
    let mut objects = job_with(1, json!({}));
    let field = json!({"name": "MASTER_PORT", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}});
    objects[1]["spec"]["containers"][0]["env"].as_array_mut().unwrap().push(field);
    check(&objects, &[]);
}

#[test]
fn the_ports_of_the_service_are_evidence() {
    let report = report(&worker_sets(&[("MASTER_PORT", "29500")]));
    let found = &report.diagnoses[0];
    assert!(
        found.evidence.iter().any(|found| found.object == "Service team-a/llama-master-0" && found.value == "23456"),
        "{found:#?}"
    );
    assert_eq!(found.waste.map(|waste| waste.accelerators), Some(24));
}

/// A flag replaces the variable, which has another value.
#[rstest]
#[case::flag(&["torchrun", "--master_port=29500"], "--master-port in the command of container pytorch")]
#[case::script(&["sh", "-c", "export MASTER_PORT=29500; python train.py"], "MASTER_PORT in the command of container pytorch")]
fn the_flag_is_evidence(#[case] command: &[&str], #[case] field: &str) {
    let found = report(&worker_runs(command)).diagnoses.remove(0);
    let flag = found.evidence.iter().find(|evidence| evidence.value == "29500").unwrap();
    assert_eq!(flag.field, field);
    assert!(found.evidence.iter().any(|evidence| evidence.field.ends_with("MASTER_PORT of container pytorch")));
}
