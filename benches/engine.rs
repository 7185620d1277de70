//! How long the engine takes for one pod.

mod common;

use std::collections::BTreeMap;

use divan::Bencher;
use divan::counter::BytesCount;
use serde_json::{Value, json};
use trainmesh::config::Configuration;
use trainmesh::fabric::Site;
use trainmesh::mutate::{Mode, Snapshot, draft, mutate};

fn main() {
    divan::main();
}

type Named = (&'static str, fn() -> Value);

const PODS: [Named; 2] = [("plain", common::plain_pod), ("injected", common::injected_pod)];

/// A profile as large as they come: eight interfaces, ten settings, two paths of the node.
const LARGEST: &str = r#"
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  default: largest
  profiles:
    - name: largest
      transport: gib
      linkLayer: ethernet
      match: {minGpus: 1}
      env:
        - {name: NCCL_NET, value: gIB}
        - {name: NCCL_CROSS_NIC, value: "0"}
        - {name: NCCL_NET_GDR_LEVEL, value: PIX}
        - {name: NCCL_P2P_NET_CHUNKSIZE, value: "131072"}
        - {name: NCCL_NVLS_CHUNKSIZE, value: "524288"}
        - {name: NCCL_IB_ADAPTIVE_ROUTING, value: "1"}
        - {name: NCCL_IB_QPS_PER_CONNECTION, value: "4"}
        - {name: NCCL_IB_TC, value: "52"}
        - {name: NCCL_IB_FIFO_TC, value: "84"}
        - {name: NCCL_TUNER_CONFIG_PATH, value: /usr/local/gib/configs/tuner_config_a3u.txtpb}
      networks:
        gke:
          defaultInterface: eth0
          interfaces:
            - {interfaceName: eth0, network: default}
            - {interfaceName: eth2, network: rdma-0}
            - {interfaceName: eth3, network: rdma-1}
            - {interfaceName: eth4, network: rdma-2}
            - {interfaceName: eth5, network: rdma-3}
            - {interfaceName: eth6, network: rdma-4}
            - {interfaceName: eth7, network: rdma-5}
            - {interfaceName: eth8, network: rdma-6}
            - {interfaceName: eth9, network: rdma-7}
      volumes:
        shm: {sizeLimit: 250Gi}
        hostPaths:
          - {hostPath: /home/kubernetes/bin/nvidia, mountPath: /usr/local/nvidia}
          - {hostPath: /home/kubernetes/bin/gib, mountPath: /usr/local/gib}
"#;

/// The largest profile on eight containers that each ask for an accelerator.
#[divan::bench]
fn fabric_decide(bencher: Bencher<'_, '_>) {
    fabric(bencher, |pod, snapshot| divan::black_box(draft(pod, snapshot)).plan.writes().len());
}

#[divan::bench]
fn fabric_decide_build_and_verify(bencher: Bencher<'_, '_>) {
    fabric(bencher, |pod, snapshot| divan::black_box(mutate(pod, snapshot)).patch.operations().len());
}

fn fabric(bencher: Bencher<'_, '_>, work: impl Fn(&Value, &Snapshot<'_>) -> usize + Sync) {
    let config = Configuration::parse(LARGEST).unwrap_or_default();
    let containers: Vec<Value> = (0..8)
        .map(|index| json!({"name": format!("rank-{index}"), "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}))
        .collect();
    let mut pod = common::plain_pod();
    pod["spec"]["containers"] = containers.into();
    bench(bencher, &pod, &config, work);
}

#[divan::bench(args = PODS.map(|(name, _)| name))]
fn decide(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, name, |pod, snapshot| divan::black_box(draft(pod, snapshot)).plan.writes().len());
}

#[divan::bench(args = PODS.map(|(name, _)| name))]
fn decide_build_and_verify(bencher: Bencher<'_, '_>, name: &str) {
    run(bencher, name, |pod, snapshot| divan::black_box(mutate(pod, snapshot)).patch.operations().len());
}

fn run(bencher: Bencher<'_, '_>, name: &str, work: impl Fn(&Value, &Snapshot<'_>) -> usize + Sync) {
    let pod = PODS.iter().find(|(found, _)| *found == name).map(|(_, pod)| pod()).unwrap_or_default();
    bench(bencher, &pod, &Configuration::embedded(), work);
}

fn bench(
    bencher: Bencher<'_, '_>,
    pod: &Value,
    config: &Configuration,
    work: impl Fn(&Value, &Snapshot<'_>) -> usize + Sync,
) {
    let config_hash = config.hash();
    let labels = BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]);
    let snapshot = Snapshot {
        mode: Mode::Enabled,
        namespace: "default",
        labels: &labels,
        config,
        config_hash: &config_hash,
        replicas: None,
        site: Site::default(),
    };
    bencher.counter(BytesCount::new(pod.to_string().len())).bench(|| work(pod, &snapshot));
}
