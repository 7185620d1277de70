//! Every reason to skip a pod.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::scope::{Exclusion, Mode};

use super::pod::{annotated, container, labelled, plain, pod, with};
use super::{Scenario, check};

/// Returns a pod whose proxy would be terminated.
fn hanging() -> Value {
    plain("Never", &["train T0", "istio-proxy"])
}

#[rstest]
#[case::none(hanging(), "end istio-proxy envoy-admin")]
#[case::opted_out(labelled(hanging(), "trainmesh.dev/inject", "disabled"), "skip PodOptedOut")]
#[case::opt_out_by_annotation_is_ignored(
    annotated(hanging(), "trainmesh.dev/inject", "disabled"),
    "end istio-proxy envoy-admin"
)]
#[case::deleting(with(hanging(), &["metadata", "deletionTimestamp"], json!("2026-01-01T00:00:00Z")), "skip BeingDeleted")]
#[case::pending(with(hanging(), &["status", "phase"], json!("Pending")), "skip Pending")]
#[case::succeeded(with(hanging(), &["status", "phase"], json!("Succeeded")), "skip Finished")]
#[case::failed(with(hanging(), &["status", "phase"], json!("Failed")), "skip Finished")]
#[case::unknown(with(hanging(), &["status", "phase"], json!("Unknown")), "skip PhaseUnknown")]
#[case::no_phase(with(hanging(), &["status", "phase"], Value::Null), "skip PhaseUnknown")]
#[case::no_status(with(hanging(), &["status"], Value::Null), "skip PhaseUnknown")]
#[case::host_network(with(hanging(), &["spec", "hostNetwork"], json!(true)), "skip HostNetwork")]
#[case::restarting(
    with(hanging(), &["status", "conditions"], json!([{"type": "AllContainersRestarting", "status": "True"}])),
    "skip Restarting"
)]
#[case::restarting_in_place(
    with(hanging(), &["status", "conditions"], json!([{"type": "PodRestartInPlace", "status": "True"}])),
    "skip Restarting"
)]
#[case::restarted(
    with(hanging(), &["status", "conditions"], json!([{"type": "AllContainersRestarting", "status": "False"}])),
    "end istio-proxy envoy-admin"
)]
#[case::no_proxy(plain("Never", &["train T0"]), "skip NothingToEnd")]
#[case::native(pod("Never", [container("istio-proxy").native(), container("train T0")]), "skip NativeProxy")]
#[case::ambient(annotated(plain("Never", &["train T0"]), "ambient.istio.io/redirection", "enabled"), "skip Ambient")]
#[case::ambient_by_label(labelled(plain("Never", &["train T0"]), "istio.io/dataplane-mode", "ambient"), "skip Ambient")]
#[case::only_a_proxy(plain("Never", &["istio-proxy"]), "skip NoPayload")]
#[case::always(plain("Always", &["train T0", "istio-proxy"]), "skip PayloadNeverEnds")]
#[case::always_except_for_the_main_container(
    pod("Always", [container("train T0").with("restartPolicy", json!("Never")), container("istio-proxy")]),
    "skip ProxyNeverEnds"
)]
#[case::always_except_for_main_container_and_proxy(
    pod("Always", ["train T0", "istio-proxy"].map(|text| container(text).with("restartPolicy", json!("Never")))),
    "end istio-proxy envoy-admin"
)]
#[case::ended(plain("Never", &["train T0", "istio-proxy T0"]), "skip Ended")]
fn pods_are_skipped_with_a_reason(#[case] pod: Value, #[case] expected: &str) {
    check(Scenario::default(), &pod, &[expected]);
}

#[rstest]
#[case::enabled(Ok(Mode::Enabled), &["end istio-proxy envoy-admin"])]
#[case::istio_aux(Ok(Mode::IstioAux), &["end istio-proxy envoy-admin"])]
#[case::audit(Ok(Mode::Audit), &["publish WouldEnd", "skip Audit"])]
#[case::not_opted_in(Err(Exclusion::NamespaceNotOptedIn), &["skip NamespaceNotOptedIn"])]
#[case::excluded(Err(Exclusion::ExcludedNamespace), &["skip ExcludedNamespace"])]
#[case::pod(Err(Exclusion::PodOptedOut), &["skip PodOptedOut"])]
fn modes_decide_whether_the_controller_acts(#[case] mode: Result<Mode, Exclusion>, #[case] expected: &[&str]) {
    check(Scenario::mode(mode), &hanging(), expected);
}

#[test]
fn audit_mode_reports_once_what_it_would_terminate() {
    let mut scenario = Scenario::mode(Ok(Mode::Audit));
    let pod = plain("Never", &["train T0", "daprd", "fluent-bit T0", "istio-proxy"]);
    let trainmesh_core::lifecycle::Decision::Publish(finding) = scenario.decide(&pod) else { panic!("no report") };
    assert_eq!(finding.detail, "daprd, istio-proxy");
    assert_eq!(scenario.decisions(&pod), ["publish WouldEnd", "skip Audit"]);
    assert_eq!(scenario.decisions(&pod), ["skip Audit"]);
    assert_eq!(scenario.decisions(&plain("Never", &["train", "istio-proxy"])), ["wait PayloadRunning"]);
}

#[test]
fn nothing_is_terminated_when_termination_is_disabled() {
    check(Scenario::settings(|settings| settings.enabled = false), &hanging(), &["skip TerminationOff"]);
}
