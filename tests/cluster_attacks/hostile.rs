//! Hostile input: reviews, names and pods that no legitimate client sends. This module only creates them.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Longest annotations that the apiserver accepts in total, less a reserve for keys and other annotations.
const ANNOTATIONS: usize = 248 * 1024;

/// Returns a review of a new pod, as the apiserver would send it.
pub fn review(namespace: &str, object: &str) -> Vec<u8> {
    let namespace = json!(namespace);
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"1","operation":"CREATE","namespace":{namespace},"resource":{{"group":"","version":"v1","resource":"pods"}},"object":{object}}}}}"#
    )
    .into_bytes()
}

/// Returns a list of zeros, of two bytes and one node each.
pub fn zeros(count: usize) -> String {
    list("0", count)
}

/// Returns a pod with this many empty containers.
pub fn empty_containers(count: usize) -> String {
    format!(r#"{{"metadata":{{}},"spec":{{"containers":{}}}}}"#, list("{}", count))
}

/// Returns a pod whose container has this many variables, of 13 bytes each.
pub fn variables(count: usize) -> String {
    let variables = list(r#"{"name":"a"}"#, count);
    format!(r#"{{"metadata":{{}},"spec":{{"containers":[{{"name":"a","env":{variables}}}]}}}}"#)
}

/// Returns a pod whose `managedFields` have this many entries.
pub fn managed_fields(count: usize) -> String {
    let fields = list(r#"{"f:a":{}}"#, count);
    format!(r#"{{"metadata":{{"managedFields":{fields}}},"spec":{{"containers":[{{"name":"a"}}]}}}}"#)
}

fn list(item: &str, count: usize) -> String {
    format!("[{}]", [item].repeat(count).join(","))
}

/// Returns namespace names that would alter the path of a lookup, or a log line.
pub fn namespaces() -> Vec<String> {
    let mut names: Vec<String> = [
        "?watch=1",
        "../pods?watch=1",
        "a/../../../../version",
        "%2e%2e",
        "a#b",
        "A",
        "a b",
        "",
        "line\nlevel=error forged",
        "\u{1b}[2J",
    ]
    .map(str::to_owned)
    .into();
    names.push("a".repeat(200 * 1024));
    names
}

/// Returns unscheduled pods with an annotation that needs a hundred times its length in memory when parsed.
pub fn pods_with_long_status(count: usize) -> impl Iterator<Item = Value> {
    let status = format!(r#"{{"containers":{}}}"#, list(r#""a""#, (ANNOTATIONS - 32) / 4));
    (0..count).map(move |number| {
        let mut pod = watched(&format!("status-{number}"));
        pod["metadata"]["annotations"] = json!({"sidecar.istio.io/status": status});
        pod
    })
}

/// Returns a pod with as many containers as the apiserver stores, and an annotation with as many names as it accepts.
pub fn pod_with_many_names(name: &str) -> Value {
    let mut pod = watched(name);
    pod["metadata"]["annotations"] =
        json!({"trainmesh.dev/payload-containers": list("a", ANNOTATIONS / 2).replace(['[', ']'], "")});
    let container = |number: usize| json!({"name": format!("c{number}"), "image": "i"});
    pod["spec"]["containers"] = (0..5_000).map(container).collect();
    pod
}

/// Returns gang members with a revision that grows sixfold when encoded as JSON.
pub fn pods_with_long_revisions(count: usize) -> impl Iterator<Item = Value> {
    let revision = "\u{1}".repeat(ANNOTATIONS - 1024);
    (0..count).map(move |number| {
        let name = format!("revision-{number}");
        let mut pod = member(&name, &name);
        pod["metadata"]["labels"]["trainmesh.dev/managed"] = "true".into();
        // Otherwise the webhook would replace the annotations.
        pod["metadata"]["labels"]["trainmesh.dev/inject"] = "disabled".into();
        pod["metadata"]["annotations"] =
            json!({"trainmesh.dev/applied": "fabric=tcp", "trainmesh.dev/fabric-revision": revision});
        pod
    })
}

/// Returns an unschedulable pod of a gang with the fabric `tcp`, with the labels of mpi-operator.
pub fn member(name: &str, job: &str) -> Value {
    let labels = json!({"trainmesh.dev/fabric": "tcp", "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": job, "training.kubeflow.org/replica-type": "worker"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "mpi", "image": "trainmesh.test/busybox:1",
            "resources": {"limits": {"nvidia.com/gpu": 1}}}]}})
}

/// Returns pods that run: the main container has exited, and the proxy is a shell in which every termination command
/// hangs.
pub fn pods_with_hanging_proxy(count: usize) -> impl Iterator<Item = Value> {
    let mut script = String::from("mkdir /tmp/bin; ");
    for program in ["pilot-agent", "curl", "wget", "kill"] {
        let _ = write!(script, "printf '#!/bin/sh\\nexec /bin/sleep 3600\\n' > /tmp/bin/{program}; ");
    }
    script.push_str("chmod +x /tmp/bin/*; exec /bin/sleep 3600");
    let container = |name: &str, script: &str| {
        json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["/bin/sh", "-c", script]})
    };
    (0..count).map(move |number| {
        let mut proxy = container("istio-proxy", &script);
        proxy["env"] = json!([{"name": "PATH", "value": "/tmp/bin:/bin"}]);
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("hangs-{number}"),
                "labels": {"service.istio.io/canonical-name": "hangs", "sidecar.istio.io/inject": "false"}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                "containers": [container("train", "true"), proxy]}})
    })
}

/// Returns a pod that every watch of the controller selects, and that neither the webhook nor the injector changes.
fn watched(name: &str) -> Value {
    let labels = json!({"service.istio.io/canonical-name": name, "trainmesh.dev/managed": "true",
        "trainmesh.dev/inject": "disabled", "sidecar.istio.io/inject": "false"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {"schedulerName": "nobody", "restartPolicy": "Never",
            "containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}})
}
