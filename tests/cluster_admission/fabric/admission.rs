//! Pods that what a fabric adds would have rejected.

use rstest::rstest;
use serde_json::{Value, json};

use super::settings::SHARED;
use super::trainer::{given, pod};
use trainmesh_testing::cluster::{Applied, Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::webhook::{APPLIED, Webhook};

const ENFORCED: &str = "pod-security.kubernetes.io/enforce";

/// As ib-shared, with guards that only warn.
const LENIENT: &str = "fabric: {profiles: [{name: lenient, transport: ib, guards: {psa: warn, quota: warn}, \
    resources: [{name: rdma/hca_shared_devices_a, mode: perPod}], \
    securityContext: {capabilities: {add: [IPC_LOCK]}}}]}";

/// A pod that the level `restricted` admits.
fn restricted(name: &str) -> Value {
    let mut pod = pod(name, 1);
    pod["spec"]["securityContext"] =
        json!({"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}});
    for container in pod["spec"]["containers"].as_array_mut().unwrap() {
        container["securityContext"] = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    }
    pod
}

fn fabric(namespace: &Namespace, pod: &str) -> Option<String> {
    let pod = namespace.get("pod", pod).expect("the pod is there");
    pod["metadata"]["annotations"]["trainmesh.dev/applied"].as_str().map(str::to_owned)
}

/// The pod runs as it was written, and its user is told.
#[rstest]
#[case::baseline("baseline", pod("train", 1))]
#[case::restricted("restricted", restricted("train"))]
fn a_level_that_forbids_the_fabric_leaves_the_pod_admissible(#[case] level: &str, #[case] pod: Value) {
    Cluster::get().devices();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[SHARED[0], SHARED[1], (ENFORCED, level)]);
    let created = namespace.create(&pod).success();
    let expected = format!("Pod Security {level} forbids capability IPC_LOCK");
    assert!(created.warnings().any(|warning| warning.contains(&expected)), "{}", created.stderr);
    assert_eq!(fabric(&namespace, "train"), None);
    assert_eq!(given(&namespace, "train", "train").devices("TEST_RDMA_HCA_SHARED_DEVICES_A"), 0);
}

#[test]
fn a_fabric_that_the_level_allows_is_given() {
    Cluster::get().devices();
    let webhook = Webhook::start();
    let labels = [SHARED[0], ("trainmesh.dev/fabric", "tcp"), (ENFORCED, "restricted")];
    let namespace = webhook.namespace(&labels);
    let created = namespace.create(&restricted("train")).success();
    assert_eq!(created.warnings().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(fabric(&namespace, "train").as_deref(), Some("fabric=tcp"));
    let train = given(&namespace, "train", "train");
    assert_eq!(train.env.get("NCCL_NET").map(String::as_str), Some("Socket"));
}

/// What the guards are for: without them the pod is refused, in the words of who refuses it.
#[rstest]
#[case::pod_security("baseline", ("violates PodSecurity \"baseline:latest\"", "IPC_LOCK"))]
#[case::quota("privileged", ("exceeded quota: adapters", "requests.rdma/hca_shared_devices_a=1"))]
fn guards_that_only_warn_let_the_pod_be_refused(#[case] level: &str, #[case] said: (&str, &str)) {
    Cluster::get().devices();
    let webhook = Webhook::start();
    webhook.configure(LENIENT);
    webhook.process.counts(APPLIED, 2);
    let namespace = webhook.namespace(&[SHARED[0], ("trainmesh.dev/fabric", "lenient"), (ENFORCED, level)]);
    exhausted(&namespace);
    let created = namespace.create(&pod("train", 1));
    assert!(refused(&created, said), "{}", created.stderr);
    let mut without = pod("train", 1);
    without["metadata"]["labels"] = json!({"trainmesh.dev/fabric": "none"});
    let _ = namespace.create(&without).success();
}

fn refused(created: &Applied, (who, what): (&str, &str)) -> bool {
    !created.status.success() && created.errors().any(|error| error.contains(who) && error.contains(what))
}

/// No adapter may be asked for any more. A quota counts once its controller has looked at it.
fn exhausted(namespace: &Namespace) {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "adapters"},
        "spec": {"hard": {"requests.rdma/hca_shared_devices_a": "0"}}});
    let _ = namespace.create(&quota).success();
    eventually(PATIENCE, "the quota is counted", || {
        let quota = namespace.get("resourcequota", "adapters").expect("the quota is there");
        if quota["status"]["used"].is_object() { Ok(()) } else { Err(quota.to_string()) }
    });
}
