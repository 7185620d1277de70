//! Each profile on a pod of its vendor's own manifest: the pod is left as it is, completed, or refused with the reason.
//! The pods are reduced to what the profile looks at; config/fabric-sources.txt has the manifests and their commits.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::{Snapshot, mutate};
use trainmesh_testing::snapshot::snapshot;

use super::{decision, fabric, patched, with};

const ADDED: &str = "applied FabricAdded";
const REFUSED: &str = "refused FabricContradicted";
const EFA: &str = "vpc.amazonaws.com/efa";
const VF: &str = "nvidia.com/rdma-vf";
const NETWORKS: &str = "k8s.v1.cni.cncf.io~1networks";

/// Returns a pod with memory at `/dev/shm` whose container requests these resources.
fn pod(limits: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {
        "containers": [{"name": "train", "image": "i", "resources": {"limits": limits, "requests": limits},
            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }})
}

fn select(pod: Value, label: &str, machine: &str) -> Value {
    with(pod, "/spec/nodeSelector", json!({label: machine}))
}

fn on(pod: Value, machine: &str) -> Value {
    select(pod, "node.kubernetes.io/instance-type", machine)
}

fn require(pod: Value, label: &str, machines: &[&str]) -> Value {
    let terms = json!([{"matchExpressions": [{"key": label, "operator": "In", "values": machines}]}]);
    let pointer = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    with(pod, pointer, terms)
}

fn annotate(pod: Value, key: &str, value: &str) -> Value {
    with(pod, &format!("/metadata/annotations/{key}"), json!(value))
}

fn claim(pod: Value, name: &str, template: &str) -> Value {
    let pod = with(pod, "/spec/containers/0/resources/claims/-", json!({"name": name}));
    with(pod, "/spec/resourceClaims/-", json!({"name": name, "resourceClaimTemplateName": template}))
}

fn lock(pod: Value) -> Value {
    with(pod, "/spec/containers/0/securityContext/capabilities/add", json!(["IPC_LOCK"]))
}

/// Tests of `CoreWeave` (coreweave/nccl-tests, mpi-operator).
fn coreweave(gpus: u64, machine: &str) -> Value {
    require(pod(&json!({"nvidia.com/gpu": gpus, "rdma/ib": 1})), "node.coreweave.cloud/type", &[machine])
}

/// `CoreWeave`'s GB300 with RoCE: sixteen networks.
fn coreweave_roce() -> Value {
    let ports = (0..4).flat_map(|card| (0..4).map(move |port| format!("ibs{card}p{port}-macvlan")));
    let networks: Vec<Value> = ports.map(|name| json!({"name": name, "namespace": "cw-multus"})).collect();
    annotate(coreweave(4, "gb300-4x"), NETWORKS, &json!(networks).to_string())
}

