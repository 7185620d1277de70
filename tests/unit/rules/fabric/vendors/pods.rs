//! Pods of vendors' manifests, reduced to what the profiles look at.

use serde_json::{Map, Value, json};

use super::super::with;

pub const EFA: &str = "vpc.amazonaws.com/efa";
pub const NETWORKS: &str = "k8s.v1.cni.cncf.io~1networks";

/// Returns a pod with memory at `/dev/shm` whose container requests these resources.
pub fn pod(limits: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {
        "containers": [{"name": "train", "image": "i", "resources": {"limits": limits, "requests": limits},
            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }})
}

pub fn select(pod: Value, label: &str, machine: &str) -> Value {
    with(pod, "/spec/nodeSelector", json!({label: machine}))
}

pub fn on(pod: Value, machine: &str) -> Value {
    select(pod, "node.kubernetes.io/instance-type", machine)
}

/// Returns a pod with 8 GPUs that selects its machine by Karpenter's labels: family, size.
pub fn karpenter(parts: &[&str]) -> Value {
    let labels = ["karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-size"].into_iter().zip(parts);
    let labels: Map<String, Value> = labels.map(|(label, part)| (label.to_owned(), json!(part))).collect();
    with(pod(&json!({"nvidia.com/gpu": 8})), "/spec/nodeSelector", labels.into())
}

pub fn require(pod: Value, label: &str, machines: &[&str]) -> Value {
    let terms = json!([{"matchExpressions": [{"key": label, "operator": "In", "values": machines}]}]);
    let pointer = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    with(pod, pointer, terms)
}

pub fn annotate(pod: Value, key: &str, value: &str) -> Value {
    with(pod, &format!("/metadata/annotations/{key}"), json!(value))
}

pub fn claim(pod: Value, name: &str, template: &str) -> Value {
    let pod = with(pod, "/spec/containers/0/resources/claims/-", json!({"name": name}));
    with(pod, "/spec/resourceClaims/-", json!({"name": name, "resourceClaimTemplateName": template}))
}

pub fn lock(pod: Value) -> Value {
    with(pod, "/spec/containers/0/securityContext/capabilities/add", json!(["IPC_LOCK"]))
}

/// Tests of `CoreWeave` (coreweave/nccl-tests, mpi-operator).
pub fn coreweave(gpus: u64, machine: &str) -> Value {
    require(pod(&json!({"nvidia.com/gpu": gpus, "rdma/ib": 1})), "node.coreweave.cloud/type", &[machine])
}

/// `CoreWeave`'s GB300 with RoCE: sixteen networks.
pub fn coreweave_roce() -> Value {
    let ports = (0..4).flat_map(|card| (0..4).map(move |port| format!("ibs{card}p{port}-macvlan")));
    let networks: Vec<Value> = ports.map(|name| json!({"name": name, "namespace": "cw-multus"})).collect();
    annotate(coreweave(4, "gb300-4x"), NETWORKS, &json!(networks).to_string())
}

/// Google's NCCL tests with one network for each adapter (GoogleCloudPlatform/container-engine-accelerators).
pub fn gke(gpus: u64, adapters: usize, accelerator: Option<&str>) -> Value {
    let default = json!({"interfaceName": "eth0", "network": "default"});
    let fast = (0..adapters)
        .map(|index| json!({"interfaceName": format!("eth{}", index + 2), "network": format!("rdma-{index}")}));
    let interfaces: Vec<Value> = std::iter::once(default).chain(fast).collect();
    let pod = with(
        gke_claimed(gpus),
        "/metadata/annotations",
        json!({
            "networking.gke.io/default-interface": "eth0",
            "networking.gke.io/interfaces": json!(interfaces).to_string(),
        }),
    );
    match accelerator {
        Some(accelerator) => select(pod, "cloud.google.com/gke-accelerator", accelerator),
        None => pod,
    }
}

/// The volumes of Google's NCCL tests.
pub fn gke_claimed(gpus: u64) -> Value {
    let mounts = [
        ("nvidia", "/home/kubernetes/bin/nvidia", "/usr/local/nvidia"),
        ("gib", "/home/kubernetes/bin/gib", "/usr/local/gib"),
    ];
    let env = json!([{"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"}]);
    let pod = with(pod(&json!({"nvidia.com/gpu": gpus})), "/spec/containers/0/env", env);
    mounts.into_iter().fold(pod, |pod, (name, from, to)| {
        let pod = with(pod, "/spec/volumes/-", json!({"name": name, "hostPath": {"path": from}}));
        with(pod, "/spec/containers/0/volumeMounts/-", json!({"name": name, "mountPath": to}))
    })
}

