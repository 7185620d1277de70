//! A job of the real training-operator in an opted-in namespace, without any change to its manifest.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::lifecycle::wait_until_called;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::release::Release;

/// The main containers need their proxy at once, hence the hold. As in training, each waits for the other.
const MASTER: &str =
    "wget -qO- http://127.0.0.1:15021/healthz/ready && until [ -e /shared/worker ]; do sleep 0.1; done";
const WORKER: &str = "wget -qO- http://127.0.0.1:15021/healthz/ready && touch /shared/worker";

fn job(shared: &str) -> Value {
    let role = |script: &str| {
        json!({"replicas": 1, "restartPolicy": "Never", "template": {"spec": {
            "volumes": [{"name": "shared", "hostPath": {"path": shared, "type": "Directory"}}],
            "containers": [{"name": "pytorch", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
                "command": ["sh", "-c", script], "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}]}}})
    };
    json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train"}, "spec": {
        "runPolicy": {"cleanPodPolicy": "None"},
        "pytorchReplicaSpecs": {"Master": role(MASTER), "Worker": role(WORKER)}}})
}

fn conditions(namespace: &Namespace) -> Vec<Value> {
    let job = namespace.get("pytorchjob", "train").unwrap();
    let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions
        .into_iter()
        .filter(|condition| condition["status"] == "True")
        .map(|mut condition| condition["type"].take())
        .collect()
}

#[test]
fn a_pytorchjob_succeeds_with_injected_proxies() {
    Cluster::get().start_mesh();
    Cluster::get().start_operator("training-operator");
    let _release = Release::start(&[]);
    let namespace = Cluster::get().namespace(&OPTED_IN);
    wait_until_called(&namespace);
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    let _ = namespace.create(&job(shared.path().to_str().unwrap())).success();
    eventually(TIMEOUT, "the job succeeds", || {
        let found = conditions(&namespace);
        if found.iter().any(|condition| condition == "Succeeded") { Ok(()) } else { Err(format!("{found:?}")) }
    });
    let pods = eventually(TIMEOUT, "both pods succeed", || {
        let pods = namespace.pods("training.kubeflow.org/job-name=train");
        let phases: Vec<&Value> = pods.iter().map(|pod| &pod["status"]["phase"]).collect();
        if phases == ["Succeeded", "Succeeded"] { Ok(pods) } else { Err(format!("{phases:?}")) }
    });
    for pod in &pods {
        assert_eq!(pod["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold");
        // Because of the hold, Istio puts the proxy first.
        assert_eq!(pod["spec"]["containers"][0]["name"], "istio-proxy");
        let name = pod["metadata"]["name"].as_str().unwrap();
        eventually(TIMEOUT, "the controller reports that it terminated the proxy", || {
            let events = namespace.events();
            let reported =
                events.iter().any(|event| event["regarding"]["name"] == *name && event["reason"] == "ProxyEnded");
            if reported { Ok(()) } else { Err(format!("{} other events", events.len())) }
        });
    }
}
