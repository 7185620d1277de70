//! A complete review: parse the request, run the rules, verify the patch, encode the response.
//!
//! `cargo bench --bench review`. The target is 300 µs for the injected pod, on one core.

#![expect(clippy::unwrap_used, reason = "a failed benchmark has no result")]

mod common;

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::webhook::handler::respond;
use trainmesh_core::webhook::review::Review;

use common::{injection_labels, snapshot};

fn main() {
    divan::main();
}

/// A training pod as its operator creates it, about 3 KB.
#[divan::bench]
fn uninjected_3_kb(bencher: Bencher<'_, '_>) {
    run(bencher, &review(&training_pod(20), 3_000));
}

/// A GPU pod after sidecar injection, about 17 KB: nothing to change.
#[divan::bench]
fn injected_17_kb(bencher: Bencher<'_, '_>) {
    let mut pod = training_pod(173);
    pod["metadata"]["annotations"] = json!({"sidecar.istio.io/status": "{\"containers\":[\"istio-proxy\"]}",
        "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true\n"});
    let proxy = container("istio-proxy", "proxyv2", 60);
    if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
        containers.push(proxy);
    }
    run(bencher, &review(&pod, 17_000));
}

/// A pod of the same size that needs a patch, which is created and verified.
#[divan::bench]
fn uninjected_17_kb(bencher: Bencher<'_, '_>) {
    run(bencher, &review(&training_pod(240), 17_000));
}

/// The built-in fabric with the most parts on eight containers: the patch is created and verified, and the pod linted.
#[divan::bench]
fn fabric_of_eight_containers(bencher: Bencher<'_, '_>) {
    let mut pod = training_pod(20);
    let gpus = json!({"limits": {"nvidia.com/gpu": "8"}});
    let ranks = (0..8).map(|index| json!({"name": format!("rank-{index}"), "image": "i", "resources": gpus}));
    pod["spec"]["containers"] = ranks.collect();
    pod["metadata"]["labels"]["trainmesh.dev/fabric"] = json!("gke-rdma-gib-a3u");
    run(bencher, &review(&pod, 1_900));
}

fn run(bencher: Bencher<'_, '_>, body: &[u8]) {
    let (labels, config) = (injection_labels(), Configuration::embedded());
    bencher.bench(|| {
        let review = Review::parse(black_box(body)).unwrap();
        let new = review.new_pod().unwrap().unwrap();
        let snapshot = Snapshot { namespace: new.namespace, ..snapshot(&labels, &config) };
        respond(&review, new.pod, &snapshot).unwrap().body
    });
}

/// Returns a review of `pod`, and checks that its size matches the benchmark's name.
fn review(pod: &Value, size: usize) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": "team-a",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "system:serviceaccount:kubeflow:training-operator", "groups": ["system:authenticated"]},
        "object": pod, "oldObject": null, "dryRun": false, "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}}});
    let body = serde_json::to_vec(&review).unwrap();
    assert!((size * 9 / 10..size * 11 / 10).contains(&body.len()), "{} bytes, not about {size}", body.len());
    body
}

fn training_pod(variables: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "llama-worker-0-", "labels": {
            "training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": "0", "training.kubeflow.org/operator-name": "pytorchjob-controller"},
            "ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "llama",
                "uid": "d9607e19-f88f-11e6-a518-42010a800195", "controller": true, "blockOwnerDeletion": true}]},
        "spec": {"restartPolicy": "Never", "serviceAccountName": "default", "schedulerName": "default-scheduler",
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "shm", "emptyDir": {"medium": "Memory"}}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [container("pytorch", "train", variables)]}})
}

fn container(name: &str, image: &str, variables: usize) -> Value {
    let env: Vec<Value> = (0..variables)
        .map(|number| json!({"name": format!("SETTING_NUMBER_{number}"), "value": "a value of usual length"}))
        .collect();
    json!({"name": name, "image": format!("images.test/{image}:1.0"), "env": env, "args": ["--epochs", "10", "--batch-size", "64"],
        "resources": {"limits": {"nvidia.com/gpu": "8", "memory": "512Gi"}, "requests": {"cpu": "32", "memory": "512Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/dev/shm"}],
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"})
}
