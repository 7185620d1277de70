//! The label `security.istio.io/tlsMode` under `disableCapture`: clients choose mTLS by it, not by capture.

use super::*;

const EXCLUDED_PORTS: &str = "traffic.sidecar.istio.io/excludeInboundPorts";
const INTERCEPTION: &str = "sidecar.istio.io/interceptionMode";
const TEMPLATES: &str = "inject.istio.io/templates";
const KEPT: &str = "no inbound port is captured, but security.istio.io/tlsMode makes clients use mTLS";

const LEAVES: &str = "all traffic leaves the mesh: no mTLS, policies or telemetry, and STRICT servers reject calls";
const CALLS_LEAVE: &str = "all calls of the pod leave the mesh: no mTLS or telemetry, and STRICT servers reject them";
const INBOUND_LEAVES: &str = "all connections to the pod leave the mesh: no mTLS, policies or telemetry";

fn off() -> Value {
    json!({INBOUND: "", OUTBOUND: ""})
}

#[rstest]
#[case::nothing(json!({}), "istio-proxy captures no traffic")]
#[case::disabled_by_the_user(json!({OUTBOUND: ""}), "istio-proxy captures no traffic")]
#[case::outbound(
    json!({OUTBOUND: "172.20.0.0/16"}),
    "istio-proxy captures no traffic: except as annotation traffic.sidecar.istio.io/includeOutboundIPRanges of the pod selects"
)]
#[case::inbound(
    json!({EXCLUDED_PORTS: "22"}),
    "istio-proxy captures no traffic: except as annotation traffic.sidecar.istio.io/excludeInboundPorts of the pod selects"
)]
fn the_message_names_what_is_still_captured(#[case] annotations: Value, #[case] expected: &str) {
    let pod = pod(json!({"annotations": annotations}));
    let outcome = with_traffic(Traffic::DisableCapture).run(&pod);
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::MeshTraffic).unwrap();
    assert_eq!(rule.message, expected);
}

#[rstest]
#[case::unset(json!({}), "applied CaptureDisabled", json!({INBOUND: "", OUTBOUND: "", TLS_MODE: "disabled"}), &[LEAVES])]
#[case::capture_disabled_by_the_user(
    json!({"annotations": off()}), "applied CaptureDisabled", json!({TLS_MODE: "disabled"}), &[LEAVES]
)]
#[case::inbound_disabled_by_the_user(
    json!({"annotations": {INBOUND: "", "traffic.sidecar.istio.io/excludeOutboundPorts": "1"}}),
    "applied CaptureDisabled",
    json!({TLS_MODE: "disabled"}),
    &[INBOUND_LEAVES]
)]
#[case::disabled_by_the_user(
    json!({"annotations": off(), "labels": {TLS_MODE: "disabled"}}), "skipped CaptureAlreadyDisabled", json!({}), &[]
)]
#[case::another_value(
    json!({"labels": {TLS_MODE: "none"}}), "applied CaptureDisabled", off(), &[LEAVES]
)]
#[case::mutual(json!({"labels": {TLS_MODE: "istio"}}), "applied CaptureDisabled", off(), &[LEAVES, KEPT])]
#[case::empty_as_mutual(json!({"labels": {TLS_MODE: ""}}), "applied CaptureDisabled", off(), &[LEAVES, KEPT])]
#[case::mutual_and_capture_disabled_by_the_user(
    json!({"annotations": off(), "labels": {TLS_MODE: "istio"}}), "skipped CaptureAlreadyDisabled", json!({}), &[KEPT]
)]
#[case::a_port_is_captured(
    json!({"annotations": {INBOUND: "8080"}}), "applied CaptureDisabled", json!({OUTBOUND: ""}), &[CALLS_LEAVE]
)]
#[case::ports_are_excluded(
    json!({"annotations": {EXCLUDED_PORTS: "22"}}), "applied CaptureDisabled", json!({OUTBOUND: ""}), &[CALLS_LEAVE]
)]
#[case::mutual_of_a_captured_port(
    json!({"annotations": {INBOUND: "8080"}, "labels": {TLS_MODE: "istio"}}),
    "applied CaptureDisabled",
    json!({OUTBOUND: ""}),
    &[CALLS_LEAVE]
)]
#[case::ingress_listeners(
    json!({"annotations": {INTERCEPTION: "NONE"}}), "applied CaptureDisabled", off(), &[LEAVES]
)]
#[case::tproxy(
    json!({"annotations": {INTERCEPTION: "TPROXY"}}),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: "", TLS_MODE: "disabled"}),
    &[LEAVES]
)]
#[case::no_envoy(
    json!({"annotations": {TEMPLATES: "grpc-agent"}, "labels": {TLS_MODE: "istio"}}),
    "applied CaptureDisabled",
    off(),
    &[LEAVES]
)]
fn clients_use_plain_text_if_nothing_is_captured(
    #[case] metadata: Value,
    #[case] expected: &str,
    #[case] written: Value,
    #[case] warnings: &[&str],
) {
    check(&with_traffic(Traffic::DisableCapture), &pod(metadata), RuleId::MeshTraffic, expected, written, warnings);
}

#[test]
fn an_injection_that_keeps_the_label_changes_nothing_further() {
    let scenario = with_traffic(Traffic::DisableCapture);
    let metadata = json!({"annotations": off(), "labels": {TLS_MODE: "disabled"}});
    let again = injected(metadata, waiting_proxy());
    check(&scenario, &again, RuleId::MeshTraffic, "skipped CaptureAlreadyDisabled", json!({}), &[]);
}
