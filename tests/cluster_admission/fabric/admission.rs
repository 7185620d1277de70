//! Pods that would be rejected because of what a fabric profile adds.

use rstest::rstest;
use serde_json::{Value, json};

use super::inspection::{inspect, pod};
use super::settings::SHARED;
use trainmesh_testing::cluster::{Cluster, KubectlOutput, Namespace, TIMEOUT, eventually};
use trainmesh_testing::webhook::{APPLIED, Webhook};

const ENFORCED: &str = "pod-security.kubernetes.io/enforce";

/// Like ib-shared, with guards that only warn.
const LENIENT: &str = "fabric: {profiles: [{name: lenient, transport: ib, guards: {psa: warn, quota: warn}, \
    resources: [{name: rdma/hca_shared_devices_a, mode: perPod}], \
    securityContext: {capabilities: {add: [IPC_LOCK]}}}]}";

/// Returns a pod that the level `restricted` admits.
fn restricted(name: &str) -> Value {
    let mut pod = pod(name, 1);
    pod["spec"]["securityContext"] =
        json!({"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}});
    for container in pod["spec"]["containers"].as_array_mut().unwrap() {
        container["securityContext"] = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    }
    pod
}

fn applied(namespace: &Namespace, pod: &str) -> Option<String> {
    annotation(namespace, pod, "trainmesh.dev/applied")
}

fn annotation(namespace: &Namespace, pod: &str, key: &str) -> Option<String> {
    let pod = namespace.get("pod", pod).expect("the pod exists");
    pod["metadata"]["annotations"][key].as_str().map(str::to_owned)
}

/// The pod runs unchanged, and the user gets a warning.
#[rstest]
#[case::baseline("baseline", pod("train", 1))]
#[case::restricted("restricted", restricted("train"))]
fn a_fabric_forbidden_by_pod_security_is_not_applied(#[case] level: &str, #[case] pod: Value) {
    Cluster::get().start_devices();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[SHARED[0], SHARED[1], (ENFORCED, level)]);
    let created = namespace.create(&pod).success();
    let expected = format!("Pod Security {level} forbids capability IPC_LOCK");
    assert!(created.warnings().any(|warning| warning.contains(&expected)), "{}", created.stderr);
    assert_eq!(applied(&namespace, "train"), None);
    assert_eq!(annotation(&namespace, "train", "trainmesh.dev/refused").as_deref(), Some("fabric=FabricGuarded"));
    assert_eq!(inspect(&namespace, "train", "train").devices("TEST_RDMA_HCA_SHARED_DEVICES_A"), 0);
}

#[test]
fn a_fabric_allowed_by_pod_security_is_applied() {
    Cluster::get().start_devices();
    let webhook = Webhook::start();
    let labels = [SHARED[0], ("trainmesh.dev/fabric", "tcp"), (ENFORCED, "restricted")];
    let namespace = webhook.namespace(&labels);
    let created = namespace.create(&restricted("train")).success();
    assert_eq!(created.warnings().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(applied(&namespace, "train").as_deref(), Some("fabric=tcp"));
    let train = inspect(&namespace, "train", "train");
    assert_eq!(train.env.get("NCCL_NET").map(String::as_str), Some("Socket"));
}

/// Shows why guards exist: without them, the pod is rejected by another admission plugin.
#[rstest]
#[case::pod_security("baseline", ("violates PodSecurity \"baseline:latest\"", "IPC_LOCK"))]
#[case::quota("privileged", ("exceeded quota: adapters", "requests.rdma/hca_shared_devices_a=1"))]
fn pods_are_rejected_when_guards_only_warn(#[case] level: &str, #[case] message: (&str, &str)) {
    Cluster::get().start_devices();
    let webhook = Webhook::start();
    webhook.configure(LENIENT);
    webhook.process.wait_for_metric(APPLIED, 2);
    let namespace = webhook.namespace(&[SHARED[0], ("trainmesh.dev/fabric", "lenient"), (ENFORCED, level)]);
    exhaust_quota(&namespace);
    let created = namespace.create(&pod("train", 1));
    assert!(is_rejected_with(&created, message), "{}", created.stderr);
    let mut without = pod("train", 1);
    without["metadata"]["labels"] = json!({"trainmesh.dev/fabric": "none"});
    let _ = namespace.create(&without).success();
}

fn is_rejected_with(created: &KubectlOutput, (source, detail): (&str, &str)) -> bool {
    !created.status.success() && created.errors().any(|error| error.contains(source) && error.contains(detail))
}

/// Creates an exhausted quota, and waits for its controller: a quota takes effect after its first sync.
fn exhaust_quota(namespace: &Namespace) {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "adapters"},
        "spec": {"hard": {"requests.rdma/hca_shared_devices_a": "0"}}});
    let _ = namespace.create(&quota).success();
    eventually(TIMEOUT, "the quota has a usage", || {
        let quota = namespace.get("resourcequota", "adapters").expect("the quota exists");
        if quota["status"]["used"].is_object() { Ok(()) } else { Err(quota.to_string()) }
    });
}
