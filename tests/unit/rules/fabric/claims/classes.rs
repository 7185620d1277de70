//! Adapters and accelerators as extended resources of device classes (KEP-5004).

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::dra::{ClaimFacts, ClaimObjects};

use super::super::{fabric, with};
use super::{ADDED, REFUSED, UNKNOWN, check, on, run, text, with_gpus};

const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";

/// A class with an extended resource.
fn class(name: &str, driver: &str, condition: &str, resource: &str) -> Value {
    let expression = format!("device.driver == '{driver}'{condition}");
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": resource}})
}

fn facts() -> ClaimFacts {
    let mut objects = ClaimObjects::default();
    let rdma = " && device.attributes['dra.net'].rdma == true";
    objects.add(&class("nic", "dra.net", rdma, "example.com/nic"), "");
    let efa = " && device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'";
    objects.add(&class("efa.networking.k8s.aws", "dra.net", efa, "vpc.amazonaws.com/efa"), "");
    objects.facts(&ClaimFacts::default())
}

/// Returns a pod with 8 GPUs that requests `count` of `resource`.
fn requesting(resource: &str, count: u64) -> Value {
    let pod = with(with_gpus(8), "/spec/resourceClaims", json!([]));
    let limits = json!({"limits": {"nvidia.com/gpu": 8, resource: count}});
    on(with(pod, "/spec/containers/0/resources", limits), "p5.48xlarge")
}

fn on_gke(resource: &str) -> Value {
    with(requesting(resource, 8), "/spec/nodeSelector", json!({}))
}

#[rstest]
#[case::interfaces("gke-rdma-gib-a3u", on_gke(&format!("{IMPLICIT}dranet.net")), REFUSED, "deviceclass.resource.kubernetes.io/dranet.net in train belongs to another fabric")]
#[case::adapters(
    "gke-rdma-gib-a3u",
    on_gke("example.com/nic"),
    REFUSED,
    "example.com/nic in train belongs to another fabric"
)]
#[case::adapters_of_the_class("gke-mrdma-dra", on_gke(&format!("{IMPLICIT}mrdma.google.com")), ADDED, "found 8 mrdma.google.com by resource")]
#[case::explicit_beside_dra(
    "eks-efa-dra",
    requesting("vpc.amazonaws.com/efa", 32),
    ADDED,
    "found 32 efa.networking.k8s.aws by resource vpc.amazonaws.com/efa"
)]
#[case::implicit_beside_the_plugin("eks-efa", requesting(&format!("{IMPLICIT}efa.networking.k8s.aws"), 32), ADDED, "found 32 efa.networking.k8s.aws by resource")]
#[case::other_devices("eks-efa", requesting("example.com/fpga", 1), ADDED, "added vpc.amazonaws.com/efa: 32")]
fn adapters_of_classes_are_recognized(
    #[case] profile: &str,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] part: &str,
) {
    let outcome = run(profile, &pod, &facts());
    check(&outcome, expected, part);
    assert_eq!(text(&outcome).contains("added vpc.amazonaws.com/efa"), part.starts_with("added"), "{}", text(&outcome));
}

#[test]
fn accelerators_of_an_unknown_class_are_named() {
    let limits = json!({"limits": {(format!("{IMPLICIT}h100")): 8}});
    let pod = with(requesting("example.com/x", 1), "/spec/containers/0/resources", limits);
    let outcome = run("eks-efa", &pod, &facts());
    let part = "train: class h100 is unknown: create it";
    check(&outcome, UNKNOWN, part);
}

#[rstest]
#[case::implicit(&format!("{IMPLICIT}mrdma.google.com"), "gke-mrdma-dra")]
#[case::explicit("vpc.amazonaws.com/efa", "eks-efa-dra")]
#[case::other("example.com/fpga", "")]
fn classes_of_adapters_get_a_suggestion(#[case] resource: &str, #[case] expected: &str) {
    let pod = if resource.contains("google") { on_gke(resource) } else { requesting(resource, 8) };
    let message = fabric(&run("", &pod, &facts())).message.clone();
    assert!(message.contains(expected), "{message}");
    assert_eq!(message.contains("fit"), !expected.is_empty(), "{message}");
}
