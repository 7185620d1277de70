//! Each profile on a pod of its vendor's own manifest: the pod is left as it is, completed, or refused with the reason.
//! config/fabric-sources.txt lists the manifests and their commits.

mod pods;

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::{API_VERSION, Configuration, KIND};
use trainmesh_core::mutate::{Snapshot, mutate};
use trainmesh_testing::snapshot::snapshot;

use self::pods::*;
use super::{decision, fabric, notes, patched};

const ADDED: &str = "applied FabricAdded";
const REFUSED: &str = "refused FabricContradicted";
/// Profiles that are not built in.
const EXAMPLES: [&str; 7] = [
    include_str!("../../../../examples/fabric/coreweave-roce-gb300.yaml"),
    include_str!("../../../../examples/fabric/gke-tcpxo.yaml"),
    include_str!("../../../../examples/fabric/nebius-ib.yaml"),
    include_str!("../../../../examples/fabric/oke-hostnet-gb200.yaml"),
    include_str!("../../../../examples/fabric/oke-hostnet-gb300.yaml"),
    include_str!("../../../../examples/fabric/oke-hostnet-mi355x.yaml"),
    include_str!("../../../../examples/fabric/oke-roce-hostnet.yaml"),
];

/// Resources, claims and networks of the pod stay as they are, unless `added` lists them.
#[rstest]
#[case::coreweave_h100("coreweave-ib", coreweave(8, "gd-8xh100ib-i128"), ADDED, "found rdma/ib: 1", &[])]
#[case::coreweave_sharp("coreweave-ib-sharp", coreweave(8, "b300-8x"), ADDED, "added NCCL_COLLNET_ENABLE=1", &[])]
#[case::coreweave_gb200("coreweave-ib-nvl72", coreweave(4, "gb200-4x"), ADDED, "found rdma/ib: 1", &[])]
#[case::coreweave_gb200_with_8_gpus("coreweave-ib", coreweave(8, "gb200-4x"), REFUSED, "the profile is not for gb200-4x: select coreweave-ib-nvl72", &[])]
#[case::coreweave_gb200_in_the_8_gpu_profile("coreweave-ib", coreweave(4, "gb200-4x"), REFUSED, "the profile is not for gb200-4x: select coreweave-ib-nvl72", &[])]
#[case::coreweave_a_gpu_of_gb200("coreweave-ib", coreweave(1, "gb200-4x"), "skipped TooFewAccelerators", "", &[])]
#[case::coreweave_b200_in_the_nvl72_profile("coreweave-ib-nvl72", coreweave(8, "b200-8x"), REFUSED, "not for b200-8x: select coreweave-ib", &[])]
#[case::gke_a4x_in_the_a4_profile("gke-rdma-gib-a4", gke(4, 4, Some("nvidia-gb200")), REFUSED, "not for nvidia-gb200: select gke-rdma-gib-a4x", &[])]
#[case::coreweave_gb300_roce("coreweave-roce-gb300", claim(coreweave_roce(), "compute-domain-channel", "nccl-test-cd-channel"), ADDED, "found rdma/ib: 1", &[])]
#[case::gke_a3u("gke-rdma-gib-a3u", gke(8, 8, None), ADDED, "found mount /usr/local/gib", &[])]
#[case::gke_a3u_on_b200("gke-rdma-gib-a3u", gke(8, 8, Some("nvidia-b200")), REFUSED, "not for nvidia-b200: select gke-rdma-gib-a4", &[])]
#[case::gke_a4("gke-rdma-gib-a4", gke(8, 8, Some("nvidia-b200")), ADDED, "tuner_config_a4.txtpb", &[])]
#[case::gke_a4x("gke-rdma-gib-a4x", claim(gke(4, 4, Some("nvidia-gb200")), "compute-domain-channel", "channel"), ADDED, "found mount", &[])]
#[case::gke_managed("gke-mrdma-dra", claim(gke_claimed(8), "rdma", "nccl-test-all-mrdma"), REFUSED, "train claims devices by template nccl-test-all-mrdma, which is unknown: add its manifest", &[])]
#[case::gke_managed_by_the_profile("gke-mrdma-dra", claim(gke_claimed(8), "net", "fabric-mrdma"), ADDED, "NCCL_NET=gIB", &[])]
#[case::gke_managed_on_b200("gke-mrdma-dra", select(claim(gke_claimed(8), "net", "fabric-mrdma"), "cloud.google.com/gke-accelerator", "nvidia-b200"), ADDED, "tuner_config_a4.txtpb", &[])]
#[case::gke_tcpxo("gke-tcpxo", gke_tcpxo(), REFUSED, "container tcpxo-daemon is not a native sidecar: remove it: the profile adds it", &[])]
#[case::gke_a4x_max("gke-mrdma-dra-a4x-max", claim(claim(gke_claimed(4), "compute-domain-channel", "nccl-test-compute-domain-channel"), "rdma", "nccl-test-all-mrdma"), REFUSED, "claims devices by template nccl-test-all-mrdma", &[])]
#[case::gke_a4x_max_with_a_channel("gke-mrdma-dra-a4x-max", require(claim(gke_claimed(4), "compute-domain-channel", "channel"), "cloud.google.com/gke-accelerator", &["nvidia-gb300"]), ADDED, "added claim rdma (template fabric-mrdma)", &["claims"])]
#[case::aks_h100("aks-nd-sriov", on(aks(8), "Standard_ND96isr_H100_v5"), ADDED, "added NCCL_MIN_NCHANNELS=32", &[])]
#[case::aks_without_a_machine("aks-nd-sriov", aks(8), ADDED, "found rdma/ib: 8", &[])]
#[case::aks_gb300_in_the_h100_profile("aks-nd-sriov", on(aks(4), "Standard_ND128isr_GB300_v6"), REFUSED, "not for Standard_ND128isr_GB300_v6: select aks-nd-gb300", &[])]
#[case::aks_gb300("aks-nd-gb300", claim(on(aks(4), "Standard_ND128isr_GB300_v6"), "nccl-test-channel", "nccl-test-channel"), ADDED, "found rdma/ib: 4", &[])]
#[case::aks_h100_shared("aks-nd-shared", on(aks_shared(), "Standard_ND96isr_H100_v5"), ADDED, "found rdma/shared_ib: 1", &[])]
#[case::eks_p5("eks-efa", on(eks(8, 32), "p5.48xlarge"), ADDED, "found vpc.amazonaws.com/efa: 32", &[])]
#[case::eks_without_a_machine("eks-efa", eks(8, 32), ADDED, "found vpc.amazonaws.com/efa: 32", &[])]
#[case::eks_on_an_unknown_machine("eks-efa", on(eks(8, 7), "p9.48xlarge"), ADDED, "found vpc.amazonaws.com/efa: 7", &[])]
#[case::eks_with_other_adapters("eks-efa", on(eks(8, 16), "ml.p5.48xlarge"), ADDED, "kept vpc.amazonaws.com/efa: 16", &[])]
#[case::eks_p6e("eks-efa", claim(eks(4, 4), "compute-domain-channel", "eks-nccl-test-compute-domain-channel"), ADDED, "found vpc.amazonaws.com/efa: 4", &[])]
#[case::eks_claimed("eks-efa-dra", on(claim(pod(&json!({"nvidia.com/gpu": 1})), "efa", "gpu-efa-aligned"), "p4d.24xlarge"), REFUSED, "claims devices by template gpu-efa-aligned", &[])]
#[case::eks_plugin_profile_claimed("eks-efa", on(claim(pod(&json!({"nvidia.com/gpu": 8})), "efa", "all-efa"), "p5.48xlarge"), REFUSED, "claims devices by template all-efa", &[])]
#[case::eks_hyperpod("eks-efa", on(pod(&json!({"nvidia.com/gpu": 8})), "ml.p5.48xlarge"), ADDED, "added vpc.amazonaws.com/efa: 32", &[EFA])]
#[case::eks_p5_small("eks-efa", on(pod(&json!({"nvidia.com/gpu": 1})), "p5.4xlarge"), ADDED, "added vpc.amazonaws.com/efa: 1", &[EFA])]
#[case::eks_b300("eks-efa", on(pod(&json!({"nvidia.com/gpu": 8})), "p6-b300.48xlarge"), ADDED, "added vpc.amazonaws.com/efa: 16", &[EFA])]
#[case::eks_unknown_machine("eks-efa", on(pod(&json!({"nvidia.com/gpu": 8})), "p9.48xlarge"), REFUSED, "unknown number of vpc.amazonaws.com/efa on p9.48xlarge", &[])]
#[case::eks_karpenter("eks-efa", karpenter(&["p5", "48xlarge"]), ADDED, "added vpc.amazonaws.com/efa: 32", &[EFA])]
#[case::eks_karpenter_family("eks-efa", karpenter(&["p5"]), REFUSED, "depends on the instance type", &[])]
#[case::eks_two_machines("eks-efa", require(pod(&json!({"nvidia.com/gpu": 8})), "node.kubernetes.io/instance-type", &["p5.48xlarge", "p5en.48xlarge"]), REFUSED, "differs between p5.48xlarge and p5en.48xlarge: add a nodeSelector for one of them", &[])]
#[case::oke_h100("oke-roce-vf-h100", oke_vf("nvidia.com/gpu", 16, "BM.GPU.H100.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 16", &[])]
#[case::oke_h200_in_the_h100_profile("oke-roce-vf-h100", oke_vf("nvidia.com/gpu", 8, "BM.GPU.H200.8", "default/rdma-vf"), REFUSED, "not for BM.GPU.H200.8: select oke-roce-vf", &[])]
#[case::oke_h200("oke-roce-vf", oke_vf("nvidia.com/gpu", 8, "BM.GPU.H200.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_b200("oke-roce-vf", oke_vf("nvidia.com/gpu", 8, "BM.GPU.B200.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_b300("oke-roce-vf", oke_vf("nvidia.com/gpu", 16, "BM.GPU.B300.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 16", &[])]
#[case::oke_a100("oke-roce-vf", oke_vf("nvidia.com/gpu", 16, "BM.GPU.A100-v2.8", "rdma-vf"), ADDED, "kept networks rdma-vf", &[])]
#[case::oke_mi300x("oke-roce-vf-mi300x", oke_vf("amd.com/gpu", 8, "BM.GPU.MI300X.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_mi355x("oke-roce-vf-mi355x", oke_vf("amd.com/gpu", 8, "BM.GPU.MI355X-v1.8", "default/rdma-vf"), ADDED, "found nvidia.com/rdma-vf: 8", &[])]
#[case::oke_host_h100("oke-roce-hostnet", oke_host("nvidia.com/gpu", 8, "BM.GPU.H100.8"), ADDED, "found mount /dev/infiniband", &[])]
#[case::oke_host_gb200("oke-hostnet-gb200", oke_host("nvidia.com/gpu", 4, "BM.GPU.GB200.4"), ADDED, "found mount /dev/infiniband", &[])]
#[case::oke_host_gb200_v2("oke-hostnet-gb200", oke_host("nvidia.com/gpu", 4, "BM.GPU.GB200-v2.4"), ADDED, "found mount /dev/infiniband", &[])]
#[case::oke_host_gb200_v3("oke-hostnet-gb200-v3", oke_host("nvidia.com/gpu", 4, "BM.GPU.GB200-v3.4"), ADDED, "found mount /dev/infiniband", &[])]
#[case::oke_host_gb200_v3_in_the_first_profile("oke-hostnet-gb200", oke_host("nvidia.com/gpu", 4, "BM.GPU.GB200-v3.4"), REFUSED, "not for BM.GPU.GB200-v3.4: select oke-hostnet-gb200-v3", &[])]
#[case::oke_host_gb300("oke-hostnet-gb300", oke_host("nvidia.com/gpu", 4, "BM.GPU.GB300.4"), ADDED, "found mount /dev/infiniband", &[])]
#[case::oke_host_mi355x("oke-hostnet-mi355x", oke_host("amd.com/gpu", 8, "BM.GPU.MI355X.8"), ADDED, "found mount /dev/infiniband", &[])]
#[case::crusoe_h200("crusoe-ib", on(crusoe(8), "h200-141gb-sxm-ib.8x"), ADDED, "h200-141gb-sxm-ib-cloud-hypervisor.xml", &[])]
#[case::crusoe_b300("crusoe-ib-b300", crusoe(8), ADDED, "found nvidia.com/hostdev: 8", &[])]
#[case::crusoe_gb200("crusoe-ib-gb200", claim(crusoe(4), "compute-domain-channel", "nccl-compute-domain-channel"), ADDED, "found nvidia.com/hostdev: 4", &[])]
#[case::nebius("nebius-ib", nebius(), ADDED, "added /dev/infiniband (hostPath)", &[])]
#[case::ib_shared("ib-shared", shared_plugin(), ADDED, "found rdma/hca_shared_devices_a: 1", &[])]
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
    let mut examples = EXAMPLES.iter().map(|text| Configuration::parse(text).unwrap());
    let config = examples.find(|example| example.fabric.profiles.is_custom(profile)).unwrap_or_default();
    let labels = BTreeMap::from([("trainmesh.dev/fabric".to_owned(), profile.to_owned())]);
    let facts = Snapshot { cluster: ClusterView::default(), ..snapshot(&labels, &config) };
    let outcome = mutate(&pod, &facts);
    assert_eq!(decision(&outcome), expected, "{:#?}", fabric(&outcome));
    let text = notes(&outcome) + &outcome.warnings.join("\n");
    assert!(text.contains(part), "{text}");
    let after = patched(&outcome, &pod);
    for (pointer, of) in DEVICES {
        let [before, now] = [&pod, &after].map(|pod| devices(pod.pointer(pointer), added));
        assert!(before == now || added.contains(&of), "{pointer}: {before:#} became {now:#}");
    }
    assert!(outcome.failure.is_none() && mutate(&after, &facts).patch.is_empty());
}

