//! Pods that do not start, or start late, because of the mesh: FP056, FP057, FP059.

use rstest::rstest;
use trainmesh_core::config::LintSettings;
use trainmesh_core::finding::Severity;
use trainmesh_core::mutate::{Reason, RuleId, Verdict};

use super::scenario::{Scenario, check, pod, train};

const HOOK: &str = "lifecycle: {postStart: {exec: {command: [wait]}}}";

#[rstest]
#[case::ambient(train(HOOK).labelled("istio.io/dataplane-mode", "ambient"), Some("container train: the pod has no network until its postStart hook ends"))]
#[case::redirected(
    pod(&format!("{{metadata: {{annotations: {{ambient.istio.io/redirection: enabled}}}}, spec: {{containers: [{{name: train, {HOOK}}}]}}}}")),
    Some("container train: the pod has no network until its postStart hook ends")
)]
#[case::excluded(
    pod(&format!("{{metadata: {{labels: {{istio.io/dataplane-mode: none}}}}, spec: {{containers: [{{name: train, {HOOK}}}]}}}}"))
        .labelled("istio.io/dataplane-mode", "ambient"),
    None
)]
#[case::sidecar_mode(train(HOOK).labelled("istio-injection", "enabled"), None)]
#[case::no_mesh(train(HOOK), None)]
#[case::only_sleeps(train("lifecycle: {postStart: {sleep: {seconds: 1}}}").labelled("istio.io/dataplane-mode", "ambient"), None)]
#[case::before_termination(train("lifecycle: {preStop: {exec: {command: [wait]}}}").labelled("istio.io/dataplane-mode", "ambient"), None)]
fn fp056_hooks_in_the_ambient_mesh(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP056", scenario, expected);
}

#[rstest]
#[case::limits(
    "limits: {cpu: '8', memory: 8Gi}",
    "enabled",
    Some("istio-proxy must fit into the limits of the pod: cpu 8, memory 8Gi")
)]
#[case::number(
    "limits: {cpu: 8, nvidia.com/gpu: 8}",
    "enabled",
    Some("istio-proxy must fit into the limits of the pod: cpu 8")
)]
#[case::other_resource("limits: {hugepages-2Mi: 1Gi}", "enabled", None)]
#[case::no_limits("requests: {cpu: '8'}", "enabled", None)]
#[case::no_proxy("limits: {cpu: '8'}", "disabled", None)]
fn fp057_limits_of_the_pod(#[case] resources: &str, #[case] injection: &str, #[case] expected: Option<&str>) {
    let scenario = pod(&format!("{{spec: {{resources: {{{resources}}}, containers: [{{name: train}}]}}}}"));
    check("FP057", scenario.labelled("istio-injection", injection), expected);
}

const CLASSIC: &str = r#"sidecar.istio.io/status: '{"initContainers":["istio-init"],"containers":["istio-proxy"]}'"#;
const NATIVE: &str = r#"sidecar.istio.io/status: '{"initContainers":["istio-init","istio-proxy"],"containers":null}'"#;
const MESSAGE: &str = "init container wait-gcs-ready needs the network before a classic istio-proxy starts";

/// Returns a pod with these annotations and init containers; a container `istio-proxy` is among its containers if it is not
/// among these.
fn waiting(annotations: &str, init_containers: &str) -> Scenario {
    let proxy = if init_containers.contains("istio-proxy") { "" } else { ", {name: istio-proxy}" };
    pod(&format!(
        "{{metadata: {{annotations: {{{annotations}}}}}, spec: {{initContainers: [{init_containers}], containers: [{{name: train}}{proxy}]}}}}"
    ))
}

const WAIT: &str = "{name: wait-gcs-ready}";
const WAIT_FOR_NAME: &str = "{name: init-pytorch}";

#[rstest]
#[case::classic(waiting(CLASSIC, WAIT), Some(MESSAGE))]
#[case::native_before(waiting(NATIVE, "{name: istio-proxy, restartPolicy: Always}, {name: wait-gcs-ready}"), None)]
#[case::other_init_container(waiting(CLASSIC, "{name: copy}"), None)]
#[case::name_resolution(waiting(CLASSIC, WAIT_FOR_NAME), None)]
#[case::captured_name_resolution(
    waiting(&format!("{CLASSIC}, proxy.istio.io/config: 'proxyMetadata: {{ISTIO_META_DNS_CAPTURE: \"true\"}}'"), WAIT_FOR_NAME),
    Some("init container init-pytorch needs the network before a classic istio-proxy starts")
)]
#[case::not_injected(waiting("", WAIT), None)]
#[case::held(waiting("", WAIT).decided(RuleId::MeshHold, Verdict::Applied, Reason::HoldAdded, ""), Some(MESSAGE))]
#[case::native_requested(
    waiting("sidecar.istio.io/nativeSidecar: 'true'", WAIT).decided(RuleId::MeshHold, Verdict::Applied, Reason::HoldAdded, ""),
    None
)]
fn fp059_early_network_use(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP059", scenario, expected);
}

#[rstest]
#[case::injected(CLASSIC, Severity::Warning)]
#[case::requested("sidecar.istio.io/nativeSidecar: 'false'", Severity::Warning)]
#[case::decided_by_istio("", Severity::Info)]
fn fp059_depends_on_the_kind_of_the_sidecar(#[case] annotations: &str, #[case] expected: Severity) {
    let scenario = waiting(annotations, WAIT).decided(RuleId::MeshHold, Verdict::Applied, Reason::HoldAdded, "");
    let findings = scenario.lint(&LintSettings::default());
    let found = findings.iter().find(|finding| finding.code == "FP059").map(|finding| finding.severity);
    assert_eq!(found, Some(expected));
}
