//! Accelerators and adapters from dynamic resource allocation. The objects have the shape of the vendors' manifests:
//! kubernetes-sigs/dranet (examples) at f258477, NVIDIA/k8s-dra-driver-gpu (demo/specs) at 22407113, and
//! GoogleCloudPlatform/container-engine-accelerators (gpudirect-rdma) at 992db81.

mod classes;
mod containers;
mod custom_profiles;
mod named_templates;

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::dra::{ClaimFacts, ClaimObjects};
use trainmesh_core::mutate::{Outcome, Snapshot, mutate};
use trainmesh_testing::snapshot::snapshot;

use super::{decision, fabric, patched, with};

const ADDED: &str = "applied FabricAdded";
const REFUSED: &str = "refused FabricContradicted";
const UNKNOWN: &str = "skipped AcceleratorsUnknown";
const NONE: &str = "skipped NoAccelerator";
const TOO_FEW: &str = "skipped TooFewAccelerators";

fn exactly(name: &str, class: &str, count: u64) -> Value {
    json!({"name": name, "exactly": {"deviceClassName": class, "count": count}})
}

/// A request of dranet's examples: adapters that a selector restricts to those with RDMA.
fn dranet(class: &str, count: u64) -> Value {
    let selectors = json!([{"cel": {"expression": "device.attributes[\"dra.net\"][\"rdma\"] == true"}}]);
    with(exactly("nic", class, count), "/exactly/selectors", selectors)
}

fn first_available(alternatives: &[(&str, u64)]) -> Value {
    let list: Vec<Value> = alternatives
        .iter()
        .map(|(class, count)| json!({"name": class, "deviceClassName": class, "count": count}))
        .collect();
    json!({"name": "gpu", "firstAvailable": list})
}

fn all(class: &str) -> Value {
    json!({"name": "gpu", "exactly": {"deviceClassName": class, "allocationMode": "All"}})
}

fn admin(class: &str) -> Value {
    with(all(class), "/exactly/adminAccess", json!(true))
}

