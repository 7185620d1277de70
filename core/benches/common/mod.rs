//! Pods of the sizes that the benchmarks state, and their snapshot.

#![allow(dead_code, reason = "each benchmark uses some of these")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::scope::Mode;

/// Returns the snapshot of an opted-in namespace with these labels, without facts about the cluster.
pub(crate) fn snapshot<'a>(labels: &'a BTreeMap<String, String>, config: &'a Configuration) -> Snapshot<'a> {
    Snapshot {
        mode: Mode::Enabled,
        namespace: "team-a",
        namespace_labels: labels,
        labels_assumed: false,
        config,
        config_hash: "0123456789ab",
        replicas: None,
        cluster: ClusterView::default(),
    }
}

/// Returns the labels of a namespace with Istio injection.
pub(crate) fn injection_labels() -> BTreeMap<String, String> {
    BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())])
}

/// Returns a pod of about 3 KB as a training operator creates it, before injection.
pub(crate) fn plain_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "llama-worker-0", "namespace": "default",
            "labels": operator_labels(),
            "annotations": {"example.com/team": "speech"},
        },
        "spec": {"restartPolicy": "OnFailure", "containers": [trainer(24)], "volumes": volumes(4)},
    })
}

/// Returns a GPU pod of about 17 KB as it arrives in the second round, with a rendered sidecar.
pub(crate) fn injected_pod() -> Value {
    let hook = json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}});
    let proxy = json!({
        "name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.30.3", "args": ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local"],
        "env": environment("ISTIO_META_SETTING", 112), "lifecycle": hook,
        "ports": [{"containerPort": 15090, "name": "http-envoy-prom", "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/healthz/ready", "port": 15021}, "periodSeconds": 15, "failureThreshold": 4},
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": mounts(12),
    });
    let status = json!({"initContainers": ["istio-init"], "containers": ["istio-proxy"], "volumes": [], "imagePullSecrets": null, "revision": "default"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "llama-worker-0", "namespace": "default",
            "labels": operator_labels(),
            "annotations": {
                "sidecar.istio.io/status": status.to_string(),
                "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true\nconcurrency: 2\n",
            },
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "initContainers": [{"name": "istio-init", "image": "docker.io/istio/proxyv2:1.30.3", "args": ["istio-iptables", "-p", "15001"]}],
            "containers": [proxy, trainer(60)],
            "volumes": volumes(24),
        },
    })
}

fn operator_labels() -> Value {
    json!({
        "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": "llama",
        "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0",
    })
}

fn trainer(settings: usize) -> Value {
    let mut env = environment("SETTING", settings);
    env.extend([json!({"name": "PET_NNODES", "value": "4"}), json!({"name": "RANK", "value": "1"})]);
    json!({
        "name": "pytorch", "image": "registry.example.com/training/llama:2.4.1", "command": ["torchrun", "train.py"], "env": env,
        "resources": {"limits": {"nvidia.com/gpu": "8", "memory": "512Gi"}, "requests": {"nvidia.com/gpu": "8"}},
        "volumeMounts": mounts(4),
    })
}

fn environment(prefix: &str, count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| json!({"name": format!("{prefix}_{n}"), "value": format!("a value of ordinary length, number {n}")}))
        .collect()
}

fn volumes(count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| json!({"name": format!("volume-{n}"), "persistentVolumeClaim": {"claimName": format!("claim-{n}")}}))
        .collect()
}

fn mounts(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({"name": format!("volume-{n}"), "mountPath": format!("/mnt/volume-{n}")})).collect()
}
