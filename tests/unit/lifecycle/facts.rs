//! What is read from a pod.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::lifecycle::{Agent, Phase, PodFacts};
use trainmesh_core::pod::Pod;

use super::pod::{annotated, container, labelled, plain, pod};

fn read(pod: &Value) -> PodFacts {
    PodFacts::read(Pod::new(pod))
}

fn proxy(env: Value) -> Value {
    pod("Never", [container("train"), container("istio-proxy").with("env", env)])
}

fn config(text: &str) -> Value {
    proxy(json!([{"name": "PROXY_CONFIG", "value": text}]))
}

#[rstest]
#[case::nothing(plain("Never", &["train", "istio-proxy"]), Agent::default())]
#[case::defaults(config("{}\n"), Agent::default())]
#[case::port(config(r#"{"statusPort":15999}"#), Agent { status_port: Some(15999), ..Agent::default() })]
#[case::annotated(
    annotated(config(r#"{"statusPort":15020}"#), "status.sidecar.istio.io/port", "15021"),
    Agent { status_port: Some(15021), ..Agent::default() }
)]
#[case::no_status_server(
    annotated(config("{}"), "status.sidecar.istio.io/port", "0"),
    Agent { status_port: Some(0), ..Agent::default() }
)]
#[case::drain(
    config(r#"{"terminationDrainDuration":"30s"}"#),
    Agent { drain: Some(Duration::from_secs(30)), ..Agent::default() }
)]
#[case::proxyless(proxy(json!([{"name": "DISABLE_ENVOY", "value": "true"}])), Agent { proxyless: true, ..Agent::default() })]
#[case::proxyless_by_template(
    annotated(config("{}"), "inject.istio.io/templates", "grpc-agent"),
    Agent { proxyless: true, ..Agent::default() }
)]
#[case::not_json(config("statusPort: 1"), Agent::default())]
#[case::not_a_port(annotated(config("{}"), "status.sidecar.istio.io/port", "many"), Agent::default())]
fn the_agents_setup(#[case] pod: Value, #[case] expected: Agent) {
    assert_eq!(read(&pod).agent, expected);
}

#[rstest]
#[case::none(plain("Never", &["a"]), false)]
#[case::applied(annotated(plain("Never", &["a"]), "trainmesh.dev/applied", "mesh.hold"), true)]
#[case::managed(labelled(plain("Never", &["a"]), "trainmesh.dev/managed", "true"), true)]
fn traces_of_the_webhook(#[case] pod: Value, #[case] expected: bool) {
    assert_eq!(read(&pod).traced, expected);
}

#[rstest]
#[case::null(Value::Null)]
#[case::no_pod(json!([1]))]
#[case::strings(json!({"metadata": "a", "spec": {"containers": "b"}, "status": {"containerStatuses": 1, "conditions": "x"}}))]
fn a_malformed_pod_is_one_of_which_nothing_is_known(#[case] pod: Value) {
    let facts = read(&pod);
    assert_eq!((facts.phase, facts.containers.len(), &*facts.uid), (Phase::Unknown, 0, ""));
}

#[test]
fn a_termination_without_exit_code_is_no_end() {
    let mut pod = plain("Never", &["a T0", "istio-proxy"]);
    pod["status"]["containerStatuses"][0]["state"]["terminated"].as_object_mut().unwrap().remove("exitCode");
    super::check(super::World::default(), &pod, &["wait StatusIncomplete"]);
}

#[test]
fn names_uid_and_node_are_kept() {
    let facts = read(&plain("Never", &["a"]));
    assert_eq!((&*facts.namespace, &*facts.name, &*facts.uid), ("team-a", "train-0", "u-1"));
    assert_eq!(facts.node.as_deref(), Some("n1"));
    assert_eq!(facts.created, Some(super::pod::at(0)));
}
