//! Pods as the apiserver shows them, for decision tables.

use jiff::Timestamp;
use serde_json::{Value, json};

/// Time at which the containers of these pods terminated.
pub const TERMINATED_AT: &str = "2026-01-01T00:00:00Z";

/// Returns the default time of a decision: the stabilization window is over.
pub fn now() -> Timestamp {
    at(10)
}

/// Returns the time `seconds` after [`TERMINATED_AT`].
pub fn at(seconds: i64) -> Timestamp {
    let terminated_at: Timestamp = TERMINATED_AT.parse().unwrap();
    terminated_at + jiff::SignedDuration::from_secs(seconds)
}

/// A container with the status that the kubelet writes.
#[derive(Clone)]
pub struct Container {
    pub spec: Value,
    pub status: Option<Value>,
    pub native: bool,
}

/// Parses a container: `a` runs, `b T0` has terminated with exit code 0, `c W` waits, `d C` waits in a crash loop,
/// `e -` has no status yet.
pub fn container(text: &str) -> Container {
    let (name, state) = text.split_once(' ').unwrap_or((text, "R"));
    let state = match state {
        "-" => None,
        "R" => Some(json!({"running": {"startedAt": TERMINATED_AT}})),
        "W" => Some(json!({"waiting": {"reason": "ContainerCreating"}})),
        "C" => Some(json!({"waiting": {"reason": "CrashLoopBackOff"}})),
        terminated => {
            let code: i32 = terminated.trim_start_matches('T').parse().unwrap();
            Some(json!({"terminated": {"exitCode": code, "finishedAt": TERMINATED_AT, "reason": "Error"}}))
        }
    };
    let status = state.map(
        |state| json!({"name": name, "state": state, "restartCount": 0, "containerID": format!("containerd://{name}-0")}),
    );
    Container { spec: json!({"name": name, "image": "i"}), status, native: false }
}

impl Container {
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.spec[field] = value;
        self
    }

    pub fn native(mut self) -> Self {
        self.native = true;
        self.with("restartPolicy", json!("Always"))
    }

    /// Returns the container after `restarts` restarts.
    pub fn restarted(mut self, restarts: u32) -> Self {
        let name = self.spec["name"].as_str().unwrap().to_owned();
        if let Some(status) = &mut self.status {
            status["restartCount"] = json!(restarts);
            status["containerID"] = json!(format!("containerd://{name}-{restarts}"));
        }
        self
    }
}

/// Returns a running pod with `containers`.
pub fn pod(policy: &str, containers: impl IntoIterator<Item = Container>) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "train-0", "namespace": "team-a", "uid": "u-1", "creationTimestamp": TERMINATED_AT},
        "spec": {"restartPolicy": policy, "nodeName": "n1", "containers": [], "initContainers": []},
        "status": {"phase": "Running", "containerStatuses": [], "initContainerStatuses": []},
    });
    for container in containers {
        let [list, statuses] = if container.native {
            ["initContainers", "initContainerStatuses"]
        } else {
            ["containers", "containerStatuses"]
        };
        pod["spec"][list].as_array_mut().unwrap().push(container.spec);
        pod["status"][statuses].as_array_mut().unwrap().extend(container.status);
    }
    pod
}

/// Returns a pod with the containers that `texts` describe; see [`container`].
pub fn plain(policy: &str, texts: &[&str]) -> Value {
    pod(policy, texts.iter().map(|text| container(text)))
}

/// Sets `value` at `path` in `pod`, creating parents.
pub fn with(mut pod: Value, path: &[&str], value: Value) -> Value {
    let mut target = &mut pod;
    for key in path {
        target = &mut target[*key];
    }
    *target = value;
    pod
}

pub fn annotated(pod: Value, key: &str, value: &str) -> Value {
    with(pod, &["metadata", "annotations", key], json!(value))
}

pub fn labelled(pod: Value, key: &str, value: &str) -> Value {
    with(pod, &["metadata", "labels", key], json!(value))
}
