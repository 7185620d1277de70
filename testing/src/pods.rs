//! Pods to create, and what to look for in them.

use serde_json::{Value, json};

use crate::cluster::{Namespace, PATIENCE, creates_pod, eventually};

/// The labels of a namespace that is served and injected.
pub const SERVED: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];

/// A pod that nothing will run: no scheduler has this name.
pub fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec()})
}

/// The specification of such a pod.
pub fn spec() -> Value {
    json!({"schedulerName": "nobody", "restartPolicy": "Never",
        "containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]})
}

/// Whether trainmesh asked for the hold.
pub fn held(pod: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    let text = |key: &str| annotations[key].as_str().unwrap_or_default();
    text("trainmesh.dev/applied") == "mesh.hold"
        && text("proxy.istio.io/config").contains("holdApplicationUntilProxyStarts: true")
}

/// Whether a new pod would get the hold; none is created.
pub fn patched(namespace: &Namespace) -> bool {
    held(&namespace.rehearse(&pod("train")).expect("the pod would be created"))
}

/// The finished requests that created these pods for good.
pub fn creations(namespace: &Namespace, names: &[String]) -> Vec<Value> {
    eventually(PATIENCE, "the requests stand in the audit log", || {
        let requests = namespace.audit(|event| creates_pod(event) && event["responseStatus"]["code"] == 201);
        let found = |name: &&String| requests.iter().any(|event| event["objectRef"]["name"] == **name);
        match names.iter().find(|name| !found(name)) {
            Some(missing) => Err(format!("nothing of {missing}")),
            None => Ok(requests),
        }
    })
}

/// The finished request that created pod `name` for good; a name that was generated stands in the response alone.
pub fn creation(namespace: &Namespace, name: &str) -> Value {
    eventually(PATIENCE, "the request stands in the audit log", || {
        let requests = namespace.audit(|event| {
            creates_pod(event)
                && (event["objectRef"]["name"] == name || event["responseObject"]["metadata"]["name"] == name)
        });
        requests.into_iter().next_back().ok_or("nothing of it")
    })
}
