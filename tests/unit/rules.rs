//! What each rule decides, as a table: pod, namespace and configuration in; outcome, reason, patch and warnings out.

mod fabric;
mod managed;

use std::collections::BTreeMap;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{Configuration, NativeSidecar, Period, Traffic};
use trainmesh_core::mutate::{Outcome, RuleId, Snapshot, mutate};
use trainmesh_core::scope::Mode;
use trainmesh_testing::snapshot::snapshot;

const HELD: &str = "holdApplicationUntilProxyStarts: true";

/// A case's world: an injected, opted-in namespace on the default configuration unless it says otherwise.
struct World {
    mode: Mode,
    labels: Value,
    config: Configuration,
}

impl Default for World {
    fn default() -> Self {
        Self { mode: Mode::Enabled, labels: json!({"istio-injection": "enabled"}), config: Configuration::embedded() }
    }
}

impl World {
    fn labels(labels: Value) -> Self {
        Self { labels, ..Self::default() }
    }

    fn mode(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    fn config(change: impl FnOnce(&mut Configuration)) -> Self {
        let mut world = Self::default();
        change(&mut world.config);
        world
    }

    fn run(&self, pod: &Value) -> Outcome {
        let labels: BTreeMap<String, String> = serde_json::from_value(self.labels.clone()).unwrap();
        let config_hash = self.config.hash();
        let snapshot = snapshot(&labels, &self.config);
        mutate(pod, &Snapshot { mode: self.mode, config_hash: &config_hash, ..snapshot })
    }
}

fn pod(metadata: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "train", "image": "i"}]}})
}

/// A pod with a container of its own beside the application.
fn customized(metadata: Value, proxy: Value) -> Value {
    json!({"metadata": metadata, "spec": {"containers": [proxy, {"name": "train", "image": "i"}]}})
}

/// A pod that Istio's injector has completed with `proxy`, and marked.
fn injected(metadata: Value, proxy: Value) -> Value {
    marked(customized(metadata, proxy))
}