/// The objects of the input: the template and the `ResourceClaim` called `devices`, and a class that an administrator defines.
fn facts(requests: &[Value]) -> ClaimFacts {
    let spec = json!({"devices": {"requests": requests}});
    let h100 = json!({"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}], "extendedResourceName": "example.com/h100"});
    let mut objects = ClaimObjects::default();
    for (kind, name, spec) in [
        ("ResourceClaimTemplate", "devices", json!({"spec": spec})),
        ("ResourceClaim", "devices", spec),
        ("DeviceClass", "h100", h100),
    ] {
        let object =
            json!({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        objects.add(&object, "team-a");
    }
    objects.facts(&ClaimFacts::default())
}

fn run(profile: &str, pod: &Value, facts: &ClaimFacts) -> Outcome {
    let config = Configuration::default();
    let labels = Some(profile).filter(|profile| !profile.is_empty());
    let labels: BTreeMap<String, String> =
        labels.map(|profile| ("trainmesh.dev/fabric".to_owned(), profile.to_owned())).into_iter().collect();
    let cluster = ClusterView { claims: facts.view("team-a"), ..ClusterView::default() };
    let facts = Snapshot { cluster, ..snapshot(&labels, &config) };
    let outcome = mutate(pod, &facts);
    let after = patched(&outcome, pod);
    assert!(outcome.failure.is_none() && mutate(&after, &facts).patch.is_empty());
    outcome
}

/// Checks the decision about the fabric, and that its message or a warning contains `part`.
fn check(outcome: &Outcome, expected: &str, part: &str) {
    let text = text(outcome);
    assert_eq!((decision(outcome).as_str(), text.contains(part)), (expected, true), "{text}");
}

fn text(outcome: &Outcome) -> String {
    fabric(outcome).message.clone() + "\n" + &outcome.warnings.join("\n")
}

/// Returns a pod whose container `train` refers to the claim `c` from the template `devices`.
fn claiming() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {
        "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "devices"}],
        "containers": [{"name": "train", "image": "i", "resources": {"claims": [{"name": "c"}]}}],
    }})
}

/// Like [`claiming`], with the GPUs from the device plugin.
fn with_gpus(count: u64) -> Value {
    with(claiming(), "/spec/containers/0/resources/limits", json!({"nvidia.com/gpu": count}))
}

fn on(pod: Value, machine: &str) -> Value {
    with(pod, "/spec/nodeSelector", json!({"node.kubernetes.io/instance-type": machine}))
}

fn by_object(pod: Value) -> Value {
    with(pod, "/spec/resourceClaims/0", json!({"name": "c", "resourceClaimName": "devices"}))
}

fn for_request(pod: Value, request: &str) -> Value {
    with(pod, "/spec/containers/0/resources/claims/0/request", json!(request))
}

/// Removes the container's reference: the driver still moves interfaces into the pod.
fn for_the_pod(pod: Value) -> Value {
    with(pod, "/spec/containers/0/resources/claims", json!([]))
}

fn requesting(resource: &str) -> Value {
    let pod = with(claiming(), "/spec/containers/0/resources", json!({"limits": {resource: 8}}));
    on(with(pod, "/spec/resourceClaims", json!([])), "p5.48xlarge")
}

/// Decisions about the vendors' example manifests, and about every way to request devices.
#[rstest]
#[case::dranet_aks("aks-nd-gb300", claiming(), &[exactly("gpu", "gpu.nvidia.com", 1), dranet("dranet.net", 2)], REFUSED, "train already claims 2 dranet.net by template devices: name it in dra.claims of the profile")]
#[case::dranet_aks_in_a_claim("aks-nd-gb300", by_object(claiming()), &[exactly("gpu", "gpu.nvidia.com", 1), dranet("dranet.net", 2)], REFUSED, "by claim devices: use a template and name it")]
#[case::dranet_eks("eks-efa-dra", claiming(), &[exactly("gpu", "gpu.nvidia.com", 1), exactly("efa", "efa.networking.k8s.aws", 1)], ADDED, "found 1 efa.networking.k8s.aws by template devices")]
#[case::dranet_eks_in_the_profile_of_the_plugin("eks-efa", claiming(), &[exactly("gpu", "gpu.nvidia.com", 1), exactly("efa", "efa.networking.k8s.aws", 1)], ADDED, "found 1 efa.networking.k8s.aws by template devices")]
#[case::dranet_eks_for_one_request("eks-efa", for_request(claiming(), "gpu"), &[exactly("gpu", "gpu.nvidia.com", 1), exactly("efa", "efa.networking.k8s.aws", 1)], REFUSED, "train already claims 1 efa.networking.k8s.aws by template devices")]
#[case::dranet_gke("gke-mrdma-dra", claiming(), &[exactly("gpu", "gpu.nvidia.com", 2), dranet("dranet", 2)], TOO_FEW, "gke-mrdma-dra")]
#[case::dranet_gke_on_whole_nodes("gke-mrdma-dra", claiming(), &[exactly("gpu", "gpu.nvidia.com", 8), dranet("dranet", 8)], REFUSED, "train already claims 8 dranet by template devices")]
#[case::dranet_gke_for_the_pod("gke-rdma-gib-a3u", for_the_pod(with_gpus(8)), &[exactly("nic", "rdma", 1)], REFUSED, "the pod already claims 1 rdma by template devices")]
#[case::gke_managed("gke-mrdma-dra", with_gpus(8), &[exactly("req-mrdma", "mrdma.google.com", 8)], ADDED, "found 8 mrdma.google.com by template devices")]
#[case::gke_managed_beside_networks("gke-rdma-gib-a3u", with_gpus(8), &[exactly("req-mrdma", "mrdma.google.com", 8)], REFUSED, "train already claims 8 mrdma.google.com by template devices: name a template in dra.claims of a profile without networks")]
#[case::gke_interface("gke-rdma-gib-a3u", with_gpus(8), &[exactly("net", "netdev.google.com", 1)], ADDED, "added")]
#[case::interface_that_may_be_an_adapter("gke-rdma-gib-a3u", with_gpus(8), &[exactly("net", "dranet-cloud", 1)], REFUSED, "train already claims 1 dranet-cloud by template devices")]
#[case::gpus_beside_the_efa_plugin("eks-efa", on(claiming(), "p5.48xlarge"), &[exactly("gpu", "gpu.nvidia.com", 8)], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::gpus_of_a_claim_object("eks-efa", on(by_object(claiming()), "p5.48xlarge"), &[exactly("gpu", "gpu.nvidia.com", 8)], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::gpus_of_a_custom_class("eks-efa", on(claiming(), "p5.48xlarge"), &[exactly("gpu", "h100", 8)], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::gpus_of_one_request("eks-efa", on(for_request(claiming(), "b"), "p5.48xlarge"), &[exactly("a", "gpu.nvidia.com", 7), exactly("b", "gpu.nvidia.com", 1)], ADDED, "added vpc.amazonaws.com/efa: 4")]
#[case::implicit_resource("eks-efa", requesting("deviceclass.resource.kubernetes.io/gpu.nvidia.com"), &[], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::implicit_resource_of_a_custom_class("eks-efa", requesting("deviceclass.resource.kubernetes.io/h100"), &[], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::explicit_resource("eks-efa", requesting("example.com/h100"), &[], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::implicit_resource_of_partitions("eks-efa", requesting("deviceclass.resource.kubernetes.io/mig.nvidia.com"), &[], NONE, "eks-efa")]
#[case::other_resource("eks-efa", requesting("example.com/h200"), &[], NONE, "eks-efa")]
#[case::partitions("eks-efa", claiming(), &[exactly("mig", "mig.nvidia.com", 2)], NONE, "eks-efa: train claims 2 mig.nvidia.com, partitions, by template devices")]
#[case::admin_access("eks-efa", claiming(), &[admin("gpu.nvidia.com")], NONE, "eks-efa: train claims at least 1 gpu.nvidia.com for monitoring by template devices")]
#[case::channel_only("eks-efa", claiming(), &[exactly("channel", "compute-domain-default-channel.nvidia.com", 1)], NONE, "eks-efa")]
#[case::channel_beside_gpus("eks-efa", on(with_gpus(4), "p6e-gb200.36xlarge"), &[exactly("channel", "compute-domain-default-channel.nvidia.com", 1)], ADDED, "added vpc.amazonaws.com/efa: 4")]
#[case::other_vendor("eks-efa", claiming(), &[exactly("gpu", "gpu.amd.com", 8)], NONE, "eks-efa: train claims 8 gpu.amd.com by template devices")]
#[case::requested_of_another_vendor("aks-nd-sriov", with(claiming(), "/spec/containers/0/resources/limits", json!({"amd.com/gpu": 8})), &[dranet("dranet.net", 8)], NONE, "aks-nd-sriov: train requests 8 amd.com/gpu")]
#[case::amd("oke-roce-vf-mi300x", on(claiming(), "BM.GPU.MI300X.8"), &[exactly("gpu", "gpu.amd.com", 8)], ADDED, "added nvidia.com/rdma-vf: 8")]
#[case::alternatives("eks-efa", on(claiming(), "p5.48xlarge"), &[first_available(&[("gpu.nvidia.com", 8), ("h100", 4)])], REFUSED, "vpc.amazonaws.com/efa depends on the number of accelerators, and train: template devices allocates 4 to 8 gpu.nvidia.com: request a fixed number")]
#[case::equal_alternatives("eks-efa", on(claiming(), "p5.48xlarge"), &[first_available(&[("gpu.nvidia.com", 8), ("h100", 8)])], ADDED, "added vpc.amazonaws.com/efa: 32")]
#[case::alternatives_without_devices("tcp", claiming(), &[first_available(&[("gpu.nvidia.com", 8), ("h100", 4)])], ADDED, "added")]
#[case::alternatives_of_another_kind("eks-efa", claiming(), &[first_available(&[("gpu.nvidia.com", 1), ("mig.nvidia.com", 2)])], UNKNOWN, "train: template devices allocates 0 to 1 gpu.nvidia.com")]
#[case::all_of_a_node("gke-mrdma-dra", claiming(), &[all("gpu.nvidia.com")], UNKNOWN, "train: template devices allocates at least 1 gpu.nvidia.com: request a fixed number")]
#[case::all_without_a_minimum("tcp", claiming(), &[all("gpu.nvidia.com")], ADDED, "added")]
#[case::unknown_class("eks-efa", claiming(), &[exactly("gpu", "npu", 8)], UNKNOWN, "train: class npu in template devices is unknown: set its extendedResourceName")]
#[case::unknown_class_beside_gpus("eks-efa", on(with_gpus(8), "p5.48xlarge"), &[exactly("x", "npu", 8)], REFUSED, "train already claims 8 npu by template devices")]
fn vendor_manifests_and_their_variations(
    #[case] profile: &str,
    #[case] pod: Value,
    #[case] requests: &[Value],
    #[case] expected: &str,
    #[case] part: &str,
) {
    let outcome = run(profile, &pod, &facts(requests));
    check(&outcome, expected, part);
}

#[rstest]
#[case::unknown(
    "eks-efa",
    claiming(),
    UNKNOWN,
    "fabric eks-efa not applied: train: template devices is unknown: add its manifest to the input, or use --cluster"
)]
#[case::unknown_claim("eks-efa", by_object(claiming()), UNKNOWN, "train: claim devices is unknown")]
#[case::unknown_beside_gpus(
    "eks-efa",
    on(with_gpus(8), "p5.48xlarge"),
    REFUSED,
    "train claims devices by template devices, which is unknown: add its manifest"
)]
#[case::unknown_for_the_pod("eks-efa", for_the_pod(claiming()), NONE, "eks-efa")]
fn unknown_claims_are_named(#[case] profile: &str, #[case] pod: Value, #[case] expected: &str, #[case] part: &str) {
    let outcome = run(profile, &pod, &ClaimFacts::default());
    check(&outcome, expected, part);
    assert_eq!(outcome.warnings.is_empty(), expected == NONE, "{:?}", outcome.warnings);
}

