//! A pod with RDMA adapters of its own never gets a second set from a profile, wherever each of the two comes from.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::dra::{ClaimFacts, ClaimObjects};

use super::{Scenario, decision, notes, pod, with};

const ADDED: &str = "applied FabricAdded";
const REFUSED: &str = "refused FabricContradicted";
const FELL_BACK: &str = "applied FabricFellBack";

// Profiles, by where their adapters come from.
const RESOURCE: &str = "resources: [{name: rdma/ib}]";
const CLAIM: &str = "dra: {claims: [{name: rdma, resourceClaimTemplateName: fabric}]}";
const CLASS: &str = "dra: {extendedResource: deviceclass.resource.kubernetes.io/efa.networking.k8s.aws}";
const GKE: &str =
    "networks: {gke: {interfaces: [{interfaceName: eth0, network: default}, {interfaceName: eth2, network: rdma-0}]}}";
const MULTUS: &str = "resources: [{name: rdma/ib}]\nnetworks: {multus: {attach: [{name: fabric/ib}]}}";
const GKE_AND_CLAIM: &str = "networks: {gke: {interfaces: [{interfaceName: eth2, network: gpu-0}]}}\ndra: {claims: [{name: rdma, resourceClaimTemplateName: fabric}]}";
const NO_ADAPTERS: &str = "env: [{name: NCCL_DEBUG, value: INFO}]";

/// Returns a pod that requests `resource`.
fn requests(resource: &str) -> Value {
    with(pod(), &format!("/spec/containers/0/resources/limits/{}", resource.replace('/', "~1")), json!(8))
}

/// Returns a pod with a claim from `template`.
fn claims(template: &str) -> Value {
    let pod = with(pod(), "/spec/resourceClaims/-", json!({"name": "own", "resourceClaimTemplateName": template}));
    with(pod, "/spec/containers/0/resources/claims/-", json!({"name": "own"}))
}

/// Returns a pod with `networks` of GKE multi-networking, from the interface `eth7` on.
fn gke(networks: &[&str]) -> Value {
    let interfaces = networks.iter().enumerate();
    let interfaces = interfaces.map(|(index, network)| {
        json!({"interfaceName": if *network == "default" { "eth0".to_owned() } else { format!("eth{}", index + 7) }, "network": network})
    });
    let list: Vec<Value> = interfaces.collect();
    with(pod(), "/metadata/annotations/networking.gke.io~1interfaces", json!(json!(list).to_string()))
}

fn gke_text(text: &str) -> Value {
    with(pod(), "/metadata/annotations/networking.gke.io~1interfaces", json!(text))
}

fn multus(networks: &str) -> Value {
    with(pod(), "/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!(networks))
}

/// The template `nics` with adapters, and the template `fabric` of the profiles.
fn facts() -> ClaimFacts {
    let mut objects = ClaimObjects::default();
    for (name, class) in [("nics", "dranet.net"), ("fabric", "mrdma.google.com")] {
        let request = json!({"name": "nic", "exactly": {"deviceClassName": class, "count": 8}});
        let object = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [request]}}}});
        objects.add(&object, "team-a");
    }
    objects.facts(&ClaimFacts::default())
}

fn check(profile: &str, pod: &Value, injector: bool, expected: &str, part: &str) {
    let facts = facts();
    let cluster =
        ClusterView { claims: facts.view("team-a"), network_resources_injector: injector, ..ClusterView::default() };
    let outcome = Scenario::new(&format!("transport: gib\n{profile}")).run_at(pod, cluster);
    let text = notes(&outcome) + "\n" + &outcome.warnings.join("\n");
    assert_eq!((decision(&outcome).as_str(), text.contains(part)), (expected, true), "{text}");
}