/// Adds the annotation that only Istio's injector writes.
fn marked(mut pod: Value) -> Value {
    pod["metadata"]["annotations"]["sidecar.istio.io/status"] =
        json!(r#"{"initContainers":["istio-proxy"],"containers":["istio-proxy"],"volumes":null,"revision":"default"}"#);
    pod
}

fn waiting_proxy() -> Value {
    json!({"name": "istio-proxy", "lifecycle": {"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}}})
}

/// A proxy without a hook, rendered from this `ProxyConfig`.
fn rendered_from(proxy_config: &str) -> Value {
    json!({"name": "istio-proxy", "env": [{"name": "PROXY_CONFIG", "value": proxy_config}]})
}

/// A pod that runs nothing but a proxy.
fn gateway(metadata: Value) -> Value {
    json!({"metadata": metadata, "spec": {"containers": [{"name": "istio-proxy", "image": "auto"}]}})
}

/// What the grpc-agent template renders.
fn grpc_proxy() -> Value {
    let command = ["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"];
    json!({"name": "istio-proxy", "env": [{"name": "DISABLE_ENVOY", "value": "true"}],
        "lifecycle": {"postStart": {"exec": {"command": command}}}})
}

/// Runs a case; a patched pod is run again and must come to rest, and what was written is compared with `annotations`
/// and `labels`.
fn check(world: &World, pod: &Value, rule: RuleId, expected: &str, written: Value, warnings: &[&str]) {
    let outcome = world.run(pod);
    let found = outcome.rules.iter().find(|outcome| outcome.rule == rule).unwrap();
    assert_eq!(format!("{} {}", found.outcome.name(), found.reason.code()), expected, "{outcome:#?}");
    assert_eq!(outcome.warnings.len(), warnings.len(), "{:?}", outcome.warnings);
    for (warning, part) in outcome.warnings.iter().zip(warnings) {
        assert!(warning.contains(part), "{warning}");
        assert!(warning.len() <= 120, "a person reads at most 120 characters: {warning}");
    }
    let mut patched = pod.clone();
    outcome.patch.apply(&mut patched).unwrap();
    assert_eq!(differences(pod, &patched), written);
    let again = world.run(&patched);
    assert!(again.patch.is_empty(), "not idempotent: {:#?}", again.patch);
}

/// Annotations and labels that the patch wrote, without our own bookkeeping.
fn differences(before: &Value, after: &Value) -> Value {
    let mut written = serde_json::Map::new();
    for map in ["annotations", "labels"] {
        let old = &before["metadata"][map];
        for (key, value) in after["metadata"][map].as_object().into_iter().flatten() {
            if old.get(key) != Some(value) && key != "trainmesh.dev/applied" {
                written.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(written)
}

#[rstest]
#[case::injected_namespace(World::default(), pod(json!({})), "applied HoldAdded", json!({"proxy.istio.io/config": HELD}), &[])]
#[case::revision(World::labels(json!({"istio.io/rev": "canary"})), pod(json!({})), "applied HoldAdded", json!({"proxy.istio.io/config": HELD}), &[])]
#[case::istio_aux(World::mode(Mode::IstioAux), pod(json!({})), "applied HoldAdded", json!({"proxy.istio.io/config": HELD}), &[])]
#[case::rehearsal(World::mode(Mode::Audit), pod(json!({})), "applied HoldAdded", json!({}), &["audit: mesh.hold would apply"])]
#[case::merged(
    World::default(),
    pod(json!({"annotations": {"proxy.istio.io/config": "concurrency: 2\n"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true\nconcurrency: 2\n"}),
    &[]
)]
#[case::requested(World::default(), pod(json!({"annotations": {"proxy.istio.io/config": HELD}})), "skipped HoldAlreadyRequested", json!({}), &[])]
#[case::declined(
    World::default(),
    pod(json!({"annotations": {"proxy.istio.io/config": "holdApplicationUntilProxyStarts: false"}})),
    "skipped HoldDeclined",
    json!({}),
    &["holdApplicationUntilProxyStarts is false"]
)]
#[case::refused(World::default(), pod(json!({"annotations": {"proxy.istio.io/config": "[1]"}})), "refused ProxyConfigRefused", json!({}), &["left as it is"])]
#[case::not_injected(World::labels(json!({})), pod(json!({})), "skipped InjectionNotRequested", json!({}), &[])]
#[case::ambient(World::labels(json!({"istio.io/dataplane-mode": "ambient"})), pod(json!({})), "skipped Ambient", json!({}), &[])]
#[case::host_network(World::default(), json!({"spec": {"hostNetwork": true, "containers": []}}), "skipped HostNetwork", json!({}), &[])]
#[case::opted_out(World::default(), pod(json!({"labels": {"sidecar.istio.io/inject": "false"}})), "skipped InjectionOptedOut", json!({}), &[])]
#[case::grpc(
    World::default(),
    pod(json!({"annotations": {"inject.istio.io/templates": "grpc-agent"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::grpc_is_never_native(
    World::default(),
    pod(json!({"annotations": {"inject.istio.io/templates": "grpc-agent", "sidecar.istio.io/nativeSidecar": "true"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::grpc_rendered(
    World::default(),
    injected(json!({"annotations": {"inject.istio.io/templates": "grpc-agent", "proxy.istio.io/config": HELD}}), grpc_proxy()),
    "skipped HoldRendered",
    json!({}),
    &[]
)]
#[case::native(World::default(), pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": "true"}})), "skipped NativeSidecar", json!({}), &[])]
#[case::classic_by_annotation(
    World::default(),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": "false"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::native_unset(
    World::default(),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": ""}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_proxy_container(
    World::default(),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_native_proxy_container(
    World::default(),
    json!({"spec": {"initContainers": [{"name": "istio-proxy", "image": "auto", "restartPolicy": "Always"}], "containers": [{"name": "train"}]}}),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_proxy_container_beside_a_status_that_does_not_list_it(
    World::default(),
    customized(json!({"annotations": {"sidecar.istio.io/status": "{\"containers\":[\"other\"]}"}}), waiting_proxy()),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_hook(
    World::default(),
    injected(
        json!({"annotations": {"proxy.istio.io/config": HELD}}),
        json!({"name": "istio-proxy", "lifecycle": {"postStart": {"exec": {"command": ["sleep", "1"]}}}})
    ),
    "refused HoldNotRendered",
    json!({}),
    &["another postStart hook"]
)]
#[case::gateway(World::default(), gateway(json!({})), "skipped GatewayPod", json!({}), &[])]
#[case::gateway_rendered(World::default(), marked(gateway(json!({}))), "skipped GatewayPod", json!({}), &[])]
#[case::gateway_against_our_estimate(World::labels(json!({})), marked(gateway(json!({}))), "skipped GatewayPod", json!({}), &[])]
#[case::gateway_template(
    World::default(),
    customized(json!({"annotations": {"inject.istio.io/templates": "gateway"}}), json!({"name": "istio-proxy", "image": "auto"})),
    "skipped GatewayPod",
    json!({}),
    &[]
)]
#[case::mirror(World::default(), pod(json!({"annotations": {"kubernetes.io/config.mirror": "x"}})), "skipped MirrorPod", json!({}), &[])]
#[case::rule_off(World::config(|config| config.mesh.hold = false), pod(json!({})), "skipped HoldOff", json!({}), &[])]
#[case::mesh_off(World::config(|config| config.mesh.enabled = false), pod(json!({})), "skipped MeshOff", json!({}), &[])]
#[case::rendered(
    World::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), waiting_proxy()),
    "skipped HoldRendered",
    json!({}),
    &[]
)]
#[case::carried_by_a_template(
    World::default(),
    injected(json!({}), rendered_from("{}")),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::carried_by_a_template_with_a_hook(
    World::default(),
    injected(json!({}), waiting_proxy()),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::carried_by_a_template_that_asks_itself(
    World::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), rendered_from("{}")),
    "skipped HoldAlreadyRequested",
    json!({}),
    &[]
)]
#[case::carried_by_a_template_that_declines(
    World::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": "holdApplicationUntilProxyStarts: false"}}), rendered_from("{}")),
    "skipped HoldDeclined",
    json!({}),
    &["holdApplicationUntilProxyStarts is false"]
)]
#[case::status_without_a_proxy(
    World::default(),
    marked(pod(json!({}))),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::injected_by_hand(
    World::labels(json!({})),
    injected(json!({}), rendered_from("{}")),
    "refused HoldNotRendered",
    json!({}),
    &["came injected"]
)]
#[case::injected_by_hand_with_the_hold(
    World::labels(json!({})),
    injected(json!({}), waiting_proxy()),
    "skipped HoldRendered",
    json!({}),
    &[]
)]
#[case::ignored(
    World::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), rendered_from("{\"holdApplicationUntilProxyStarts\":true}")),
    "refused HoldNotRendered",
    json!({}),
    &["global.proxy.lifecycle"]
)]
#[case::too_late(
    World::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD, "trainmesh.dev/applied": "mesh.hold"}}), rendered_from("{}")),
    "refused HoldNotRendered",
    json!({}),
    &["after Istio's injector"]
)]
#[case::not_first(
    World::default(),
    marked(json!({"metadata": {"annotations": {"proxy.istio.io/config": HELD}}, "spec": {"containers": [{"name": "train"}, waiting_proxy()]}})),
    "refused HoldNotRendered",
    json!({}),
    &["global.proxy.lifecycle"]
)]
#[case::native_rendered(
    World::default(),
    marked(json!({
        "metadata": {"annotations": {"proxy.istio.io/config": HELD}},
        "spec": {"initContainers": [{"name": "istio-proxy", "restartPolicy": "Always"}], "containers": [{"name": "train"}]}
    })),
    "skipped NativeSidecar",
    json!({}),
    &[]
)]
fn hold(
    #[case] world: World,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] written: Value,
    #[case] warnings: &[&str],
) {
    check(&world, &pod, RuleId::MeshHold, expected, written, warnings);
}

