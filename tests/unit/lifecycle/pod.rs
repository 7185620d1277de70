//! Pods as the apiserver shows them, for tables of cases.

use jiff::Timestamp;
use serde_json::{Value, json};

/// When the containers of these pods ended.
pub const ENDED: &str = "2026-01-01T00:00:00Z";

/// The time of a decision unless a case has another one: the settle window is over.
pub fn now() -> Timestamp {
    at(10)
}

/// `seconds` after [`ENDED`].
pub fn at(seconds: i64) -> Timestamp {
    let ended: Timestamp = ENDED.parse().unwrap();
    ended + jiff::SignedDuration::from_secs(seconds)
}

/// A container, and the status that the kubelet writes of it.
#[derive(Clone)]
pub struct Container {
    pub spec: Value,
    pub status: Option<Value>,
    pub native: bool,
}

/// `a` runs, `b T0` has ended with exit code 0, `c W` waits, `d C` waits in a crash loop, `e -` has no status yet.
pub fn container(text: &str) -> Container {
    let (name, state) = text.split_once(' ').unwrap_or((text, "R"));
    let state = match state {
        "-" => None,
        "R" => Some(json!({"running": {"startedAt": ENDED}})),
        "W" => Some(json!({"waiting": {"reason": "ContainerCreating"}})),
        "C" => Some(json!({"waiting": {"reason": "CrashLoopBackOff"}})),
        terminated => {
            let code: i32 = terminated.trim_start_matches('T').parse().unwrap();
            Some(json!({"terminated": {"exitCode": code, "finishedAt": ENDED, "reason": "Error"}}))
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

    /// The instance after `restarts` restarts.
    pub fn restarted(mut self, restarts: u32) -> Self {
        let name = self.spec["name"].as_str().unwrap().to_owned();
        if let Some(status) = &mut self.status {
            status["restartCount"] = json!(restarts);
            status["containerID"] = json!(format!("containerd://{name}-{restarts}"));
        }
        self
    }
}

/// A running pod of `containers`.
pub fn pod(policy: &str, containers: impl IntoIterator<Item = Container>) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "train-0", "namespace": "team-a", "uid": "u-1", "creationTimestamp": ENDED},
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

/// A pod of the containers that `texts` describe, as [`container`] reads them.
pub fn plain(policy: &str, texts: &[&str]) -> Value {
    pod(policy, texts.iter().map(|text| container(text)))
}

/// `pod` with `value` at `pointer`; parents are made.
pub fn with(mut pod: Value, path: &[&str], value: Value) -> Value {
    let mut place = &mut pod;
    for key in path {
        place = &mut place[*key];
    }
    *place = value;
    pod
}

pub fn annotated(pod: Value, key: &str, value: &str) -> Value {
    with(pod, &["metadata", "annotations", key], json!(value))
}

pub fn labelled(pod: Value, key: &str, value: &str) -> Value {
    with(pod, &["metadata", "labels", key], json!(value))
}
