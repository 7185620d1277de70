//! Facts that are read from a pod.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::lifecycle::{AgentConfig, PodFacts, PodPhase};
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
#[case::no_config(plain("Never", &["train", "istio-proxy"]), AgentConfig::default())]
#[case::defaults(config("{}\n"), AgentConfig::default())]
#[case::port(config(r#"{"statusPort":15999}"#), AgentConfig { status_port: Some(15999), ..AgentConfig::default() })]
#[case::annotated(
    annotated(config(r#"{"statusPort":15020}"#), "status.sidecar.istio.io/port", "15021"),
    AgentConfig { status_port: Some(15021), ..AgentConfig::default() }
)]
#[case::no_status_server(
    annotated(config("{}"), "status.sidecar.istio.io/port", "0"),
    AgentConfig { status_port: Some(0), ..AgentConfig::default() }
)]
#[case::drain(
    config(r#"{"terminationDrainDuration":"30s"}"#),
    AgentConfig { drain: Some(Duration::from_secs(30)), ..AgentConfig::default() }
)]
#[case::proxyless(proxy(json!([{"name": "DISABLE_ENVOY", "value": "true"}])), AgentConfig { proxyless: true, ..AgentConfig::default() })]
#[case::proxyless_by_template(
    annotated(config("{}"), "inject.istio.io/templates", "grpc-agent"),
    AgentConfig { proxyless: true, ..AgentConfig::default() }
)]
#[case::not_json(config("statusPort: 1"), AgentConfig::default())]
#[case::not_a_port(annotated(config("{}"), "status.sidecar.istio.io/port", "many"), AgentConfig::default())]
fn agent_settings(#[case] pod: Value, #[case] expected: AgentConfig) {
    assert_eq!(read(&pod).agent, expected);
}

#[rstest]
#[case::none(plain("Never", &["a"]), false)]
#[case::applied(annotated(plain("Never", &["a"]), "trainmesh.dev/applied", "mesh.hold"), true)]
#[case::managed(labelled(plain("Never", &["a"]), "trainmesh.dev/managed", "true"), true)]
fn detects_that_the_webhook_handled_the_pod(#[case] pod: Value, #[case] expected: bool) {
    assert_eq!(read(&pod).has_webhook_mark, expected);
}

#[rstest]
#[case::null(Value::Null)]
#[case::not_an_object(json!([1]))]
#[case::strings(json!({"metadata": "a", "spec": {"containers": "b"}, "status": {"containerStatuses": 1, "conditions": "x"}}))]
fn a_malformed_pod_yields_empty_facts(#[case] pod: Value) {
    let facts = read(&pod);
    assert_eq!((facts.phase, facts.containers.len(), &*facts.uid), (PodPhase::Unknown, 0, ""));
}

#[test]
fn a_termination_without_exit_code_does_not_count() {
    let mut pod = plain("Never", &["a T0", "istio-proxy"]);
    pod["status"]["containerStatuses"][0]["state"]["terminated"].as_object_mut().unwrap().remove("exitCode");
    super::check(super::Scenario::default(), &pod, &["wait StatusIncomplete"]);
}

#[test]
fn reads_names_uid_and_node() {
    let facts = read(&plain("Never", &["a"]));
    assert_eq!((&*facts.namespace, &*facts.name, &*facts.uid), ("team-a", "train-0", "u-1"));
    assert_eq!(facts.node.as_deref(), Some("n1"));
    assert_eq!(facts.created, Some(super::pod::at(0)));
}
