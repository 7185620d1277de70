//! Fields of the pod to which a refusal points.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::mutate::Outcome;

use super::{FULL_PROFILE, Scenario, decision, fabric, pod, with};

const LABEL: &str = "/metadata/labels/trainmesh.dev~1fabric";
const NET: &str = "/spec/containers/0/env/1";
const DROP: &str = "/spec/containers/0/securityContext/capabilities/drop";

/// Returns the field of the decision, and those of its notes.
fn fields(outcome: &Outcome) -> (Option<&str>, Vec<Option<&str>>) {
    assert_eq!(decision(outcome), "refused FabricContradicted", "{:#?}", fabric(outcome));
    let notes = fabric(outcome).notes.iter();
    (fabric(outcome).field.as_deref(), notes.map(|note| note.field.as_deref()).collect())
}

fn edited(edits: &[(&str, Value)]) -> Value {
    edits.iter().fold(pod(), |pod, (pointer, value)| with(pod, pointer, value.clone()))
}

fn env() -> Value {
    json!([{"name": "NCCL_NET", "value": "IB"}, {"name": "NCCL_NET", "value": "Socket"}])
}

#[rstest]
#[case::variable(&[("/spec/containers/0/env", env())], NET)]
#[case::limit(&[("/spec/containers/0/resources/limits/vpc.amazonaws.com~1efa", json!(4))], "/spec/containers/0/resources/limits/vpc.amazonaws.com~1efa")]
#[case::request(&[("/spec/initContainers/-", json!({"name": "a", "image": "i", "resources": {"requests": {"vpc.amazonaws.com/efa": 4}}}))], "/spec/initContainers/0/resources/requests/vpc.amazonaws.com~1efa")]
#[case::no_device(&[("/spec/containers/0/resources/limits/rdma~1ib", json!(0))], "/spec/containers/0/resources/limits/rdma~1ib")]
#[case::huge_pages(&[("/spec/containers/0/resources/limits", json!({"nvidia.com/gpu": 8}))], "/spec/containers/0/resources")]
#[case::claim(&[("/spec/resourceClaims", json!([{"name": "a", "resourceClaimTemplateName": "fabric-mrdma"}, {"name": "b", "resourceClaimName": "own"}]))], "/spec/resourceClaims/1")]
#[case::claim_of_the_same_name(&[("/spec/resourceClaims", json!([{"name": "channel", "resourceClaimName": "c"}]))], "/spec/resourceClaims/0")]
#[case::interfaces(&[("/metadata/annotations/networking.gke.io~1interfaces", json!("{"))], "/metadata/annotations/networking.gke.io~1interfaces")]
#[case::network_of_the_pod(&[("/metadata/annotations/networking.gke.io~1interfaces", json!(r#"[{"network": "a-rdma"}]"#))], "/metadata/annotations/networking.gke.io~1interfaces")]
#[case::networks(&[("/metadata/annotations/k8s.v1.cni.cncf.io~1networks", json!("own@net9"))], "/metadata/annotations/k8s.v1.cni.cncf.io~1networks")]
#[case::capability(&[(DROP, json!(["IPC_LOCK"]))], DROP)]
#[case::sidecar(&[("/spec/containers/-", json!({"name": "fabric-daemon", "image": "own"}))], "/spec/containers/1")]
fn the_only_conflict_is_located(#[case] edits: &[(&str, Value)], #[case] expected: &str) {
    let profile = FULL_PROFILE.replace("name: rdma, resource", "name: channel, resource");
    assert_eq!(fields(&Scenario::new(&profile).run(&edited(edits))), (Some(expected), vec![]));
}

#[rstest]
#[case::privileged("securityContext: {privileged: true}", &[("/spec/containers/0/securityContext/privileged", json!(false))], "/spec/containers/0/securityContext")]
#[case::host_network("pod: {hostNetwork: true}", &[("/spec/hostNetwork", json!(false))], "/spec/hostNetwork")]
#[case::host_port("pod: {hostNetwork: true}", &[("/spec/containers/0/ports/-", json!({"containerPort": 80, "hostPort": 8080}))], "/spec/containers/0/ports")]
#[case::networks_of_multus("networks: {multus: {attach: [{name: b}]}}", &[("/spec/hostNetwork", json!(true))], "/spec/hostNetwork")]
#[case::networks_of_gke("networks: {gke: {interfaces: [{interfaceName: eth2, network: rdma-0}]}}", &[("/spec/hostNetwork", json!(true))], "/spec/hostNetwork")]
#[case::no_machine("resources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4}}]", &[(LABEL, json!("f"))], LABEL)]
fn parts_of_other_profiles_are_located(#[case] profile: &str, #[case] edits: &[(&str, Value)], #[case] expected: &str) {
    let outcome = Scenario::new(&format!("transport: ib\n{profile}")).run(&edited(edits));
    assert_eq!(fields(&outcome), (Some(expected), vec![]));
}

/// Each of several conflicts has its field. Those without one point to the label, if the pod has it, or else to the pod.
#[rstest]
#[case::namespace_selects(&[], "/spec")]
#[case::pod_selects(&[(LABEL, json!("f"))], LABEL)]
fn every_conflict_is_located(#[case] edits: &[(&str, Value)], #[case] label: &str) {
    let profile = "transport: ib\nresources: [{name: rdma/ib, mode: perGpu, ratio: {p5: 4}}]\nsecurityContext: {capabilities: {add: [IPC_LOCK]}}";
    let pod = with(with(edited(edits), "/spec/containers/0/env", env()), DROP, json!(["IPC_LOCK"]));
    let outcome = Scenario::new(profile).run(&pod);
    assert_eq!(fields(&outcome), (Some(NET), vec![Some(NET), Some(label), Some(DROP)]));
}
