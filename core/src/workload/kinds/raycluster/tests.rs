use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::workload::template::testing::{check, error, render, with};

fn spec() -> Value {
    let ray = json!({"name": "ray", "image": "rayproject/ray:2.44", "resources": {"limits": {"memory": "8Gi"}}});
    json!({
        "headGroupSpec": {"rayStartParams": {"port": "6380"}, "template": {
            "metadata": {"labels": {"app.kubernetes.io/name": "mine", "ray.io/cluster": "overridden"}},
            "spec": {"containers": [ray, {"name": "other"}]},
        }},
        "workerGroupSpecs": [
            {"groupName": "gpu", "replicas": 9, "maxReplicas": 4, "numOfHosts": 2, "template": {"spec": {
                "initContainers": [{"name": "fetch"}],
                "containers": [{"name": "ray", "image": "rayproject/ray:2.44", "env": [{"name": "RAY_PORT", "value": "own"}]}],
            }}},
            {"groupName": "idle", "suspend": true, "minReplicas": 2, "template": {"spec": {"containers": null}}},
        ],
    })
}

fn cluster() -> Value {
    json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "tune", "uid": "u1"}, "spec": spec()})
}

#[test]
fn the_head_is_as_kuberay_creates_it() {
    check(
        &cluster(),
        "head",
        1,
        &json!({
            "/metadata/generateName": "tune-head-",
            "/metadata/labels": {
                "app.kubernetes.io/name": "mine",
                "app.kubernetes.io/created-by": "kuberay-operator",
                "ray.io/is-ray-node": "yes",
                "ray.io/identifier": "tune-head",
                "ray.io/cluster": "tune",
                "ray.io/node-type": "head",
                "ray.io/group": "headgroup",
            },
            "/metadata/annotations": {"ray.io/ft-enabled": "false"},
            "/metadata/ownerReferences/0/uid": "u1",
            "/spec/initContainers": null,
            "/spec/containers/0/env": [
                {"name": "RAY_CLUSTER_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['ray.io/cluster']"}}},
                {"name": "RAY_CLUSTER_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                {"name": "RAY_CLOUD_INSTANCE_ID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "RAY_NODE_TYPE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['ray.io/group']"}}},
                {"name": "RAY_PORT", "value": "6380"},
                {"name": "RAY_ADDRESS", "value": "127.0.0.1:6380"},
                {"name": "RAY_USAGE_STATS_KUBERAY_IN_USE", "value": "1"},
                {"name": "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "value": "1"},
            ],
            "/spec/containers/0/ports": [{"name": "metrics", "containerPort": 8080}],
            "/spec/containers/0/volumeMounts": [{"name": "shared-mem", "mountPath": "/dev/shm"}],
            "/spec/volumes": [{"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
            "/spec/containers/1": {"name": "other"},
        }),
    );
}

#[test]
fn a_worker_is_as_kuberay_creates_it() {
    let address = [
        json!({"name": "FQ_RAY_IP", "value": "tune-head-svc.team.svc.cluster.local"}),
        json!({"name": "RAY_IP", "value": "tune-head-svc"}),
    ];
    check(
        &cluster(),
        "gpu",
        8,
        &json!({
            "/metadata/generateName": "tune-gpu-worker-",
            "/metadata/labels/ray.io~1group": "gpu",
            "/metadata/labels/ray.io~1identifier": "tune-worker",
            "/metadata/labels/ray.io~1worker-group-replica-index": "0",
            "/metadata/labels/ray.io~1worker-group-replica-name": "gpu-00000",
            "/metadata/labels/ray.io~1replica-host-index": "0",
            "/metadata/annotations": null,
            "/spec/initContainers/0": {"name": "fetch", "env": address},
            "/spec/initContainers/1/name": "wait-gcs-ready",
            "/spec/initContainers/1/image": "rayproject/ray:2.44",
            "/spec/initContainers/1/env": [{"name": "RAY_PORT", "value": "own"}, address[0], address[1]],
            "/spec/initContainers/1/resources/limits": {"cpu": "200m", "memory": "256Mi"},
            "/spec/containers/0/env/0": {"name": "RAY_PORT", "value": "own"},
            "/spec/containers/0/env/1": address[0],
            "/spec/containers/0/env/7": {"name": "RAY_ADDRESS", "value": "tune-head-svc.team.svc.cluster.local:6380"},
            "/spec/volumes": [{"name": "shared-mem", "emptyDir": {"medium": "Memory"}}],
        }),
    );
    check(&cluster(), "idle", 0, &json!({"/spec": {"containers": null}}));
}

