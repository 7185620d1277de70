//! The marks of a refusal: written where the namespace is opted in, recomputed in copied pods, never for skips.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::mutate::{RuleId, Verdict};
use trainmesh_core::scope::Mode;

use super::{Scenario, differences, pod};

const REFUSED: &str = "trainmesh.dev/refused";

/// Returns a pod that selects a profile that does not exist.
fn unknown_fabric() -> Value {
    gpus(pod(json!({"labels": {"trainmesh.dev/fabric": "eks-efaa"}})))
}

fn gpus(mut pod: Value) -> Value {
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": 8}});
    pod
}

fn annotated(mut pod: Value, value: &str) -> Value {
    pod["metadata"]["annotations"] = json!({REFUSED: value});
    pod
}

fn without_injection(mode: Mode) -> Scenario {
    Scenario { mode, ..Scenario::labels(json!({})) }
}

fn marks(value: &str) -> Value {
    json!({REFUSED: value, "trainmesh.dev/managed": "true"})
}

#[rstest]
#[case::refused(Mode::Enabled, unknown_fabric(), marks("fabric=UnknownFabric"))]
#[case::two_rules(
    Mode::Enabled,
    gpus(pod(json!({"labels": {"trainmesh.dev/fabric": "eks-efaa", "trainmesh.dev/mesh-traffic": "off"}}))),
    marks("mesh.traffic=UnknownTrafficMode,fabric=UnknownFabric")
)]
#[case::audit_mode(Mode::Audit, unknown_fabric(), json!({}))]
#[case::skipped(Mode::Enabled, pod(json!({"labels": {"trainmesh.dev/fabric": "none"}})), json!({}))]
#[case::copied(
    Mode::Enabled,
    annotated(unknown_fabric(), "mesh.hold=ProxyConfigRefused"),
    marks("fabric=UnknownFabric")
)]
#[case::copied_to_a_pod_without_refusals(Mode::Enabled, annotated(pod(json!({})), "fabric=UnknownFabric"), json!({REFUSED: ""}))]
#[case::copied_to_an_istio_aux_namespace(Mode::IstioAux, annotated(pod(json!({})), "fabric=UnknownFabric"), json!({}))]
#[case::reinvoked(
    Mode::Enabled,
    {
        let mut pod = annotated(unknown_fabric(), "fabric=UnknownFabric");
        pod["metadata"]["labels"]["trainmesh.dev/managed"] = json!("true");
        pod
    },
    json!({})
)]
fn refusals_leave_marks(#[case] mode: Mode, #[case] pod: Value, #[case] written: Value) {
    let scenario = without_injection(mode);
    let mut patched = pod.clone();
    scenario.run(&pod).patch.apply(&mut patched).unwrap();
    assert_eq!(differences(&pod, &patched), written);
    assert!(scenario.run(&patched).patch.is_empty());
}

/// The label is never shown without its purpose.
#[rstest]
#[case::fabric(
    gpus(pod(json!({"labels": {"trainmesh.dev/fabric": "tcp"}}))),
    "the pod has no known sidecar other than istio-proxy: the label trainmesh.dev/managed lets the controller watch the pod's fabric"
)]
#[case::refusal(
    unknown_fabric(),
    "the pod has no known sidecar other than istio-proxy: the label trainmesh.dev/managed lets the controller report the refusal"
)]
#[case::already_labeled(
    {
        let mut pod = unknown_fabric();
        pod["metadata"]["labels"]["trainmesh.dev/managed"] = json!("true");
        pod
    },
    "the pod has no known sidecar other than istio-proxy: the label trainmesh.dev/managed lets the controller report the refusal"
)]
#[case::no_label(pod(json!({})), "the pod has no known sidecar other than istio-proxy")]
fn the_label_for_the_controller_is_explained(#[case] pod: Value, #[case] expected: &str) {
    let outcome = without_injection(Mode::Enabled).run(&pod);
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::TerminationManaged).unwrap();
    assert_eq!((rule.outcome, rule.message.as_str()), (Verdict::Skipped, expected));
    let field = (expected.contains("label")).then_some("/metadata/labels/trainmesh.dev~1managed");
    assert_eq!(rule.field.as_deref(), field);
}