/// Providers give machines similar names: `gb200-4x` of `CoreWeave` matches a pattern of Crusoe's profile. `own` is the name of the
/// profile and its resource, `site` the resource of another one for `gb200-4x`.
#[rstest]
#[case::same_resource("our-ib rdma/ib", "", coreweave(4, "gb200-4x"), "select coreweave-ib-nvl72")]
#[case::instance_type("our-ib rdma/ib", "", on(gpus(4), "gb200-4x"), "select coreweave-ib-nvl72")]
#[case::platform_of_the_label("our-ib nvidia.com/mlnxnics", "", coreweave(4, "gb200-4x"), "select coreweave-ib-nvl72")]
#[case::resource_of_another_platform(
    "our-ib nvidia.com/hostdev",
    "",
    coreweave(4, "gb200-4x"),
    "select coreweave-ib-nvl72"
)]
#[case::type_of_another_platform(
    "our-ib nvidia.com/hostdev",
    "",
    on(crusoe(4), "gb200-186gb-nvl-ib.4x"),
    "select crusoe-ib-gb200"
)]
#[case::no_device("our-ib", "", on(gpus(4), "gb200-4x"), "select another fabric")]
#[case::other_device("our-ib nvidia.com/mlnxnics", "", on(gpus(4), "gb200-4x"), "select another fabric")]
#[case::no_profile_of_the_platform("our-ib nvidia.com/hostdev", "", coreweave(4, "gb200-8x"), "select another fabric")]
#[case::first_word_of_the_name("crusoe-own", "", on(crusoe(4), "gb200-186gb-nvl-ib.4x"), "select crusoe-ib-gb200")]
#[case::own_profile("our-ib rdma/own", "rdma/own", coreweave(4, "gb200-4x"), "select site-gb200")]
#[case::own_profile_of_another_network(
    "our-ib rdma/ib",
    "rdma/own",
    coreweave(4, "gb200-4x"),
    "select coreweave-ib-nvl72"
)]
fn a_profile_of_another_platform_is_not_suggested(
    #[case] own: &str,
    #[case] site: &str,
    #[case] pod: Value,
    #[case] expected: &str,
) {
    let (name, resource) = own.split_once(' ').unwrap_or((own, ""));
    let profile = |name: &str, resource: &str, machine: &str| {
        let resources: Vec<Value> = if resource.is_empty() { vec![] } else { vec![json!({"name": resource})] };
        json!({"name": name, "transport": "ib", "resources": resources, "match": {"machines": [machine]}})
    };
    let mut profiles = vec![profile(name, resource, "own-machine")];
    profiles.extend((!site.is_empty()).then(|| profile("site-gb200", site, "gb200-4x")));
    let text = json!({"apiVersion": API_VERSION, "kind": KIND, "fabric": {"profiles": profiles}}).to_string();
    let config = Configuration::parse(&text).unwrap();
    let labels = BTreeMap::from([("trainmesh.dev/fabric".to_owned(), name.to_owned())]);
    let outcome = mutate(&pod, &Snapshot { cluster: ClusterView::default(), ..snapshot(&labels, &config) });
    let text = notes(&outcome) + &outcome.warnings.join("\n");
    assert!(text.contains("the profile is not for") && text.contains(expected), "{text}");
}