/// Claims that are not read may provide adapters.
#[rstest]
#[case::claims(33, 1, 1, REFUSED)]
#[case::most_claims(32, 1, 32, ADDED)]
#[case::requests(9, 29, 1, REFUSED)]
#[case::references(1, 1, 33, REFUSED)]
fn claims_beyond_the_limits_are_unknown(
    #[case] claims: usize,
    #[case] requests: usize,
    #[case] references: usize,
    #[case] expected: &str,
) {
    let listed: Vec<Value> =
        (0..claims).map(|index| json!({"name": format!("c{index}"), "resourceClaimTemplateName": "devices"})).collect();
    let referring: Vec<Value> = (0..references).map(|index| json!({"name": format!("c{}", index % claims)})).collect();
    let pod = with(on(with_gpus(8), "p5.48xlarge"), "/spec/resourceClaims", json!(listed));
    let pod = with(pod, "/spec/containers/0/resources/claims", json!(referring));
    let requests: Vec<Value> =
        (0..requests).map(|index| exactly(&format!("r{index}"), "efa.networking.k8s.aws", 1)).collect();
    let outcome = run("eks-efa", &pod, &facts(&requests));
    assert_eq!(decision(&outcome), expected, "{}", text(&outcome));
    let part = "the pod has more than 32 claims, 256 requests";
    assert_eq!(text(&outcome).contains(part), expected == REFUSED, "{}", text(&outcome));
    assert!(!text(&outcome).contains("added vpc.amazonaws.com/efa"), "{}", text(&outcome));
}

