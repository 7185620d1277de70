//! Unscheduled pods, and checks of the patches in them.

use serde_json::{Value, json};

use crate::cluster::{Namespace, TIMEOUT, creates_pod, eventually};

/// Labels of a namespace that opts in to trainmesh and to Istio injection.
pub const OPTED_IN: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];

/// Returns a pod that never runs: no scheduler has its `schedulerName`.
pub fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec()})
}

/// Returns the specification of such a pod.
pub fn spec() -> Value {
    json!({"schedulerName": "nobody", "restartPolicy": "Never",
        "containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]})
}

/// Returns true if trainmesh added the hold to the pod.
pub fn has_hold(pod: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    let text = |key: &str| annotations[key].as_str().unwrap_or_default();
    text("trainmesh.dev/applied") == "mesh.hold"
        && text("proxy.istio.io/config").contains("holdApplicationUntilProxyStarts: true")
}

/// Returns true if a new pod in the namespace gets the hold; creates it as a dry run.
pub fn adds_hold(namespace: &Namespace) -> bool {
    has_hold(&namespace.create_dry_run(&pod("train")).expect("the dry run succeeds"))
}

/// Waits for the audit events of the requests that created these pods, without those of others, such as the dry runs of doctor.
pub fn creations(namespace: &Namespace, names: &[String]) -> Vec<Value> {
    let is_one =
        |event: &Value| event["objectRef"]["name"].as_str().is_some_and(|name| names.iter().any(|it| it == name));
    eventually(TIMEOUT, "the audit log has the requests", || {
        let requests =
            namespace.audit(|event| creates_pod(event) && event["responseStatus"]["code"] == 201 && is_one(event));
        let found = |name: &&String| requests.iter().any(|event| event["objectRef"]["name"] == **name);
        match names.iter().find(|name| !found(name)) {
            Some(missing) => Err(format!("{missing} is missing")),
            None => Ok(requests),
        }
    })
}

/// Waits for the audit event of the request that created pod `name`. A generated name is only in the response.
pub fn creation(namespace: &Namespace, name: &str) -> Value {
    eventually(TIMEOUT, "the audit log has the request", || {
        let requests = namespace.audit(|event| {
            creates_pod(event)
                && (event["objectRef"]["name"] == name || event["responseObject"]["metadata"]["name"] == name)
        });
        requests.into_iter().next_back().ok_or("no such event")
    })
}
