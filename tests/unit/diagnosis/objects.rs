//! Objects of a healthy job, and changes to them.

use serde_json::{Value, json};

/// Time of all diagnoses.
pub const NOW: &str = "2026-01-01T12:00:00Z";
/// An hour before [`NOW`], when the healthy job started.
pub const START: &str = "2026-01-01T11:00:00Z";

/// Returns the time `seconds` before [`NOW`].
pub fn ago(seconds: i64) -> String {
    let now: jiff::Timestamp = NOW.parse().unwrap();
    (now - jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// Applies a JSON merge patch.
pub fn with(mut object: Value, patch: Value) -> Value {
    merge(&mut object, patch);
    object
}

fn merge(object: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else { return *object = patch };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(&key);
        } else {
            merge(&mut object[key], value);
        }
    }
}

/// Returns the running pod of a `PyTorchJob` of one master and workers, with 8 GPUs on its own node: rank 0 is the master.
pub fn rank(index: usize) -> Value {
    rank_of("llama", index)
}

/// Like [`rank`], of another job.
pub fn rank_of(job: &str, index: usize) -> Value {
    let (role, role_index) = if index == 0 { ("master", 0) } else { ("worker", index - 1) };
    let name = format!("{job}-{role}-{role_index}");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": "team-a", "name": name, "uid": format!("{name}-uid"), "creationTimestamp": START,
            "labels": {
                "training.kubeflow.org/operator-name": "pytorchjob-controller",
                "training.kubeflow.org/job-name": job,
                "training.kubeflow.org/replica-type": role,
                "training.kubeflow.org/replica-index": role_index.to_string(),
            },
            "ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job, "controller": true}],
        },
        "spec": {
            "nodeName": format!("node-{index}"),
            "restartPolicy": "OnFailure",
            "containers": [main_container()],
        },
        "status": {
            "phase": "Running", "startTime": START,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": START}],
            "containerStatuses": [{"name": "pytorch", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": START}}}],
        },
    })
}

pub fn main_container() -> Value {
    json!({"name": "pytorch", "image": "registry/train:1", "resources": {"limits": {"nvidia.com/gpu": 8}}})
}

/// Returns a job of `count` running pods in which pod 1 is changed by `patch`.
pub fn job_with(count: usize, patch: Value) -> Vec<Value> {
    let mut pods: Vec<Value> = (0..count).map(rank).collect();
    pods[1] = with(pods[1].clone(), patch);
    pods
}

/// Returns the patch for the status of the main container.
pub fn main_status(status: Value) -> Value {
    json!({"status": {"containerStatuses": [with(json!({"name": "pytorch", "restartCount": 0}), status)]}})
}

/// Returns the patch for a main container that waits.
pub fn waiting(reason: &str, message: &str) -> Value {
    with(
        main_status(json!({"state": {"waiting": {"reason": reason, "message": message}}})),
        json!({"status": {"phase": "Pending"}}),
    )
}

/// Returns the patch for a pod without a node since `since`.
pub fn unscheduled(since: &str) -> Value {
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "lastTransitionTime": since});
    json!({"metadata": {"creationTimestamp": since}, "spec": {"nodeName": null},
        "status": {"phase": "Pending", "startTime": null, "containerStatuses": null, "conditions": [condition]}})
}

pub fn node(name: &str) -> Value {
    let conditions = json!([{"type": "Ready", "status": "True", "lastTransitionTime": START}]);
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": conditions}})
}

pub fn event(kind: &str, name: &str, reason: &str, message: &str, seconds_ago: i64) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "team-a", "name": format!("{name}.{reason}")},
        "involvedObject": {"kind": kind, "name": name, "namespace": "team-a"},
        "reason": reason, "message": message, "lastTimestamp": ago(seconds_ago)})
}

/// Returns a `PyTorchJob` of one master and `workers` workers.
pub fn pytorchjob(workers: usize) -> Value {
    let replica = |count: usize| json!({"replicas": count, "template": {"spec": {"containers": [main_container()]}}});
    json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
        "metadata": {"namespace": "team-a", "name": "llama", "creationTimestamp": START},
        "spec": {"pytorchReplicaSpecs": {"Master": replica(1), "Worker": replica(workers)}}})
}