#[rstest]
#[case::efa(claiming(), &[exactly("gpu", "gpu.nvidia.com", 1), exactly("efa", "efa.networking.k8s.aws", 1)], ": the pod claims efa.networking.k8s.aws: profiles eks-efa, eks-efa-dra fit")]
#[case::gib(with_gpus(8), &[exactly("nic", "mrdma.google.com", 8)], ": the pod claims mrdma.google.com: profiles gke-mrdma-dra, gke-mrdma-dra-a4x-max fit")]
#[case::too_few_gpus(with_gpus(1), &[exactly("nic", "mrdma.google.com", 1)], "")]
#[case::adapters_without_a_transport(claiming(), &[exactly("gpu", "gpu.nvidia.com", 1), dranet("dranet.net", 1)], "")]
#[case::admin_access(with_gpus(8), &[admin("efa.networking.k8s.aws")], "")]
#[case::claimed_gpus_beside_requested_adapters(
    with(claiming(), "/spec/containers/0/resources/limits", json!({"vpc.amazonaws.com/efa": 32})),
    &[exactly("gpu", "gpu.nvidia.com", 8)],
    ": the pod requests vpc.amazonaws.com/efa: profile eks-efa fits"
)]
fn pods_without_a_profile_get_a_suggestion(#[case] pod: Value, #[case] requests: &[Value], #[case] expected: &str) {
    let outcome = run("", &pod, &facts(requests));
    assert_eq!(
        fabric(&outcome).message,
        format!("neither the pod nor the namespace selects a fabric profile{expected}")
    );
}