/// Google's NCCL tests with one network for each adapter (GoogleCloudPlatform/container-engine-accelerators).
fn gke(gpus: u64, adapters: usize, accelerator: Option<&str>) -> Value {
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
fn gke_claimed(gpus: u64) -> Value {
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

/// Azure's NCCL tests (Azure/ai-infrastructure-on-azure, `infrastructure_validations/aks/NCCL`).
fn aks(gpus: u64) -> Value {
    lock(pod(&json!({"nvidia.com/gpu": gpus, "rdma/ib": gpus})))
}

/// AWS's NCCL tests (awslabs/awsome-distributed-ai, micro-benchmarks/nccl-tests/kubernetes).
fn eks(gpus: u64, adapters: u64) -> Value {
    let limits = json!({"nvidia.com/gpu": gpus, EFA: adapters, "hugepages-2Mi": "5120Mi", "memory": "32000Mi"});
    let pod = pod(&limits);
    with(pod, "/spec/volumes/0", json!({"name": "shm", "hostPath": {"path": "/dev/shm"}}))
}

/// Oracle's NCCL and RCCL tests with virtual functions (oracle-quickstart/oci-hpc-oke).
fn oke(gpu: &str, functions: usize, shape: &str, network: &str) -> Value {
    let pod = with(pod(&json!({gpu: 8, VF: functions})), "/spec/containers/0/securityContext/privileged", json!(true));
    let pod = with(pod, "/spec/volumes/-", json!({"name": "devinf", "hostPath": {"path": "/dev/infiniband"}}));
    let mount = json!({"name": "devinf", "mountPath": "/dev/infiniband"});
    let pod = with(lock(pod), "/spec/containers/0/volumeMounts/-", mount);
    on(annotate(pod, NETWORKS, &vec![network; functions].join(",")), shape)
}

/// Crusoe's NCCL tests (crusoecloud/solutions-library).
fn crusoe(gpus: u64) -> Value {
    lock(pod(&json!({"nvidia.com/gpu": gpus, "nvidia.com/hostdev": gpus})))
}

/// The RDMA test pods of NVIDIA's network operator (Mellanox/network-operator, example).
fn network_operator(resource: &str, network: &str) -> Value {
    annotate(lock(pod(&json!({"nvidia.com/gpu": 1, resource: 1}))), NETWORKS, network)
}

/// Resources, claims and networks of the pod stay as they are, unless `added` lists them.
#[rstest]
#[case::coreweave_h100("coreweave-ib", coreweave(8, "gd-8xh100ib-i128"), ADDED, "found rdma/ib: 1", &[])]
#[case::coreweave_sharp("coreweave-ib-sharp", coreweave(8, "b300-8x"), ADDED, "added NCCL_COLLNET_ENABLE=1", &[])]
#[case::coreweave_gb200("coreweave-ib-nvl72", coreweave(4, "gb200-4x"), ADDED, "found rdma/ib: 1", &[])]
#[case::coreweave_gb200_with_8_gpus("coreweave-ib", coreweave(8, "gb200-4x"), REFUSED, "the profile is not for gb200-4x: select coreweave-ib-nvl72", &[])]
#[case::coreweave_gb300_roce("coreweave-roce-gb300", claim(coreweave_roce(), "compute-domain-channel", "nccl-test-cd-channel"), ADDED, "found rdma/ib: 1", &[])]
#[case::gke_a3u("gke-rdma-gib-a3u", gke(8, 8, None), ADDED, "found mount /usr/local/gib", &[])]
#[case::gke_a3u_on_b200("gke-rdma-gib-a3u", gke(8, 8, Some("nvidia-b200")), REFUSED, "not for nvidia-b200: select gke-rdma-gib-a4", &[])]
#[case::gke_a4("gke-rdma-gib-a4", gke(8, 8, Some("nvidia-b200")), ADDED, "tuner_config_a4.txtpb", &[])]
#[case::gke_a4x("gke-rdma-gib-a4x", claim(gke(4, 4, Some("nvidia-gb200")), "compute-domain-channel", "channel"), ADDED, "found mount", &[])]
#[case::gke_managed("gke-mrdma-dra", claim(gke_claimed(8), "rdma", "nccl-test-all-mrdma"), REFUSED, "train already claims devices by template nccl-test-all-mrdma: name it in dra.claims of the profile", &[])]
#[case::gke_managed_by_the_profile("gke-mrdma-dra", claim(gke_claimed(8), "net", "fabric-mrdma"), ADDED, "NCCL_NET=gIB", &[])]
#[case::gke_managed_on_b200("gke-mrdma-dra", select(claim(gke_claimed(8), "net", "fabric-mrdma"), "cloud.google.com/gke-accelerator", "nvidia-b200"), ADDED, "tuner_config_a4.txtpb", &[])]
#[case::gke_a4x_max("gke-mrdma-dra-a4x-max", claim(claim(gke_claimed(4), "compute-domain-channel", "nccl-test-compute-domain-channel"), "rdma", "nccl-test-all-mrdma"), REFUSED, "already claims devices by template nccl-test-all-mrdma", &[])]
#[case::gke_a4x_max_with_a_channel("gke-mrdma-dra-a4x-max", require(claim(gke_claimed(4), "compute-domain-channel", "channel"), "cloud.google.com/gke-accelerator", &["nvidia-gb300"]), ADDED, "added claim rdma (template fabric-mrdma)", &["claims"])]
#[case::aks_h100("aks-nd-sriov", on(aks(8), "Standard_ND96isr_H100_v5"), ADDED, "added NCCL_MIN_NCHANNELS=32", &[])]
#[case::aks_without_a_machine("aks-nd-sriov", aks(8), ADDED, "found rdma/ib: 8", &[])]
#[case::aks_gb300_in_the_h100_profile("aks-nd-sriov", on(aks(4), "Standard_ND128isr_GB300_v6"), REFUSED, "not for Standard_ND128isr_GB300_v6: select aks-nd-gb300", &[])]
#[case::aks_gb300("aks-nd-gb300", claim(on(aks(4), "Standard_ND128isr_GB300_v6"), "nccl-test-channel", "nccl-test-channel"), ADDED, "found rdma/ib: 4", &[])]
#[case::eks_p5("eks-efa", on(eks(8, 32), "p5.48xlarge"), ADDED, "found vpc.amazonaws.com/efa: 32", &[])]
#[case::eks_without_a_machine("eks-efa", eks(8, 32), ADDED, "found vpc.amazonaws.com/efa: 32", &[])]
#[case::eks_on_an_unknown_machine("eks-efa", on(eks(8, 7), "p9.48xlarge"), ADDED, "found vpc.amazonaws.com/efa: 7", &[])]
#[case::eks_with_other_adapters("eks-efa", on(eks(8, 16), "ml.p5.48xlarge"), ADDED, "kept vpc.amazonaws.com/efa: 16", &[])]
#[case::eks_p6e("eks-efa", claim(eks(4, 4), "compute-domain-channel", "eks-nccl-test-compute-domain-channel"), ADDED, "found vpc.amazonaws.com/efa: 4", &[])]
#[case::eks_claimed("eks-efa-dra", on(claim(pod(&json!({"nvidia.com/gpu": 1})), "efa", "gpu-efa-aligned"), "p4d.24xlarge"), REFUSED, "already claims devices by template gpu-efa-aligned", &[])]
#[case::eks_plugin_profile_claimed("eks-efa", on(claim(pod(&json!({"nvidia.com/gpu": 8})), "efa", "all-efa"), "p5.48xlarge"), REFUSED, "already claims devices", &[])]
#[case::eks_hyperpod("eks-efa", on(pod(&json!({"nvidia.com/gpu": 8})), "ml.p5.48xlarge"), ADDED, "added vpc.amazonaws.com/efa: 32", &[EFA])]
#[case::eks_p5_small("eks-efa", on(pod(&json!({"nvidia.com/gpu": 1})), "p5.4xlarge"), ADDED, "added vpc.amazonaws.com/efa: 1", &[EFA])]
#[case::eks_b300("eks-efa", on(pod(&json!({"nvidia.com/gpu": 8})), "p6-b300.48xlarge"), ADDED, "added vpc.amazonaws.com/efa: 16", &[EFA])]
#[case::eks_unknown_machine("eks-efa", on(pod(&json!({"nvidia.com/gpu": 8})), "p9.48xlarge"), REFUSED, "the number of vpc.amazonaws.com/efa on p9.48xlarge is unknown", &[])]
#[case::eks_two_machines("eks-efa", require(pod(&json!({"nvidia.com/gpu": 8})), "node.kubernetes.io/instance-type", &["p5.48xlarge", "p5en.48xlarge"]), REFUSED, "differs between p5.48xlarge and p5en.48xlarge: add a nodeSelector for one of them", &[])]
#[case::oke_h100("oke-roce-vf-h100", oke("nvidia.com/gpu", 16, "BM.GPU.H100.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 16", &[])]
#[case::oke_h200_in_the_h100_profile("oke-roce-vf-h100", oke("nvidia.com/gpu", 8, "BM.GPU.H200.8", "default/rdma-vf"), REFUSED, "not for BM.GPU.H200.8: select oke-roce-vf", &[])]
#[case::oke_h200("oke-roce-vf", oke("nvidia.com/gpu", 8, "BM.GPU.H200.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_b200("oke-roce-vf", oke("nvidia.com/gpu", 8, "BM.GPU.B200.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_b300("oke-roce-vf", oke("nvidia.com/gpu", 16, "BM.GPU.B300.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 16", &[])]
#[case::oke_a100("oke-roce-vf", oke("nvidia.com/gpu", 16, "BM.GPU.A100-v2.8", "rdma-vf"), ADDED, "kept networks rdma-vf", &[])]
#[case::oke_mi300x("oke-roce-vf-mi300x", oke("amd.com/gpu", 8, "BM.GPU.MI300X.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_mi355x("oke-roce-vf-mi355x", oke("amd.com/gpu", 8, "BM.GPU.MI355X-v1.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::crusoe_h200("crusoe-ib", on(crusoe(8), "h200-141gb-sxm-ib.8x"), ADDED, "h200-141gb-sxm-ib-cloud-hypervisor.xml", &[])]
#[case::crusoe_b300("crusoe-ib-b300", crusoe(8), ADDED, "found nvidia.com/hostdev: 8", &[])]
#[case::crusoe_gb200("crusoe-ib-gb200", claim(crusoe(4), "compute-domain-channel", "nccl-compute-domain-channel"), ADDED, "found nvidia.com/hostdev: 4", &[])]
#[case::macvlan("roce-shared-macvlan", network_operator("rdma/rdma_shared_device_a", "rdma-net-ipam"), ADDED, "kept networks rdma-net-ipam of the pod", &[])]
#[case::macvlan_of_another_purpose("roce-shared-macvlan", annotate(pod(&json!({"nvidia.com/gpu": 1})), NETWORKS, "storage"), ADDED, "added network macvlan-network", &["rdma/rdma_shared_device_a", "networks"])]
#[case::sriov("roce-sriov", network_operator("nvidia.com/sriov_resource", "example-sriov-network"), ADDED, "kept networks example-sriov-network", &[])]
#[case::sriov_ib("ib-sriov", network_operator("nvidia.com/mlnxnics", "example-sriov-ib-network"), ADDED, "kept networks", &[])]
fn leaves_a_vendors_pod_unharmed(
    #[case] profile: &str,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] part: &str,
    #[case] added: &[&str],
) {
    let config = Configuration::parse(include_str!("../../../../examples/fabric/coreweave-roce-gb300.yaml")).unwrap();
    let labels = BTreeMap::from([("trainmesh.dev/fabric".to_owned(), profile.to_owned())]);
    let facts = Snapshot { cluster: ClusterView::default(), ..snapshot(&labels, &config) };
    let outcome = mutate(&pod, &facts);
    assert_eq!(decision(&outcome), expected, "{:#?}", fabric(&outcome));
    let text = fabric(&outcome).notes.join("\n") + &outcome.warnings.join("\n");
    assert!(text.contains(part), "{text}");
    let after = patched(&outcome, &pod);
    for (pointer, of) in DEVICES {
        let [before, now] = [&pod, &after].map(|pod| devices(pod.pointer(pointer), added));
        assert!(before == now || added.contains(&of), "{pointer}: {before:#} became {now:#}");
    }
    assert!(outcome.failure.is_none() && mutate(&after, &facts).patch.is_empty());
}

/// Lists of devices and networks, and the name by which a row says that one grows.
const DEVICES: [(&str, &str); 5] = [
    ("/spec/containers/0/resources/limits", ""),
    ("/spec/containers/0/resources/claims", "claims"),
    ("/spec/resourceClaims", "claims"),
    ("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", "networks"),
    ("/metadata/annotations/networking.gke.io~1interfaces", "networks"),
];

/// Returns the value without the resources that a row expects to be added.
fn devices(value: Option<&Value>, added: &[&str]) -> Value {
    let mut value = value.cloned().unwrap_or_default();
    if let Some(resources) = value.as_object_mut() {
        resources.retain(|name, _| !added.contains(&name.as_str()));
    }
    value
}

/// Huge pages of the pod make the setting against them superfluous.
#[rstest]
#[case::requested(eks(8, 32), None)]
#[case::not_requested(pod(&json!({"nvidia.com/gpu": 8, EFA: 32})), Some("0"))]
fn huge_pages_are_disabled_only_where_none_are_requested(#[case] pod: Value, #[case] expected: Option<&str>) {
    let config = Configuration::default();
    let labels = BTreeMap::from([("trainmesh.dev/fabric".to_owned(), "eks-efa".to_owned())]);
    let after = patched(&mutate(&pod, &snapshot(&labels, &config)), &pod);
    let env = after.pointer("/spec/containers/0/env").and_then(Value::as_array).into_iter().flatten();
    let found = env.filter(|entry| entry["name"] == "FI_EFA_USE_HUGE_PAGE").map(|entry| entry["value"].as_str());
    assert_eq!(found.collect::<Vec<_>>(), expected.map(Some).into_iter().collect::<Vec<_>>());
}