#[rstest]
#[case::left(World::default(), pod(json!({})), "skipped NativeLeft", json!({"proxy.istio.io/config": HELD}))]
#[case::preferred(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({})),
    "applied NativePreferred",
    json!({"sidecar.istio.io/nativeSidecar": "true", "proxy.istio.io/config": HELD})
)]
#[case::set_by_user(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": "false"}})),
    "skipped NativeSetByUser",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::istio_aux(
    World { mode: Mode::IstioAux, ..World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer) },
    pod(json!({})),
    "skipped IstioAuxNamespace",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::injected(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), waiting_proxy()),
    "skipped AlreadyInjected",
    json!({})
)]
#[case::own_proxy_container(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "applied NativePreferred",
    json!({"sidecar.istio.io/nativeSidecar": "true", "proxy.istio.io/config": HELD})
)]
// Istio would move its only container to the init containers, and the apiserver reject it.
#[case::gateway(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    gateway(json!({})),
    "skipped GatewayPod",
    json!({})
)]
#[case::grpc(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({"annotations": {"inject.istio.io/templates": "grpc-agent"}})),
    "skipped GrpcAgent",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::empty_is_the_users(
    World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": ""}})),
    "skipped NativeSetByUser",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::no_injection(
    World { labels: json!({}), ..World::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer) },
    pod(json!({})),
    "skipped InjectionNotRequested",
    json!({})
)]
fn native(#[case] world: World, #[case] pod: Value, #[case] expected: &str, #[case] written: Value) {
    check(&world, &pod, RuleId::MeshNative, expected, written, &[]);
}

