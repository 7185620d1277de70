//! What a pod gets from the kubelet because its namespace names a fabric.

use serde_json::Value;

use super::settings::{Names, SHARED};
use super::trainer::{given, pod};
use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};
use trainmesh_testing::webhook::{APPLIED, Webhook};

const GPUS: &str = "TEST_NVIDIA_COM_GPU";
const ADAPTERS: &str = "TEST_RDMA_HCA_SHARED_DEVICES_A";

/// The runtime's own `/dev/shm`.
const DEFAULT_SHM: u64 = 64;

#[test]
fn a_pod_has_what_its_fabric_promises() {
    Cluster::get().devices();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SHARED);
    let created = namespace.create(&pod("train", 2)).success();
    assert_eq!(created.warnings().collect::<Vec<_>>(), [""; 0]);

    let train = given(&namespace, "train", "train");
    assert_eq!((train.devices(GPUS), train.devices(ADAPTERS)), (2, 1), "{:?}", train.env);
    assert!(train.locks_memory(), "{train:?}");
    assert!(train.shm_mebibytes() > DEFAULT_SHM, "{train:?}");
    assert_eq!(train.conf, "", "no container needs the file");
    assert_eq!(Names::of_env(&train.env), Names::of_profile("ib-shared"));

    let helper = given(&namespace, "train", "helper");
    assert_eq!((helper.devices(GPUS), helper.devices(ADAPTERS)), (0, 0), "{:?}", helper.env);
    assert!(!helper.locks_memory(), "{helper:?}");
    assert_eq!(helper.shm_mebibytes(), DEFAULT_SHM);
    assert_eq!(Names::of_env(&helper.env), Names::default());
}

/// Without the webhook the same pod has GPUs, and nothing to reach others by.
#[test]
fn a_pod_without_a_fabric_has_its_gpus_alone() {
    Cluster::get().devices();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SHARED[..1]);
    let _ = namespace.create(&pod("train", 2)).success();
    let train = given(&namespace, "train", "train");
    assert_eq!((train.devices(GPUS), train.devices(ADAPTERS)), (2, 0), "{:?}", train.env);
    assert!(!train.locks_memory(), "{train:?}");
    assert_eq!(train.shm_mebibytes(), DEFAULT_SHM);
}

#[test]
fn more_adapters_than_a_node_has_leave_the_pod_pending_and_the_scheduler_says_why() {
    Cluster::get().devices();
    let webhook = Webhook::start();
    webhook.configure(
        "fabric: {profiles: [{name: few, transport: ib, resources: [{name: rdma/few, mode: perGpu, ratio: \"1\"}]}]}",
    );
    webhook.process.counts(APPLIED, 2);
    let namespace = webhook.namespace(&[SHARED[0], ("trainmesh.dev/fabric", "few")]);
    let _ = namespace.create(&pod("train", 3)).success();
    let asked = |pod: &Value| pod["spec"]["containers"][1]["resources"]["limits"]["rdma/few"].clone();
    eventually(PATIENCE, "the scheduler has judged the pod", || {
        let pod = namespace.get("pod", "train").expect("the pod is there");
        assert_eq!(asked(&pod), "3");
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let judged = conditions.iter().find(|condition| condition["reason"] == "Unschedulable");
        let message = judged.and_then(|condition| condition["message"].as_str());
        match message {
            Some(message) if message.contains("Insufficient rdma/few") => Ok(()),
            _ => Err(pod["status"].to_string()),
        }
    });
}
