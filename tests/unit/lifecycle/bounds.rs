//! Bounds on what the controller keeps of a hostile pod, and the decisions about such a pod.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh::controller::WatchedPod;
use trainmesh_core::pod::Pod;

use super::pod::{annotated, container, labelled, plain, pod};
use super::{PodFacts, Scenario, check};

/// Largest debug representation that the controller may keep of one pod: two annotations of 4 KiB, a list of 64 names,
/// and 64 containers with a name and an id each.
const MAX_SIZE: usize = 64 * 1024;
/// Longest value of one annotation: the apiserver accepts 256 KiB for all.
const MAX_ANNOTATION: usize = 248 * 1024;

fn watched(pod: &Value) -> WatchedPod {
    serde_json::from_str(&pod.to_string()).unwrap()
}

fn hanging() -> Value {
    plain("Never", &["a T0", "istio-proxy"])
}

fn with_containers(number: usize) -> Value {
    pod("Never", (0..number).map(|number| container(&format!("c{number} T0"))).chain([container("istio-proxy")]))
}

fn with_rules(rules: usize, codes: usize) -> Value {
    let rule = json!({"action": "Restart", "exitCodes": {"operator": "In", "values": vec![7; codes]}});
    pod("Never", [container("a T0").with("restartPolicyRules", json!(vec![rule; rules])), container("istio-proxy")])
}

fn names(number: usize) -> String {
    (0..number).map(|number| format!("a{number}")).collect::<Vec<_>>().join(",")
}

#[rstest]
#[case::status(annotated(hanging(), "sidecar.istio.io/status", &json!({"containers": vec!["istio-proxy"; 17_000]}).to_string()))]
#[case::settle(annotated(hanging(), "trainmesh.dev/settle", &"9".repeat(MAX_ANNOTATION)))]
#[case::main_containers(annotated(hanging(), "trainmesh.dev/payload-containers", &names(40_000)))]
#[case::sidecars(annotated(hanging(), "trainmesh.dev/helper-containers", &"\u{1}".repeat(MAX_ANNOTATION)))]
#[case::fabric(annotated(
    annotated(hanging(), "trainmesh.dev/applied", "fabric=ib"), "trainmesh.dev/fabric-revision", &"\u{1}".repeat(MAX_ANNOTATION)
))]
#[case::other_annotation(annotated(hanging(), "team", &"x".repeat(MAX_ANNOTATION)))]
#[case::containers(with_containers(5_000))]
#[case::rules(with_rules(2_000, 20))]
#[case::codes(with_rules(1, 100_000))]
fn memory_for_a_hostile_pod_is_bounded(#[case] hostile: Value) {
    let hostile = labelled(hostile, "batch.kubernetes.io/job-completion-index", "0");
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": true}]);
    let watched = watched(&super::pod::with(hostile, &["metadata", "ownerReferences"], owner));
    let size = format!("{watched:?}").len();
    assert!(size <= MAX_SIZE, "{size} bytes");
}

/// A value that is too long to keep never leads to a termination.
#[rstest]
#[case::main_container_names(
    annotated(hanging(), "trainmesh.dev/payload-containers", &vec!["a"; 65].join(",")),
    &["publish PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::main_container_length(
    annotated(hanging(), "trainmesh.dev/payload-containers", &format!("a,{}", " ".repeat(4096))),
    &["publish PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::sidecar_names(
    annotated(plain("Never", &["a T0", "log", "istio-proxy"]), "trainmesh.dev/helper-containers", &vec!["log"; 65].join(",")),
    &["publish HelperUnknown", "wait PayloadRunning"]
)]
#[case::settle(
    annotated(hanging(), "trainmesh.dev/settle", &format!("{}s", "0".repeat(200))),
    &["publish SettleUnreadable", "end istio-proxy envoy-admin"]
)]
#[case::status(
    annotated(hanging(), "sidecar.istio.io/status", &json!({"containers": ["istio-proxy", "x".repeat(4096)]}).to_string()),
    &["skip NothingToEnd"]
)]
#[case::status_names(
    annotated(hanging(), "sidecar.istio.io/status", &json!({"containers": vec!["istio-proxy"; 65]}).to_string()),
    &["skip NothingToEnd"]
)]
#[case::containers(with_containers(64), &["skip TooManyContainers"])]
#[case::containers_at_the_limit(with_containers(63), &["end istio-proxy envoy-admin"])]
#[case::init_containers(
    pod("Never", (0..65).map(|number| container(&format!("i{number} T0")).native()).chain([container("a T0"), container("istio-proxy")])),
    &["skip TooManyContainers"]
)]
#[case::rules(with_rules(65, 1), &["wait PayloadRestarting"])]
#[case::codes(with_rules(1, 257), &["wait PayloadRestarting"])]
fn overlong_values_never_cause_a_termination(#[case] hostile: Value, #[case] expected: &[&str]) {
    check(Scenario::default(), &hostile, expected);
    assert_eq!(watched(&hostile).facts, PodFacts::read(Pod::new(&hostile)), "the decoder must read the same facts");
}