const INBOUND: &str = "traffic.sidecar.istio.io/includeInboundPorts";
const OUTBOUND: &str = "traffic.sidecar.istio.io/includeOutboundIPRanges";

fn traffic_of(traffic: Traffic) -> World {
    World::config(|config| {
        config.mesh.traffic = traffic;
        config.mesh.hold = false;
    })
}

#[rstest]
#[case::left(traffic_of(Traffic::Leave), pod(json!({})), "skipped TrafficLeft", json!({}), &[])]
#[case::capture(traffic_of(Traffic::DisableCapture), pod(json!({})), "applied CaptureDisabled", json!({INBOUND: "", OUTBOUND: ""}), &[])]
#[case::capture_is_off(traffic_of(Traffic::DisableCapture), pod(json!({"annotations": {INBOUND: "", OUTBOUND: ""}})), "skipped CaptureAlreadyDisabled", json!({}), &[])]
#[case::one_direction_is_the_users(
    traffic_of(Traffic::DisableCapture),
    pod(json!({"annotations": {"traffic.sidecar.istio.io/excludeInboundPorts": "22"}})),
    "applied CaptureDisabled",
    json!({OUTBOUND: ""}),
    &[]
)]
#[case::both_are_the_users(
    traffic_of(Traffic::DisableCapture),
    pod(json!({"annotations": {INBOUND: "8080", "traffic.sidecar.istio.io/excludeOutboundPorts": "1"}})),
    "skipped TrafficSetByUser",
    json!({}),
    &[]
)]
#[case::capture_without_injection(
    World { labels: json!({}), ..traffic_of(Traffic::DisableCapture) },
    pod(json!({})),
    "skipped InjectionNotRequested",
    json!({}),
    &[]
)]
#[case::injection(traffic_of(Traffic::DisableInjection), pod(json!({})), "applied InjectionTurnedOff", json!({"sidecar.istio.io/inject": "false"}), &[])]
#[case::injection_is_the_users(
    traffic_of(Traffic::DisableInjection),
    pod(json!({"labels": {"sidecar.istio.io/inject": "true"}})),
    "skipped InjectionSetByUser",
    json!({}),
    &[]
)]
#[case::injection_is_the_users_annotation(
    traffic_of(Traffic::DisableInjection),
    pod(json!({"annotations": {"sidecar.istio.io/inject": "true"}})),
    "skipped InjectionSetByUser",
    json!({}),
    &[]
)]
#[case::namespace_label(
    World { labels: json!({"istio-injection": "enabled", "trainmesh.dev/mesh-traffic": "disableCapture"}), ..traffic_of(Traffic::Leave) },
    pod(json!({})),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: ""}),
    &[]
)]
#[case::pod_label_wins(
    World { labels: json!({"istio-injection": "enabled", "trainmesh.dev/mesh-traffic": "disableCapture"}), ..traffic_of(Traffic::Leave) },
    pod(json!({"labels": {"trainmesh.dev/mesh-traffic": "leave"}})),
    "skipped TrafficLeft",
    json!({}),
    &[]
)]
#[case::unknown(
    traffic_of(Traffic::DisableCapture),
    pod(json!({"labels": {"trainmesh.dev/mesh-traffic": "off"}})),
    "refused UnknownTrafficMode",
    json!({}),
    &["expected leave, disableCapture or disableInjection"]
)]
#[case::injected(traffic_of(Traffic::DisableInjection), injected(json!({}), waiting_proxy()), "skipped AlreadyInjected", json!({}), &[])]
// Without injection nobody would replace the image "auto".
#[case::own_proxy_container(
    traffic_of(Traffic::DisableInjection),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "skipped ProxyCustomized",
    json!({}),
    &[]
)]
#[case::capture_of_a_customized_proxy(
    traffic_of(Traffic::DisableCapture),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: ""}),
    &[]
)]
#[case::capture_of_a_template_that_was_injected(
    traffic_of(Traffic::DisableCapture),
    injected(json!({}), waiting_proxy()),
    "applied CaptureDisabled",
    json!({INBOUND: "", OUTBOUND: ""}),
    &[]
)]
#[case::capture_injected_by_hand(
    World { labels: json!({}), ..traffic_of(Traffic::DisableCapture) },
    injected(json!({}), waiting_proxy()),
    "skipped AlreadyInjected",
    json!({}),
    &[]
)]
#[case::capture_of_a_gateway(traffic_of(Traffic::DisableCapture), gateway(json!({})), "skipped GatewayPod", json!({}), &[])]
#[case::istio_aux(
    World { mode: Mode::IstioAux, ..traffic_of(Traffic::DisableInjection) },
    pod(json!({})),
    "skipped IstioAuxNamespace",
    json!({}),
    &[]
)]
fn traffic(
    #[case] world: World,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] written: Value,
    #[case] warnings: &[&str],
) {
    check(&world, &pod, RuleId::MeshTraffic, expected, written, warnings);
}

