//! The rule that adds a fabric profile to a pod.

mod claims;
mod cluster_view;
mod delivery;
mod fields;
mod invariants;
mod limits;
mod parts;
mod second_set;
mod selection;
mod vendors;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::{Outcome, RuleId, RuleOutcome, Snapshot, mutate};
use trainmesh_testing::snapshot::snapshot;

/// A profile that uses every feature.
const FULL_PROFILE: &str = r#"
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

/// A configuration with one profile, `f`, and a namespace that selects it.
struct Scenario {
    labels: BTreeMap<String, String>,
    config: Configuration,
}

impl Scenario {
    /// Creates a scenario from the profile's fields, a mapping without its name.
    fn new(profile: &str) -> Self {
        Self::with("enabled: true", profile)
    }

    /// Like [`Scenario::new`], with another field of the section `fabric`.
    fn with(field: &str, profile: &str) -> Self {
        let indented: Vec<String> = profile.trim().lines().map(|line| format!("      {line}")).collect();
        let indented = indented.join("\n");
        let header = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
        // The lint has its own tests; FP021 depends on this rule.
        let checks = (1..=47).filter(|number| *number != 21).map(|number| format!("FP{number:03}"));
        let disabled = checks.collect::<Vec<_>>().join(", ");
        let text = format!(
            "{header}fabric:\n  {field}\n  lint: {{disable: [{disabled}]}}\n  profiles:\n    - name: f\n{indented}"
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

/// Returns the notes about the parts of the profile, one in a line.
fn notes(outcome: &Outcome) -> String {
    fabric(outcome).notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn decision(outcome: &Outcome) -> String {
    let rule = fabric(outcome);
    format!("{} {}", rule.outcome.name(), rule.reason.code())
}

fn patched(outcome: &Outcome, pod: &Value) -> Value {
    let mut after = pod.clone();
    outcome.patch.apply(&mut after).unwrap();
    after
}

/// Returns a pod whose only container requests eight accelerators.
fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {"containers": [
        {"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8", "memory": "64Gi"}}},
    ]}})
}

/// Sets `value` at `pointer` in `pod`, creating parents; `-` appends to a list.
fn with(mut pod: Value, pointer: &str, value: Value) -> Value {
    let mut target = &mut pod;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let list = token == "-" || (target.is_array() && token.bytes().all(|byte| byte.is_ascii_digit()));
        if target.is_null() {
            *target = if list { json!([]) } else { json!({}) };
        }
        target = match target {
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
    *target = value;
    pod
}
