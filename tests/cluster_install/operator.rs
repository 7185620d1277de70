//! A job of the real training-operator, in a namespace that was labelled and no more.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::life::wait_until_called;
use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::pods::SERVED;
use trainmesh_testing::release::Release;

/// Payloads ask their proxy first, which is what the hold is for. As in training, none goes before the other is there.
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
    conditions.into_iter().filter(|it| it["status"] == "True").map(|mut it| it["type"].take()).collect()
}

#[test]
fn a_pytorchjob_succeeds_with_injected_proxies() {
    Cluster::get().mesh();
    Cluster::get().operator("training-operator");
    let _release = Release::started(&[]);
    let namespace = Cluster::get().namespace(&SERVED);
    wait_until_called(&namespace);
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), Permissions::from_mode(0o777)).unwrap();
    let _ = namespace.create(&job(shared.path().to_str().unwrap())).success();
    eventually(PATIENCE, "the job has succeeded", || {
        let found = conditions(&namespace);
        if found.iter().any(|it| it == "Succeeded") { Ok(()) } else { Err(format!("{found:?}")) }
    });
    let pods = eventually(PATIENCE, "both pods have succeeded", || {
        let pods = namespace.pods("training.kubeflow.org/job-name=train");
        let phases: Vec<&Value> = pods.iter().map(|pod| &pod["status"]["phase"]).collect();
        if phases == ["Succeeded", "Succeeded"] { Ok(pods) } else { Err(format!("{phases:?}")) }
    });
    for pod in &pods {
        assert_eq!(pod["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold");
        // The hold has Istio put it before the payload.
        assert_eq!(pod["spec"]["containers"][0]["name"], "istio-proxy");
        let name = pod["metadata"]["name"].as_str().unwrap();
        eventually(PATIENCE, "the controller tells that it has ended the proxy", || {
            let events = namespace.events();
            let told = events.iter().any(|it| it["regarding"]["name"] == *name && it["reason"] == "ProxyEnded");
            if told { Ok(()) } else { Err(format!("{} others", events.len())) }
        });
    }
}