#[rstest]
#[case::fault_tolerant("/spec/gcsFaultToleranceOptions", json!({}), "head", 1, json!({"/metadata/annotations/ray.io~1ft-enabled": "true"}))]
#[case::fault_tolerant_worker("/spec/gcsFaultToleranceOptions", json!({}), "gpu", 8, json!({
    "/spec/containers/0/env/1": {"name": "RAY_gcs_rpc_server_reconnect_timeout_s", "value": "600"},
}))]
#[case::autoscaling("/spec/enableInTreeAutoscaling", json!(true), "head", 1, json!({
    "/spec/serviceAccountName": "tune",
    "/spec/containers/2/name": "autoscaler",
    "/spec/containers/2/image": "rayproject/ray:2.44",
}))]
#[case::own_shared_memory("/spec/headGroupSpec/template/spec/containers/0/volumeMounts", json!([{"name": "shm", "mountPath": "/dev/shm"}]), "head", 1, json!({
    "/spec/volumes": null,
}))]
#[case::own_store("/spec/headGroupSpec/rayStartParams/plasma-directory", json!("/data"), "head", 1, json!({"/spec/volumes": null}))]
#[case::own_service("/spec/headGroupSpec/headService", json!({"metadata": {"name": "front"}}), "gpu", 8, json!({
    "/spec/containers/0/env/2": {"name": "RAY_IP", "value": "front"},
}))]
#[case::own_command("/metadata/annotations", json!({"ray.io/overwrite-container-cmd": "true"}), "gpu", 8, json!({
    "/metadata/annotations": {"ray.io/overwrite-container-cmd": "true"},
}))]
#[case::more("/spec/workerGroupSpecs/0/maxReplicas", json!(100), "gpu", 18, json!({}))]
#[case::fewer("/spec/workerGroupSpecs/0/numOfHosts", json!(1), "gpu", 4, json!({"/metadata/labels/ray.io~1replica-host-index": null}))]
fn options_change_the_pod(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] role: &str,
    #[case] replicas: u64,
    #[case] expected: Value,
) {
    check(&with(cluster(), pointer, value), role, replicas, &expected);
}

#[test]
fn a_ray_service_labels_its_pods() {
    let raw = json!({"apiVersion": "ray.io/v1alpha1", "kind": "RayService", "metadata": {"name": "chat"}, "spec": {"rayClusterConfig": spec()}});
    check(
        &raw,
        "head",
        1,
        &json!({
            "/metadata/generateName": "chat-00000-head-",
            "/metadata/labels/ray.io~1serve": "false",
            "/metadata/ownerReferences/0/apiVersion": "ray.io/v1",
            "/metadata/ownerReferences/0/kind": "RayCluster",
            "/metadata/ownerReferences/0/name": "chat-00000",
            "/spec/containers/0/env/7": {"name": "RAY_SERVE_KV_TIMEOUT_S", "value": "5"},
        }),
    );
    check(&raw, "gpu", 8, &json!({"/metadata/labels/ray.io~1serve": "true"}));
}

#[rstest]
#[case::no_head(json!({}), "spec.headGroupSpec is missing")]
#[case::misspelled_head(
    json!({"heaGdroupSpec": {}}),
    "spec.headGroupSpec is missing: RayClusterSpec has no field heaGdroupSpec: did you mean headGroupSpec?"
)]
#[case::no_template(json!({"headGroupSpec": {}}), "spec.headGroupSpec.template is missing")]
#[case::no_name(json!({"headGroupSpec": {"template": {"spec": {}}}, "workerGroupSpecs": [{}]}), "spec.workerGroupSpecs[0].groupName is missing")]
#[case::negative(
    json!({"headGroupSpec": {"template": {"spec": {}}}, "workerGroupSpecs": [{"groupName": "a", "numOfHosts": -1}]}),
    "spec.workerGroupSpecs[0].numOfHosts is -1: expected a whole number from 0 to 2147483647"
)]
fn an_invalid_spec_is_rejected(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(error(&with(cluster(), "/spec", spec)), expected);
}

#[test]
fn a_suspended_cluster_has_a_note() {
    let roles = render(&with(cluster(), "/spec/suspend", true.into())).unwrap();
    assert!(roles.iter().all(|role| role.notes.iter().any(|note| note.contains("is suspended"))));
}

#[rstest]
#[case::head(json!({"ray.io/node-type": "head", "ray.io/group": "headgroup"}), Some("head"), Some(0), true)]
#[case::worker(json!({"ray.io/group": "gpu", "ray.io/worker-group-replica-index": "3"}), Some("gpu"), Some(3), true)]
#[case::several_hosts(json!({"ray.io/group": "gpu", "ray.io/worker-group-replica-index": "3", "ray.io/replica-host-index": "1"}), Some("gpu"), None, true)]
#[case::serving(json!({"ray.io/group": "gpu", "ray.io/serve": "true"}), Some("gpu"), None, false)]
fn pods_are_identified_by_labels(
    #[case] mut labels: Value,
    #[case] role: Option<&str>,
    #[case] index: Option<u64>,
    #[case] training: bool,
) {
    labels["ray.io/is-ray-node"] = "yes".into();
    labels["ray.io/cluster"] = "tune".into();
    let raw = json!({"metadata": {"labels": labels}});
    let expected = PodIdentity { kind: &KIND, workload: "tune", role, index, training };
    assert_eq!(crate::workload::identify(Pod::new(&raw)), Some(expected));
}
