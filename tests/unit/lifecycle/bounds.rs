//! What a hostile pod makes the controller keep, and what is decided about it.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh::controller::Watched;
use trainmesh_core::pod::Pod;

use super::pod::{annotated, container, labelled, plain, pod};
use super::{PodFacts, World, check};

/// Most bytes that one pod may make the controller keep, as their debug text shows them: two annotations of 4 KiB, a list
/// of 64 names, and 64 containers with a name and an id each.
const MOST: usize = 64 * 1024;
/// What is left for one annotation in a pod: the apiserver takes 256 KiB of all.
const LONG: usize = 248 * 1024;

fn watched(pod: &Value) -> Watched {
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
#[case::settle(annotated(hanging(), "trainmesh.dev/settle", &"9".repeat(LONG)))]
#[case::payload(annotated(hanging(), "trainmesh.dev/payload-containers", &names(40_000)))]
#[case::helpers(annotated(hanging(), "trainmesh.dev/helper-containers", &"\u{1}".repeat(LONG)))]
#[case::fabric(annotated(
    annotated(hanging(), "trainmesh.dev/applied", "fabric=ib"), "trainmesh.dev/fabric-revision", &"\u{1}".repeat(LONG)
))]
#[case::other_annotation(annotated(hanging(), "team", &"x".repeat(LONG)))]
#[case::containers(with_containers(5_000))]
#[case::rules(with_rules(2_000, 20))]
#[case::codes(with_rules(1, 100_000))]
fn a_pod_makes_the_controller_keep_little(#[case] hostile: Value) {
    let hostile = labelled(hostile, "batch.kubernetes.io/job-completion-index", "0");
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": true}]);
    let watched = watched(&super::pod::with(hostile, &["metadata", "ownerReferences"], owner));
    let kept = format!("{watched:?}").len();
    assert!(kept <= MOST, "{kept} bytes");
}

/// Nothing is terminated because something was too long to keep.
#[rstest]
#[case::payload_names(
    annotated(hanging(), "trainmesh.dev/payload-containers", &vec!["a"; 65].join(",")),
    &["report PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::payload_length(
    annotated(hanging(), "trainmesh.dev/payload-containers", &format!("a,{}", " ".repeat(4096))),
    &["report PayloadUnknown", "skip PayloadUnknown"]
)]
#[case::helper_names(
    annotated(plain("Never", &["a T0", "log", "istio-proxy"]), "trainmesh.dev/helper-containers", &vec!["log"; 65].join(",")),
    &["report HelperUnknown", "wait PayloadRunning"]
)]
#[case::settle(
    annotated(hanging(), "trainmesh.dev/settle", &format!("{}s", "0".repeat(200))),
    &["report SettleUnreadable", "end istio-proxy envoy-admin"]
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
#[case::as_many_containers_as_are_kept(with_containers(63), &["end istio-proxy envoy-admin"])]
#[case::init_containers(
    pod("Never", (0..65).map(|number| container(&format!("i{number} T0")).native()).chain([container("a T0"), container("istio-proxy")])),
    &["skip TooManyContainers"]
)]
#[case::rules(with_rules(65, 1), &["wait PayloadRestarting"])]
#[case::codes(with_rules(1, 257), &["wait PayloadRestarting"])]
fn what_is_too_long_never_terminates(#[case] hostile: Value, #[case] expected: &[&str]) {
    check(World::default(), &hostile, expected);
    assert_eq!(watched(&hostile).facts, PodFacts::read(Pod::new(&hostile)), "the decoder reads the same facts");
}
