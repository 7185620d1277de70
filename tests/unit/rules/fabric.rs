//! The rule that gives a pod its fabric.

mod choice;
mod delivery;
mod laws;
mod limits;
mod parts;
mod site;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::{Outcome, RuleId, RuleOutcome, Snapshot, mutate};
use trainmesh_testing::snapshot::snapshot;

/// A profile with every kind of part.
const WHOLE: &str = r#"
transport: ib
env:
  - {name: NCCL_IB_HCA, value: mlx5}
  - {name: UCX_TLS, value: tcp, via: env}
resources:
  - {name: rdma/ib, mode: perGpu, ratio: "1/2"}
  - {name: rdma/extra, mode: perPod}
  - {name: hugepages-2Mi, quantity: 64Mi}
networks:
  multus: {attach: [{name: fabric/rdma, count: perResource}, {name: storage, ifName: net9}]}
  gke: {defaultInterface: eth0, interfaces: [{interfaceName: eth0, network: default}, {interfaceName: eth2, network: rdma-0}]}
dra: {claims: [{name: rdma, resourceClaimTemplateName: fabric-mrdma}], extendedResource: deviceclass.resource.kubernetes.io/efa}
securityContext: {capabilities: {add: [IPC_LOCK]}}
volumes:
  shm: {sizeLimit: 1Gi}
  hostPaths: [{hostPath: /opt/gib, mountPath: /usr/local/gib, type: Directory, readOnly: true}]
  configMaps: [{name: topology, mountPath: /opt/topology}]
pod:
  nodeSelector: {pool: fabric}
  tolerations: [{key: fabric, operator: Exists, effect: NoSchedule}]
  annotations: {devices.example.com/container: all}
  labels: {fabric: member}
  podAntiAffinity: hostname
sidecars:
  - ref: fabric-daemon
    image: daemon
    capabilities: [NET_ADMIN]
    env: {DAEMON: "1"}
    hostPaths: [{hostPath: /sys, mountPath: /host/sys, readOnly: true}]
mesh: {istio: excludeInterfaces, interfaces: [net1]}
failClosed: {ncclNet: IB}
"#;

/// A world with one profile, called `f`, that the namespace names.
struct World {
    labels: BTreeMap<String, String>,
    config: Configuration,
}

impl World {
    /// The profile's fields, as a mapping without its name.
    fn new(profile: &str) -> Self {
        Self::with("enabled: true", profile)
    }

    /// As [`World::new`], with another field of the section `fabric`.
    fn with(field: &str, profile: &str) -> Self {
        let indented: Vec<String> = profile.trim().lines().map(|line| format!("      {line}")).collect();
        let indented = indented.join("\n");
        let header = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
        // What the lint says of the pods has tests of its own; FP021 depends on the rule.
        let checks = (1..=35).filter(|number| *number != 21).map(|number| format!("FP{number:03}"));
        let silent = checks.collect::<Vec<_>>().join(", ");
        let text = format!(
            "{header}fabric:\n  {field}\n  lint: {{disable: [{silent}]}}\n  profiles:\n    - name: f\n{indented}"
        );
        let config = Configuration::parse(&text).map_err(|problems| format!("{text}\n{problems:#?}")).unwrap();
        Self { labels: BTreeMap::new(), config }.label("trainmesh.dev/fabric", "f")
    }

    fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    fn run(&self, pod: &Value) -> Outcome {
        self.run_at(pod, ClusterView::default())
    }

    fn run_at(&self, pod: &Value, cluster: ClusterView<'_>) -> Outcome {
        mutate(pod, &Snapshot { cluster, ..snapshot(&self.labels, &self.config) })
    }
}

fn fabric(outcome: &Outcome) -> &RuleOutcome {
    outcome.rules.iter().find(|outcome| outcome.rule == RuleId::Fabric).unwrap()
}

fn said(outcome: &Outcome) -> String {
    let rule = fabric(outcome);
    format!("{} {}", rule.outcome.name(), rule.reason.code())
}

fn patched(outcome: &Outcome, pod: &Value) -> Value {
    let mut after = pod.clone();
    outcome.patch.apply(&mut after).unwrap();
    after
}

/// A pod whose one container asks for eight accelerators.
fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {"containers": [
        {"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8", "memory": "64Gi"}}},
    ]}})
}

/// `pod` with `value` at `pointer`; parents are made, and `-` is the end of a list.
fn with(mut pod: Value, pointer: &str, value: Value) -> Value {
    let mut place = &mut pod;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let list = token == "-" || (place.is_array() && token.bytes().all(|byte| byte.is_ascii_digit()));
        if place.is_null() {
            *place = if list { json!([]) } else { json!({}) };
        }
        place = match place {
            Value::Array(items) => {
                let index = token.parse().unwrap_or(items.len());
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            other => &mut other[token.as_str()],
        };
    }
    *place = value;
    pod
}