/// Only one profile, with its variants, lists exactly this machine, whatever its platform.
#[rstest]
#[case::in_a_ratio("gke-rdma-gib-a4", "", on(gpus(8), "p5.48xlarge"), "select eks-efa ")]
#[case::two_labels("aks-nd-sriov", "", karpenter(&["p5", "48xlarge"]), "select eks-efa ")]
#[case::in_machines("coreweave-ib", "", on(gpus(8), "BM.GPU.H200.8"), "select oke-roce-vf ")]
#[case::own("coreweave-ib", "p5", on(gpus(8), "p5.48xlarge"), "select our-efa ")]
#[case::of_another_vendor("oke-roce-vf-mi300x", "", on(pod(&json!({"amd.com/gpu": 8})), "p5.48xlarge"), "select another fabric")]
#[case::two_kinds_of_profiles("coreweave-ib", "", on(gpus(8), "a3-ultragpu-8g"), "select another fabric")]
#[case::pattern("gke-rdma-gib-a4", "", on(gpus(8), "Standard_ND96isr_H100_v5"), "select another fabric")]
fn the_only_profile_for_a_machine_is_suggested(
    #[case] profile: &str,
    #[case] own_machine: &str,
    #[case] pod: Value,
    #[case] expected: &str,
) {
    let own = json!({"name": "our-efa", "transport": "efa", "resources": [{"name": "a.b/efa", "mode": "perGpu", "ratio": {own_machine: "4"}}]});
    let profiles: Vec<Value> = Some(own).filter(|_| !own_machine.is_empty()).into_iter().collect();
    let text = json!({"apiVersion": API_VERSION, "kind": KIND, "fabric": {"profiles": profiles}}).to_string();
    let config = Configuration::parse(&text).unwrap();
    let labels = BTreeMap::from([("trainmesh.dev/fabric".to_owned(), profile.to_owned())]);
    let outcome = mutate(&pod, &Snapshot { cluster: ClusterView::default(), ..snapshot(&labels, &config) });
    let text = outcome.warnings.join(" ") + " ";
    assert!(text.contains("the profile is not for") && text.contains(expected), "{text}");
}