#[rstest]
#[case::raised(Some(300), json!(["pilot-agent", "wait"]), "applied WaitRaised", json!(["pilot-agent", "wait", "--timeoutSeconds", "300"]))]
#[case::not_asked_for(None, json!(["pilot-agent", "wait"]), "skipped HoldRendered", json!(["pilot-agent", "wait"]))]
#[case::never_shortened(Some(30), json!(["pilot-agent", "wait"]), "skipped HoldRendered", json!(["pilot-agent", "wait"]))]
#[case::grpc(
    Some(300),
    json!(["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"]),
    "applied WaitRaised",
    json!(["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready", "--timeoutSeconds", "300"])
)]
#[case::another_command(
    Some(300),
    json!(["pilot-agent", "wait", "--url", "u"]),
    "skipped HoldRendered",
    json!(["pilot-agent", "wait", "--url", "u"])
)]
fn wait_timeout(#[case] seconds: Option<u64>, #[case] command: Value, #[case] expected: &str, #[case] after: Value) {
    let world = World::config(|config| config.mesh.wait_timeout = seconds.map(Duration::from_secs).map(Period));
    let proxy = json!({"name": "istio-proxy", "lifecycle": {"postStart": {"exec": {"command": command}}}});
    let pod =
        injected(json!({"annotations": {"proxy.istio.io/config": HELD, "trainmesh.dev/applied": "mesh.hold"}}), proxy);
    check(&world, &pod, RuleId::MeshHold, expected, json!({}), &[]);
    let mut patched = pod.clone();
    world.run(&pod).patch.apply(&mut patched).unwrap();
    assert_eq!(patched["spec"]["containers"][0]["lifecycle"]["postStart"]["exec"]["command"], after);
}

#[test]
fn no_hold_is_asked_for_where_injection_is_switched_off() {
    let world = World::config(|config| config.mesh.traffic = Traffic::DisableInjection);
    let written = json!({"sidecar.istio.io/inject": "false"});
    check(&world, &pod(json!({})), RuleId::MeshHold, "skipped InjectionSwitchedOff", written, &[]);
}

#[test]
fn what_was_applied_is_written_down_and_a_copied_claim_is_not_believed() {
    let copied = pod(json!({"annotations": {"trainmesh.dev/applied": "fabric=ib-shared"}}));
    let mut patched = copied.clone();
    World::default().run(&copied).patch.apply(&mut patched).unwrap();
    assert_eq!(patched["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold");
}

#[test]
fn the_audit_log_gets_mode_configuration_and_every_rule() {
    let audit = World::mode(Mode::Audit).run(&pod(json!({}))).audit;
    assert_eq!(audit["mode"], "audit");
    assert_eq!(audit["config"], Configuration::embedded().hash());
    let decisions: Vec<_> = audit["rules"].split(',').map(|decision| decision.split_once('=').unwrap()).collect();
    assert_eq!(decisions.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), RuleId::ALL.map(RuleId::name));
    assert!(decisions.contains(&("mesh.hold", "applied:HoldAdded")), "{decisions:?}");
    assert!(decisions.contains(&("fabric", "skipped:FabricNotNamed")), "{decisions:?}");
    let again = World::default().run(&pod(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}))).audit;
    assert!(again.contains_key("rules-again") && !again.contains_key("rules"), "{again:?}");
}

#[test]
fn an_object_that_is_no_pod_is_left_to_the_apiserver() {
    let broken = json!({"metadata": {"labels": ["a"]}, "spec": {"containers": "x"}});
    let outcome = World::default().run(&broken);
    assert!(outcome.patch.is_empty() && outcome.failure.is_some());
    assert!(outcome.warnings[0].contains("does not decode as a Pod"), "{:?}", outcome.warnings);
}
