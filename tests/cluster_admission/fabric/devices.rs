//! Devices and limits that the kubelet gives to a pod whose namespace selects a fabric.

use serde_json::Value;

use super::inspection::{inspect, pod};
use super::settings::{SHARED, Settings};
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::webhook::{APPLIED, Webhook};

const GPUS: &str = "TEST_NVIDIA_COM_GPU";
const ADAPTERS: &str = "TEST_RDMA_HCA_SHARED_DEVICES_A";

/// Size of the runtime's default `/dev/shm` in MiB.
const DEFAULT_SHM: u64 = 64;

#[test]
fn a_pod_gets_the_resources_of_its_fabric() {
    Cluster::get().start_devices();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SHARED);
    let created = namespace.create(&pod("train", 2)).success();
    assert_eq!(created.warnings().collect::<Vec<_>>(), [""; 0]);

    let train = inspect(&namespace, "train", "train");
    assert_eq!((train.devices(GPUS), train.devices(ADAPTERS)), (2, 1), "{:?}", train.env);
    assert!(train.locks_memory(), "{train:?}");
    assert!(train.shm_mebibytes() > DEFAULT_SHM, "{train:?}");
    assert_eq!(train.conf, "", "no file expected");
    assert_eq!(Settings::from_env(&train.env), Settings::from_profile("ib-shared"));

    let sidecar = inspect(&namespace, "train", "sidecar");
    assert_eq!((sidecar.devices(GPUS), sidecar.devices(ADAPTERS)), (0, 0), "{:?}", sidecar.env);
    assert!(!sidecar.locks_memory(), "{sidecar:?}");
    assert_eq!(sidecar.shm_mebibytes(), DEFAULT_SHM);
    assert_eq!(Settings::from_env(&sidecar.env), Settings::default());
}

/// Without a fabric, the same pod has GPUs but no adapters.
#[test]
fn a_pod_without_a_fabric_gets_only_gpus() {
    Cluster::get().start_devices();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SHARED[..1]);
    let _ = namespace.create(&pod("train", 2)).success();
    let train = inspect(&namespace, "train", "train");
    assert_eq!((train.devices(GPUS), train.devices(ADAPTERS)), (2, 0), "{:?}", train.env);
    assert!(!train.locks_memory(), "{train:?}");
    assert_eq!(train.shm_mebibytes(), DEFAULT_SHM);
}

#[test]
fn a_pod_that_needs_too_many_adapters_is_unschedulable() {
    Cluster::get().start_devices();
    let webhook = Webhook::start();
    webhook.configure(
        "fabric: {profiles: [{name: few, transport: ib, resources: [{name: rdma/few, mode: perGpu, ratio: \"1\"}]}]}",
    );
    webhook.process.wait_for_metric(APPLIED, 2);
    let namespace = webhook.namespace(&[SHARED[0], ("trainmesh.dev/fabric", "few")]);
    let _ = namespace.create(&pod("train", 3)).success();
    let requested = |pod: &Value| pod["spec"]["containers"][1]["resources"]["limits"]["rdma/few"].clone();
    eventually(TIMEOUT, "the scheduler reports missing adapters", || {
        let pod = namespace.get("pod", "train").expect("the pod exists");
        assert_eq!(requested(&pod), "3");
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let unschedulable = conditions.iter().find(|condition| condition["reason"] == "Unschedulable");
        let message = unschedulable.and_then(|condition| condition["message"].as_str());
        match message {
            Some(message) if message.contains("Insufficient rdma/few") => Ok(()),
            _ => Err(pod["status"].to_string()),
        }
    });
}