/// Neither profile is for both machines: each would name the other.
#[test]
fn a_pod_for_several_machines_is_not_sent_from_one_profile_to_another() {
    let mut pod = gpus(8);
    let machines = json!({"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": ["nvidia-h200-141gb", "nvidia-b200"]});
    let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [machines]}]});
    pod["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    for profile in ["gke-rdma-gib-a3u", "gke-rdma-gib-a4"] {
        let labels = BTreeMap::from([("trainmesh.dev/fabric".to_owned(), profile.to_owned())]);
        let config = Configuration::embedded();
        let outcome = mutate(&pod, &Snapshot { cluster: ClusterView::default(), ..snapshot(&labels, &config) });
        let text = notes(&outcome) + &outcome.warnings.join("\n");
        assert!(text.contains("the pod may run on several machines: select those of one profile"), "{text}");
    }
}

fn gpus(count: u64) -> Value {
    pod(&json!({"nvidia.com/gpu": count}))
}

/// Lists of devices and networks, and the name by which a row states that one grows.
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

/// AWS's nodes do not limit locked memory, so that the profile needs nothing that Pod Security forbids.
#[rstest]
#[case::plugin("eks-efa")]
#[case::class("eks-efa-dra")]
fn efa_is_allowed_by_pod_security(#[case] profile: &str) {
    let config = Configuration::default();
    let labels = [("trainmesh.dev/fabric", profile), ("pod-security.kubernetes.io/enforce", "baseline")];
    let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let pod = on(pod(&json!({"nvidia.com/gpu": 8})), "p5.48xlarge");
    let outcome = mutate(&pod, &snapshot(&labels, &config));
    assert_eq!(decision(&outcome), ADDED, "{:#?}", fabric(&outcome));
    assert!(!patched(&outcome, &pod).to_string().contains("IPC_LOCK"), "{:?}", outcome.patch);
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

/// The list of adapters in such a profile is wrong on any other machine.
#[test]
fn examples_are_only_for_the_machine_that_they_select() {
    for text in EXAMPLES {
        for (name, entry) in Configuration::parse(text).unwrap().fabric.profiles.all() {
            assert_eq!(entry.profile.unlisted_machine(), None, "{name}");
        }
    }
}