#[rstest]
// Requested resources.
#[case::resource_and_resource(RESOURCE, requests("rdma/hca"), REFUSED, "rdma/hca in train")]
#[case::resource_and_claim(CLAIM, requests("rdma/hca"), REFUSED, "rdma/hca in train")]
#[case::resource_and_class(CLASS, requests("rdma/hca"), REFUSED, "rdma/hca in train")]
#[case::resource_and_gke(GKE, requests("rdma/hca"), REFUSED, "rdma/hca in train")]
#[case::resource_and_multus(MULTUS, requests("rdma/hca"), REFUSED, "rdma/hca in train")]
#[case::resource_of_the_profile(RESOURCE, requests("rdma/ib"), ADDED, "kept rdma/ib: 8")]
// Claims.
#[case::claim_and_resource(RESOURCE, claims("nics"), REFUSED, "train already claims 8 dranet.net")]
#[case::claim_and_claim(CLAIM, claims("nics"), REFUSED, "train already claims 8 dranet.net")]
#[case::claim_and_class(CLASS, claims("nics"), REFUSED, "train already claims 8 dranet.net")]
#[case::claim_and_gke(GKE, claims("nics"), REFUSED, "train already claims 8 dranet.net")]
#[case::claim_and_multus(MULTUS, claims("nics"), REFUSED, "train already claims 8 dranet.net")]
#[case::claim_of_the_profile(CLAIM, claims("fabric"), ADDED, "")]
// Networks of GKE.
#[case::gke_and_resource(RESOURCE, gke(&["default", "rdma-0"]), REFUSED, "the pod already attaches network rdma-0: remove it or select another fabric")]
#[case::gke_and_claim(CLAIM, gke(&["default", "rdma-0"]), REFUSED, "the pod already attaches network rdma-0: remove it or select another fabric")]
#[case::gke_and_class(CLASS, gke(&["default", "rdma-0"]), REFUSED, "the pod already attaches network rdma-0")]
#[case::gke_and_gke(GKE, gke(&["default", "a3u-rdma-4"]), REFUSED, "the pod already attaches network a3u-rdma-4: name it in networks of the profile")]
#[case::gke_and_multus(MULTUS, gke(&["default", "rdma-0"]), REFUSED, "the pod already attaches network rdma-0: name it")]
#[case::gke_with_a_custom_name(CLAIM, gke(&["hpc-0"]), REFUSED, "network hpc-0")]
#[case::gke_beside_one_of_the_profile(GKE, gke(&["rdma-0", "rdma-1"]), REFUSED, "network rdma-1")]
#[case::gke_of_the_profile(GKE, gke(&["default", "rdma-0"]), ADDED, "")]
#[case::gke_of_a_profile_with_claims(GKE_AND_CLAIM, gke(&["gpu-0"]), ADDED, "added claim rdma")]
#[case::gke_without_rdma(CLAIM, gke(&["default", "gvnic-1"]), ADDED, "added claim rdma")]
#[case::gke_for_storage_beside_networks(GKE, gke(&["storage"]), ADDED, "added interfaces eth0, eth2")]
#[case::gke_without_adapters_of_the_profile(NO_ADAPTERS, gke(&["rdma-0"]), ADDED, "NCCL_DEBUG")]
#[case::gke_unreadable(CLAIM, gke_text("eth0"), REFUSED, "networking.gke.io/interfaces is not a JSON list")]
#[case::gke_too_long(CLAIM, gke_text(&" ".repeat(40_000)), REFUSED, "is longer than 32768 bytes")]
// Networks of Multus.
#[case::multus_and_claim(
    CLAIM,
    multus("rail-rdma-0, rail-rdma-1"),
    REFUSED,
    "the pod already attaches network rail-rdma-0: remove it or select another"
)]
#[case::multus_as_json_and_claim(CLAIM, multus(r#"[{"name": "roce", "namespace": "n"}]"#), REFUSED, "network roce")]
#[case::multus_of_another_profile(CLAIM, multus("sriov-ib-network"), REFUSED, "network sriov-ib-network")]
#[case::multus_and_class(CLASS, multus("rdma-vf"), REFUSED, "network rdma-vf")]
#[case::multus_and_gke(GKE, multus("rdma-vf"), REFUSED, "network rdma-vf: name it")]
#[case::multus_for_storage(CLAIM, multus("storage"), ADDED, "added claim rdma")]
#[case::multus_beside_a_device_plugin(RESOURCE, multus("rdma-macvlan"), ADDED, "added rdma/ib: 1")]
#[case::multus_and_multus(MULTUS, multus("rdma-vf"), ADDED, "added network fabric/ib")]
#[case::multus_unreadable(CLAIM, multus("[oops"), ADDED, "added claim rdma")]
fn adapters_of_the_pod_exclude_those_of_a_profile(
    #[case] profile: &str,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] part: &str,
) {
    check(profile, &pod, false, expected, part);
}

/// network-resources-injector requests the devices of all networks.
#[rstest]
#[case::and_resource(RESOURCE, multus("rdma-vf"), REFUSED, "network rdma-vf: remove it or select another")]
#[case::and_multus(MULTUS, multus("rdma-vf"), REFUSED, "network rdma-vf: name it in networks of the profile")]
#[case::of_the_profile(MULTUS, multus("fabric/ib"), ADDED, "")]
#[case::for_storage(MULTUS, multus("storage"), ADDED, "added network fabric/ib")]
fn injected_adapters_count(#[case] profile: &str, #[case] pod: Value, #[case] expected: &str, #[case] part: &str) {
    check(profile, &pod, true, expected, part);
}

/// A pod with RDMA networks does not fall back to TCP.
#[rstest]
#[case::gke(CLAIM, gke(&["rdma-0"]), REFUSED)]
#[case::gke_of_the_profile(GKE_AND_CLAIM, with(gke(&["gpu-0"]), "/spec/hostNetwork", json!(true)), REFUSED)]
#[case::multus(CLAIM, multus("rdma-vf"), REFUSED)]
#[case::none(CLAIM, with(multus("storage"), "/spec/containers/0/env/-", json!({"name": "NCCL_NET", "value": "Socket"})), FELL_BACK)]
fn pods_with_networks_keep_their_transport(#[case] profile: &str, #[case] pod: Value, #[case] expected: &str) {
    check(&format!("{profile}\nonConflict: tcp"), &pod, false, expected, "");
}