/// Google's NCCL test for TCPXO, whose daemon is a container beside the test.
pub fn gke_tcpxo() -> Value {
    let daemon = json!({"name": "tcpxo-daemon", "image": "i"});
    with(gke(8, 8, Some("nvidia-h100-mega-80gb")), "/spec/containers/-", daemon)
}

/// Azure's NCCL tests (Azure/ai-infrastructure-on-azure, `infrastructure_validations/aks/NCCL`).
pub fn aks(gpus: u64) -> Value {
    lock(pod(&json!({"nvidia.com/gpu": gpus, "rdma/ib": gpus})))
}

/// Azure's NCCL tests with shared adapters (Azure/aks-rdma-infiniband).
pub fn aks_shared() -> Value {
    lock(pod(&json!({"nvidia.com/gpu": 8, "rdma/shared_ib": 1})))
}

/// AWS's NCCL tests (awslabs/awsome-distributed-ai, micro-benchmarks/nccl-tests/kubernetes).
pub fn eks(gpus: u64, adapters: u64) -> Value {
    let limits = json!({"nvidia.com/gpu": gpus, EFA: adapters, "hugepages-2Mi": "5120Mi", "memory": "32000Mi"});
    let pod = pod(&limits);
    with(pod, "/spec/volumes/0", json!({"name": "shm", "hostPath": {"path": "/dev/shm"}}))
}

/// Oracle's NCCL and RCCL tests with virtual functions (oracle-quickstart/oci-hpc-oke).
pub fn oke_vf(gpu: &str, functions: usize, shape: &str, network: &str) -> Value {
    let pod = with(oke(gpu, 8, shape), "/spec/containers/0/resources/limits/nvidia.com~1rdma-vf", json!(functions));
    let pod = with(pod, "/spec/containers/0/resources/requests/nvidia.com~1rdma-vf", json!(functions));
    annotate(pod, NETWORKS, &vec![network; functions].join(","))
}

/// Oracle's NCCL and RCCL tests over the host network (oracle-quickstart/oci-hpc-oke).
pub fn oke_host(gpu: &str, gpus: u64, shape: &str) -> Value {
    let pod = with(oke(gpu, gpus, shape), "/spec/hostNetwork", json!(true));
    with(pod, "/spec/dnsPolicy", json!("ClusterFirstWithHostNet"))
}

/// Crusoe's NCCL tests (crusoecloud/solutions-library).
pub fn crusoe(gpus: u64) -> Value {
    lock(pod(&json!({"nvidia.com/gpu": gpus, "nvidia.com/hostdev": gpus})))
}

/// The RDMA test pods of NVIDIA's network operator (Mellanox/network-operator, example).
pub fn network_operator(resource: &str, network: &str) -> Value {
    annotate(lock(pod(&json!({"nvidia.com/gpu": 1, resource: 1}))), NETWORKS, network)
}

/// Nebius's NCCL tests (nebius/nebius-solutions-library).
pub fn nebius() -> Value {
    privileged(pod(&json!({"nvidia.com/gpu": 8})))
}

/// The test pod of the RDMA shared device plugin, with a GPU (Mellanox/k8s-rdma-shared-dev-plugin).
pub fn shared_plugin() -> Value {
    lock(pod(&json!({"nvidia.com/gpu": 1, "rdma/hca_shared_devices_a": 1})))
}

/// A privileged pod of Oracle's that mounts the devices of the node.
fn oke(gpu: &str, gpus: u64, shape: &str) -> Value {
    let pod = privileged(lock(pod(&json!({gpu: gpus}))));
    let pod = with(pod, "/spec/volumes/-", json!({"name": "devinf", "hostPath": {"path": "/dev/infiniband"}}));
    let mount = json!({"name": "devinf", "mountPath": "/dev/infiniband"});
    on(with(pod, "/spec/containers/0/volumeMounts/-", mount), shape)
}

fn privileged(pod: Value) -> Value {
    with(pod, "/spec/containers/0/securityContext/privileged", json!(true))
}
