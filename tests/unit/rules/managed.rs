//! termination.managed.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::RuleId;
use trainmesh_core::scope::Mode;

use super::{World, check};

const APPLIED: &str = "applied HelpersManaged";

/// A namespace without a mesh: a helper needs none.
fn meshless() -> World {
    let mut config = Configuration::embedded();
    // With every method.
    config.termination.port_forward = true;
    World { mode: Mode::Enabled, labels: json!({}), config }
}

fn managed() -> Value {
    json!({"trainmesh.dev/managed": "true"})
}

/// A pod that runs once, of the containers called `names`.
fn pod(metadata: Value, names: &[&str]) -> Value {
    let containers: Vec<Value> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"restartPolicy": "Never", "containers": containers}})
}

fn with(mut pod: Value, pointer: &str, field: &str, value: Value) -> Value {
    pod.pointer_mut(pointer).unwrap()[field] = value;
    pod
}

fn helpers(text: &str) -> Value {
    json!({"annotations": {"trainmesh.dev/helper-containers": text}})
}

fn payload(text: &str) -> Value {
    json!({"annotations": {"trainmesh.dev/payload-containers": text}})
}

#[rstest]
#[case::by_catalogue(pod(json!({}), &["train", "cloud-sql-proxy"]), APPLIED, managed())]
#[case::by_annotation(pod(helpers("sql=cloud-sql-proxy"), &["train", "sql"]), APPLIED, managed())]
#[case::without_a_method_it_is_told(pod(helpers("log"), &["train", "log"]), APPLIED, managed())]
#[case::a_stranger_is_told(pod(helpers("lgo"), &["train", "log"]), APPLIED, managed())]
#[case::on_failure(with(pod(json!({}), &["train", "daprd"]), "/spec", "restartPolicy", json!("OnFailure")), APPLIED, managed())]
#[case::none(pod(json!({}), &["train"]), "skipped NoHelpers", json!({}))]
#[case::empty_annotation(pod(helpers(" "), &["train"]), "skipped NoHelpers", json!({}))]
#[case::it_is_the_payload(pod(payload("train,daprd"), &["train", "daprd"]), "skipped NoHelpers", json!({}))]
#[case::nothing_but_a_helper(pod(json!({}), &["daprd"]), "skipped PayloadNeverEnds", json!({}))]
#[case::always(with(pod(json!({}), &["train", "daprd"]), "/spec", "restartPolicy", json!("Always")), "skipped PayloadNeverEnds", json!({}))]
#[case::one_ends_in_an_always_pod(
    with(
        with(pod(json!({}), &["train", "daprd"]), "/spec", "restartPolicy", json!("Always")),
        "/spec/containers/0",
        "restartPolicy",
        json!("Never")
    ),
    APPLIED,
    managed()
)]
#[case::native(
    with(
        pod(json!({}), &["train"]),
        "/spec",
        "initContainers",
        json!([{"name": "daprd", "image": "i", "restartPolicy": "Always"}])
    ),
    "skipped NoHelpers",
    json!({})
)]
#[case::already(pod(json!({"labels": managed()}), &["train", "daprd"]), "skipped ManagedAlready", json!({}))]
#[case::already_but_no_helpers(pod(json!({"labels": managed()}), &["train"]), "skipped NoHelpers", json!({}))]
#[case::another_value(pod(json!({"labels": {"trainmesh.dev/managed": "no"}}), &["train", "daprd"]), APPLIED, managed())]
fn pods(#[case] pod: Value, #[case] expected: &str, #[case] written: Value) {
    check(&meshless(), &pod, RuleId::TerminationManaged, expected, written, &[]);
}

#[test]
fn it_applies_in_a_namespace_of_istio_aux() {
    let world = World { mode: Mode::IstioAux, ..meshless() };
    check(&world, &pod(json!({}), &["train", "daprd"]), RuleId::TerminationManaged, APPLIED, managed(), &[]);
}

#[test]
fn switched_off_is_off() {
    let mut world = meshless();
    world.config.termination.enabled = false;
    let pod = pod(json!({}), &["train", "daprd"]);
    check(&world, &pod, RuleId::TerminationManaged, "skipped TerminationOff", json!({}), &[]);
}

/// What the warning says of a pod with these containers where port-forwards are off, as they are by default.
#[rstest]
#[case::by_a_post(pod(json!({}), &["train", "vault-agent"]), &["vault-agent keeps running: termination.portForward is false"])]
#[case::two(pod(json!({}), &["train", "vault-agent", "daprd"]), &["vault-agent, daprd keep running: termination.portForward"])]
#[case::by_annotation(pod(helpers("sql=cloud-sql-proxy"), &["train", "sql"]), &["sql keeps running"])]
#[case::by_a_command(pod(json!({}), &["train", "fluent-bit"]), &[])]
#[case::no_entry(pod(helpers("log"), &["train", "log"]), &[])]
fn without_port_forwards(#[case] pod: Value, #[case] warnings: &[&str]) {
    let world = World { config: Configuration::embedded(), ..meshless() };
    check(&world, &pod, RuleId::TerminationManaged, APPLIED, managed(), warnings);
}

/// The warning does not depend on who labels the pod.
#[test]
fn a_pod_that_is_labeled_already_is_warned_about_too() {
    let world = World { config: Configuration::embedded(), ..meshless() };
    let pod = pod(json!({"labels": managed()}), &["train", "daprd"]);
    check(&world, &pod, RuleId::TerminationManaged, "skipped ManagedAlready", json!({}), &["daprd keeps running"]);
}
