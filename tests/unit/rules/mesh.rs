//! Decision tables of the rule `mesh.traffic`.

mod direct;
mod disable_capture;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{Configuration, Traffic};
use trainmesh_core::mutate::RuleId;
use trainmesh_core::scope::Mode;

use super::{Scenario, check, customized, gateway, injected, pod, waiting_proxy};

const INBOUND: &str = "traffic.sidecar.istio.io/includeInboundPorts";
const OUTBOUND: &str = "traffic.sidecar.istio.io/includeOutboundIPRanges";
const TLS_MODE: &str = "security.istio.io/tlsMode";

fn with_traffic(traffic: Traffic) -> Scenario {
    Scenario::config(|config| {
        config.mesh.traffic = traffic;
        config.mesh.hold = false;
    })
}

/// Start of the warning about each pod that gets `disableCapture`.
const ALL_LEAVES: &str = "all traffic leaves the mesh: no mTLS";

#[rstest]
#[case::unchanged_by_default(with_traffic(Traffic::Leave), pod(json!({})), "skipped TrafficLeft", json!({}), &[])]
#[case::capture(with_traffic(Traffic::DisableCapture), pod(json!({})), "applied CaptureDisabled", json!({INBOUND: "", OUTBOUND: "", TLS_MODE: "disabled"}), &[ALL_LEAVES])]
#[case::capture_is_off(with_traffic(Traffic::DisableCapture), pod(json!({"annotations": {INBOUND: "", OUTBOUND: ""}, "labels": {TLS_MODE: "disabled"}})), "skipped CaptureAlreadyDisabled", json!({}), &[])]
#[case::one_direction_set_by_user(
    with_traffic(Traffic::DisableCapture),
    pod(json!({"annotations": {"traffic.sidecar.istio.io/excludeInboundPorts": "22"}})),
    "applied CaptureDisabled",
    json!({OUTBOUND: ""}),
    &["all calls of the pod leave the mesh"]
)]
#[case::both_directions_set_by_user(
    with_traffic(Traffic::DisableCapture),
    pod(json!({"annotations": {INBOUND: "8080", "traffic.sidecar.istio.io/excludeOutboundPorts": "1"}})),
    "skipped TrafficSetByUser",
    json!({}),
    &[]
)]
#[case::capture_without_injection(
    Scenario { labels: json!({}), ..with_traffic(Traffic::DisableCapture) },
    pod(json!({})),
    "skipped InjectionNotRequested",
    json!({}),
    &[]
)]
#[case::injection(with_traffic(Traffic::DisableInjection), pod(json!({})), "applied InjectionTurnedOff", json!({"sidecar.istio.io/inject": "false"}), &[])]
#[case::injection_set_by_user(
    with_traffic(Traffic::DisableInjection),
    pod(json!({"labels": {"sidecar.istio.io/inject": "true"}})),
    "skipped InjectionSetByUser",
    json!({}),
    &[]
)]
#[case::injection_set_by_annotation(
    with_traffic(Traffic::DisableInjection),
    pod(json!({"annotations": {"sidecar.istio.io/inject": "true"}})),
    "skipped InjectionSetByUser",
    json!({}),
    &[]
)]
#[case::namespace_label(
    Scenario { labels: json!({"istio-injection": "enabled", "trainmesh.dev/mesh-traffic": "disableCapture"}), ..with_traffic(Traffic::Leave) },
    pod(json!({})),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: "", TLS_MODE: "disabled"}),
    &[ALL_LEAVES]
)]
#[case::pod_label_wins(
    Scenario { labels: json!({"istio-injection": "enabled", "trainmesh.dev/mesh-traffic": "disableCapture"}), ..with_traffic(Traffic::Leave) },
    pod(json!({"labels": {"trainmesh.dev/mesh-traffic": "leave"}})),
    "skipped TrafficLeft",
    json!({}),
    &[]
)]
#[case::unknown(
    with_traffic(Traffic::DisableCapture),
    pod(json!({"labels": {"trainmesh.dev/mesh-traffic": "off"}})),
    "refused UnknownTrafficMode",
    json!({}),
    &["expected leave, direct, disableCapture or disableInjection"]
)]
#[case::injected(with_traffic(Traffic::DisableInjection), injected(json!({}), waiting_proxy()), "skipped AlreadyInjected", json!({}), &[])]
// Without injection, the image "auto" would never be replaced.
#[case::own_proxy_container(
    with_traffic(Traffic::DisableInjection),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "skipped ProxyCustomized",
    json!({}),
    &[]
)]
#[case::capture_of_a_customized_proxy(
    with_traffic(Traffic::DisableCapture),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: "", TLS_MODE: "disabled"}),
    &[ALL_LEAVES]
)]
#[case::capture_of_a_template_that_was_injected(
    with_traffic(Traffic::DisableCapture),
    injected(json!({}), waiting_proxy()),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: "", TLS_MODE: "disabled"}),
    &[ALL_LEAVES]
)]
#[case::capture_of_a_manually_injected_pod(
    Scenario { labels: json!({}), ..with_traffic(Traffic::DisableCapture) },
    injected(json!({}), waiting_proxy()),
    "skipped AlreadyInjected",
    json!({}),
    &[]
)]
#[case::capture_of_a_gateway(with_traffic(Traffic::DisableCapture), gateway(json!({})), "skipped GatewayPod", json!({}), &[])]
#[case::istio_aux(
    Scenario { mode: Mode::IstioAux, ..with_traffic(Traffic::DisableInjection) },
    pod(json!({})),
    "skipped IstioAuxNamespace",
    json!({}),
    &[]
)]
fn traffic(
    #[case] scenario: Scenario,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] written: Value,
    #[case] warnings: &[&str],
) {
    check(&scenario, &pod, RuleId::MeshTraffic, expected, written, warnings);
}

const PROFILE: &str = "fabric: {default: lab, profiles: [{name: lab, transport: ib, mesh: {istio: excludeInterfaces, interfaces: [net1]}}]}";

#[rstest]
#[case::configuration("", json!({}), json!({}), "mesh.traffic of the configuration is leave")]
#[case::own_label("", json!({"trainmesh.dev/mesh-traffic": "direct"}), json!({"trainmesh.dev/mesh-traffic": "leave"}), "the label trainmesh.dev/mesh-traffic is leave")]
#[case::label_of_the_namespace("", json!({"trainmesh.dev/mesh-traffic": "leave"}), json!({}), "the label trainmesh.dev/mesh-traffic is leave")]
#[case::profile(PROFILE, json!({}), json!({}), "the fabric profile only excludes interfaces")]
fn the_message_names_what_selects_leave(
    #[case] config: &str,
    #[case] namespace: Value,
    #[case] labels: Value,
    #[case] expected: &str,
) {
    let text = format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{config}\n");
    let scenario = Scenario { labels: namespace, config: Configuration::parse(&text).unwrap(), ..Scenario::default() };
    let mut pod = pod(json!({"labels": labels}));
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": 8}});
    let outcome = scenario.run(&pod);
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::MeshTraffic).unwrap();
    assert_eq!(rule.message, format!("Istio decides about traffic capture: {expected}"));
}
