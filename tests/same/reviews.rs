//! Reviews for both builds: mutated pods in every kind of namespace, the examples' pods with every profile, and bodies
//! that are not reviews.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::cluster::namespace;
use crate::inputs::Inputs;
use trainmesh_testing::example_pods::example_pods;

/// Namespaces of `cluster.yaml`. Lookups of a missing namespace are rate-limited, so none is used here.
const NAMESPACES: [&str; 10] = [
    "team-a",
    "default",
    "audit",
    "istio-aux",
    "meshless",
    "ambient",
    "uncaptured",
    "uninjected",
    "restricted",
    "trainmesh-system",
];
const PATHS: [&str; 4] = ["/mutate", "/mutate?timeout=10s", "/audit", "/istio-aux"];
/// Minimum number of reviews; fewer would prove too little.
const MIN_CALLS: usize = 1_000;

/// A request to the webhook.
pub struct Call {
    /// Description for the report.
    pub name: String,
    pub path: String,
    pub body: Vec<u8>,
}

/// Returns the calls; they are the same in every run.
pub fn calls(inputs: &Inputs) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut add = |name: String, path: &str, body: Vec<u8>| calls.push(Call { name, path: path.to_owned(), body });
    for (number, pod) in inputs.pods.iter().enumerate() {
        let namespace = NAMESPACES[number % NAMESPACES.len()];
        let path = PATHS[number / NAMESPACES.len() % PATHS.len()];
        add(format!("mutated pod {number} in {namespace}"), path, review(namespace, pod));
    }
    for (number, pod) in example_pods("examples".as_ref()).iter().enumerate() {
        for profile in &inputs.profiles {
            add(format!("pod {number} of the examples, fabric {profile}"), "/mutate", review(&namespace(profile), pod));
        }
    }
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "train", "image": "i"}]}});
    let whole: Value = serde_json::from_slice(&review("team-a", &pod)).expect("JSON");
    for (at, value) in [
        ("/apiVersion", json!("admission.k8s.io/v1beta1")),
        ("/kind", json!("Review")),
        ("/request", json!(null)),
        ("/request/uid", json!("")),
        ("/request/operation", json!("UPDATE")),
        ("/request/operation", json!("DELETE")),
        ("/request/operation", json!("NONSENSE")),
        ("/request/namespace", json!("No Name")),
        ("/request/namespace", json!(null)),
        ("/request/namespace", json!("nowhere")),
        ("/request/object", json!(null)),
        ("/request/object", json!([1, 2])),
        ("/request/object/spec", json!("text")),
        ("/request/resource/resource", json!("deployments")),
        ("/request/resource/group", json!("apps")),
        ("/request/dryRun", json!(true)),
        (
            "/request/object/spec/containers",
            json!(vec![json!({"name": "a", "env": vec![json!({"name": "A"}); 9_000]}); 3]),
        ),
    ] {
        let mut review = whole.clone();
        *review.pointer_mut(at).expect("a field") = value.clone();
        let mut text = value.to_string();
        text.truncate(40);
        add(format!("{at} {text}"), "/mutate", review.to_string().into_bytes());
    }
    for body in ["", "{", "[]", "null", "\u{feff}{}", "{\"a\": 1, \"a\": 2}"] {
        add(format!("body {body:?}"), "/mutate", body.into());
    }
    add("another path".to_owned(), "/validate", b"{}".to_vec());
    add("a body over the limit".to_owned(), "/mutate", vec![b' '; 4 * 1024 * 1024 + 1]);
    assert!(calls.len() >= MIN_CALLS, "{} reviews", calls.len());
    calls
}

/// Returns the bytes of a review of `pod`.
fn review(namespace: &str, pod: &Value) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": namespace,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "system:serviceaccount:kubeflow:training-operator"},
        "object": pod, "oldObject": null, "dryRun": false}});
    serde_json::to_vec(&review).expect("JSON")
}

/// Decodes the patch of a response, so that a difference is readable: the response has it in base64.
pub fn patch(answer: &str) -> Option<String> {
    let mut answer: Value = serde_json::from_str(answer).ok()?;
    let ByteString(patch) = serde_json::from_value(answer["response"]["patch"].take()).ok()?;
    String::from_utf8(patch).ok()
}
