//! The process group of a job. Each case has one fault, or none.

mod address;
mod consequences;
mod indexed;
mod members;
mod plain_jobs;
mod restarts;
mod store;

use serde_json::{Value, json};

use super::objects::{main_container, pytorchjob, rank, with};

/// Returns one entry of an environment.
fn variable(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// Returns rank `index` of 3 with the variables that the training operator adds.
fn member(index: usize) -> Value {
    let rank_value = index.to_string();
    let variables = [
        ("MASTER_ADDR", "llama-master-0"),
        ("MASTER_PORT", "23456"),
        ("WORLD_SIZE", "3"),
        ("RANK", rank_value.as_str()),
        ("PET_MASTER_ADDR", "llama-master-0"),
        ("PET_MASTER_PORT", "23456"),
        ("PET_NODE_RANK", rank_value.as_str()),
        ("PET_NNODES", "3"),
    ];
    let variables = variables.map(|(name, value)| variable(name, value));
    let container = with(main_container(), json!({"env": variables}));
    let ready = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": super::objects::START},
        {"type": "Ready", "status": "True", "lastTransitionTime": super::objects::START}]);
    with(
        rank(index),
        json!({"spec": {"containers": [container]}, "status": {"conditions": ready, "podIP": format!("10.0.0.{index}")}}),
    )
}

/// Returns a job of three members with its Service, after a change to member `index`.
fn job_with(index: usize, patch: Value) -> Vec<Value> {
    let mut objects: Vec<Value> = (0..3).map(member).collect();
    objects[index] = with(objects[index].clone(), patch);
    objects.extend([pytorchjob(2), service()]);
    objects
}

/// Returns the same job after a change to all members.
fn job_of(patch: &Value) -> Vec<Value> {
    let mut objects = job_with(0, json!({}));
    for pod in &mut objects[..3] {
        *pod = with(pod.clone(), patch.clone());
    }
    objects
}

/// Adds variables to the main container of a pod, after those of the operator.
fn set(mut pod: Value, variables: &[(&str, &str)]) -> Value {
    let env = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
    env.extend(variables.iter().map(|(name, value)| variable(name, value)));
    pod
}

/// Returns the headless Service of the master.
fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "llama-master-0"},
        "spec": {"clusterIP": "None", "ports": [{"name": "pytorchjob-port", "port": 23456, "targetPort": 23456}],
            "selector": {"training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "master",
                "training.kubeflow.org/replica-index": "0"}}})
}
