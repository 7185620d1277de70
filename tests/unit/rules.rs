//! Decision tables of the rules: pod, namespace and configuration in; outcome, reason, patch and warnings out.

mod checkpoint;
mod fabric;
mod gang;
mod istio;
mod managed;
mod marks;
mod mesh;
mod refused_fields;

use std::collections::BTreeMap;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::{ConfigDuration, Configuration, NativeSidecar, Traffic};
use trainmesh_core::mutate::{Outcome, Reason, RuleId, RuleOutcome, Snapshot, Verdict, mutate};
use trainmesh_core::scope::Mode;
use trainmesh_testing::snapshot::snapshot;

const HELD: &str = "holdApplicationUntilProxyStarts: true";

/// Inputs of a case. The default is an opted-in namespace with injection, on the default configuration.
struct Scenario {
    mode: Mode,
    labels: Value,
    config: Configuration,
}

impl Default for Scenario {
    fn default() -> Self {
        Self { mode: Mode::Enabled, labels: json!({"istio-injection": "enabled"}), config: Configuration::embedded() }
    }
}

impl Scenario {
    fn labels(labels: Value) -> Self {
        Self { labels, ..Self::default() }
    }

    fn mode(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    fn config(change: impl FnOnce(&mut Configuration)) -> Self {
        let mut scenario = Self::default();
        change(&mut scenario.config);
        scenario
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

/// Returns a pod that brings its own `proxy` container.
fn customized(metadata: Value, proxy: Value) -> Value {
    json!({"metadata": metadata, "spec": {"containers": [proxy, {"name": "train", "image": "i"}]}})
}

/// Returns a pod with the `proxy` and the annotation that Istio's injector adds.
fn injected(metadata: Value, proxy: Value) -> Value {
    with_status_annotation(customized(metadata, proxy))
}

/// Adds the annotation that only Istio's injector writes.
fn with_status_annotation(mut pod: Value) -> Value {
    pod["metadata"]["annotations"]["sidecar.istio.io/status"] =
        json!(r#"{"initContainers":["istio-proxy"],"containers":["istio-proxy"],"volumes":null,"revision":"default"}"#);
    pod
}

fn waiting_proxy() -> Value {
    json!({"name": "istio-proxy", "lifecycle": {"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}}})
}

/// Returns a proxy without a hook, rendered from this `ProxyConfig`.
fn rendered_from(proxy_config: &str) -> Value {
    json!({"name": "istio-proxy", "env": [{"name": "PROXY_CONFIG", "value": proxy_config}]})
}

/// Returns a pod whose only container is a proxy.
fn gateway(metadata: Value) -> Value {
    json!({"metadata": metadata, "spec": {"containers": [{"name": "istio-proxy", "image": "auto"}]}})
}

/// Returns the proxy that the grpc-agent template renders.
fn grpc_proxy() -> Value {
    let command = ["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"];
    json!({"name": "istio-proxy", "env": [{"name": "DISABLE_ENVOY", "value": "true"}],
        "lifecycle": {"postStart": {"exec": {"command": command}}}})
}

/// Runs a case, compares the written annotations and labels with `written`, and runs the patched pod again, which must
/// give no further patch.
fn check(scenario: &Scenario, pod: &Value, rule: RuleId, expected: &str, written: Value, warnings: &[&str]) {
    let outcome = scenario.run(pod);
    let found = outcome.rules.iter().find(|outcome| outcome.rule == rule).unwrap();
    assert_eq!(format!("{} {}", found.outcome.name(), found.reason.code()), expected, "{outcome:#?}");
    assert_eq!(outcome.warnings.len(), warnings.len(), "{:?}", outcome.warnings);
    for (warning, part) in outcome.warnings.iter().zip(warnings) {
        assert!(warning.contains(part), "{warning}");
        assert!(warning.len() <= 120, "longer than 120 characters: {warning}");
    }
    let mut patched = pod.clone();
    outcome.patch.apply(&mut patched).unwrap();
    assert_eq!(without_refusal_marks(&outcome, differences(pod, &patched)), written);
    let again = scenario.run(&patched);
    assert!(again.patch.is_empty(), "not idempotent: {:#?}", again.patch);
}

/// Removes the marks of a refusal from `written`, and checks them.
fn without_refusal_marks(outcome: &Outcome, mut written: Value) -> Value {
    let is_recorded = |rule: &&RuleOutcome| rule.outcome == Verdict::Refused && rule.reason != Reason::HoldNotRendered;
    let refused = outcome.rules.iter().filter(is_recorded);
    let refused: Vec<String> = refused.map(|rule| format!("{}={}", rule.rule.name(), rule.reason.code())).collect();
    let marks = written.as_object_mut().unwrap();
    if let Some(found) = marks.remove("trainmesh.dev/refused") {
        assert_eq!(found, refused.join(","));
        // A pod that is already labeled keeps its label.
        let label = marks.remove("trainmesh.dev/managed");
        assert!(label.as_ref().is_none_or(|label| label == "true"), "{label:?}");
    }
    written
}

/// Returns the annotations and labels that the patch wrote, except trainmesh's own record of applied rules.
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
#[case::injected_namespace(Scenario::default(), pod(json!({})), "applied HoldAdded", json!({"proxy.istio.io/config": HELD}), &[])]
#[case::revision(Scenario::labels(json!({"istio.io/rev": "canary"})), pod(json!({})), "applied HoldAdded", json!({"proxy.istio.io/config": HELD}), &[])]
#[case::istio_aux(Scenario::mode(Mode::IstioAux), pod(json!({})), "applied HoldAdded", json!({"proxy.istio.io/config": HELD}), &[])]
#[case::audit_mode(Scenario::mode(Mode::Audit), pod(json!({})), "applied HoldAdded", json!({}), &["audit: mesh.hold would apply"])]
#[case::merged(
    Scenario::default(),
    pod(json!({"annotations": {"proxy.istio.io/config": "concurrency: 2\n"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true\nconcurrency: 2\n"}),
    &[]
)]
#[case::requested(Scenario::default(), pod(json!({"annotations": {"proxy.istio.io/config": HELD}})), "skipped HoldAlreadyRequested", json!({}), &[])]
#[case::declined(
    Scenario::default(),
    pod(json!({"annotations": {"proxy.istio.io/config": "holdApplicationUntilProxyStarts: false"}})),
    "skipped HoldDeclined",
    json!({}),
    &["holdApplicationUntilProxyStarts is false"]
)]
#[case::refused(Scenario::default(), pod(json!({"annotations": {"proxy.istio.io/config": "[1]"}})), "refused ProxyConfigRefused", json!({}), &["is not a mapping"])]
#[case::not_injected(Scenario::labels(json!({})), pod(json!({})), "skipped InjectionNotRequested", json!({}), &[])]
#[case::ambient(Scenario::labels(json!({"istio.io/dataplane-mode": "ambient"})), pod(json!({})), "skipped Ambient", json!({}), &[])]
#[case::host_network(Scenario::default(), json!({"spec": {"hostNetwork": true, "containers": []}}), "skipped HostNetwork", json!({}), &[])]
#[case::opted_out(Scenario::default(), pod(json!({"labels": {"sidecar.istio.io/inject": "false"}})), "skipped InjectionOptedOut", json!({}), &[])]
#[case::grpc(
    Scenario::default(),
    pod(json!({"annotations": {"inject.istio.io/templates": "grpc-agent"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::grpc_is_never_native(
    Scenario::default(),
    pod(json!({"annotations": {"inject.istio.io/templates": "grpc-agent", "sidecar.istio.io/nativeSidecar": "true"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::grpc_rendered(
    Scenario::default(),
    injected(json!({"annotations": {"inject.istio.io/templates": "grpc-agent", "proxy.istio.io/config": HELD}}), grpc_proxy()),
    "skipped HoldRendered",
    json!({}),
    &[]
)]
#[case::native(Scenario::default(), pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": "true"}})), "skipped NativeSidecar", json!({}), &[])]
#[case::classic_by_annotation(
    Scenario::default(),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": "false"}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::native_unset(
    Scenario::default(),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": ""}})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_proxy_container(
    Scenario::default(),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_native_proxy_container(
    Scenario::default(),
    json!({"spec": {"initContainers": [{"name": "istio-proxy", "image": "auto", "restartPolicy": "Always"}], "containers": [{"name": "train"}]}}),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_proxy_container_not_listed_in_the_status(
    Scenario::default(),
    customized(json!({"annotations": {"sidecar.istio.io/status": "{\"containers\":[\"other\"]}"}}), waiting_proxy()),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::own_hook(
    Scenario::default(),
    injected(
        json!({"annotations": {"proxy.istio.io/config": HELD}}),
        json!({"name": "istio-proxy", "lifecycle": {"postStart": {"exec": {"command": ["sleep", "1"]}}}})
    ),
    "refused HoldNotRendered",
    json!({}),
    &["another postStart hook"]
)]
#[case::gateway(Scenario::default(), gateway(json!({})), "skipped GatewayPod", json!({}), &[])]
#[case::gateway_rendered(Scenario::default(), with_status_annotation(gateway(json!({}))), "skipped GatewayPod", json!({}), &[])]
#[case::gateway_outside_injected_namespaces(Scenario::labels(json!({})), with_status_annotation(gateway(json!({}))), "skipped GatewayPod", json!({}), &[])]
#[case::gateway_template(
    Scenario::default(),
    customized(json!({"annotations": {"inject.istio.io/templates": "gateway"}}), json!({"name": "istio-proxy", "image": "auto"})),
    "skipped GatewayPod",
    json!({}),
    &[]
)]
#[case::mirror(Scenario::default(), pod(json!({"annotations": {"kubernetes.io/config.mirror": "x"}})), "skipped MirrorPod", json!({}), &[])]
#[case::rule_off(Scenario::config(|config| config.mesh.hold = false), pod(json!({})), "skipped HoldOff", json!({}), &[])]
#[case::mesh_off(Scenario::config(|config| config.mesh.enabled = false), pod(json!({})), "skipped MeshOff", json!({}), &[])]
#[case::rendered(
    Scenario::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), waiting_proxy()),
    "skipped HoldRendered",
    json!({}),
    &[]
)]
#[case::injected_template(
    Scenario::default(),
    injected(json!({}), rendered_from("{}")),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::injected_template_with_a_hook(
    Scenario::default(),
    injected(json!({}), waiting_proxy()),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::injected_template_that_sets_the_hold(
    Scenario::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), rendered_from("{}")),
    "skipped HoldAlreadyRequested",
    json!({}),
    &[]
)]
#[case::injected_template_that_declines(
    Scenario::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": "holdApplicationUntilProxyStarts: false"}}), rendered_from("{}")),
    "skipped HoldDeclined",
    json!({}),
    &["holdApplicationUntilProxyStarts is false"]
)]
#[case::status_without_a_proxy(
    Scenario::default(),
    with_status_annotation(pod(json!({}))),
    "applied HoldAdded",
    json!({"proxy.istio.io/config": HELD}),
    &[]
)]
#[case::manually_injected(
    Scenario::labels(json!({})),
    injected(json!({}), rendered_from("{}")),
    "refused HoldNotRendered",
    json!({}),
    &["the pod template already contains istio-proxy"]
)]
#[case::manually_injected_with_the_hold(
    Scenario::labels(json!({})),
    injected(json!({}), waiting_proxy()),
    "skipped HoldRendered",
    json!({}),
    &[]
)]
#[case::ignored(
    Scenario::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), rendered_from("{\"holdApplicationUntilProxyStarts\":true}")),
    "refused HoldNotRendered",
    json!({}),
    &["global.proxy.lifecycle"]
)]
#[case::too_late(
    Scenario::default(),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD, "trainmesh.dev/applied": "mesh.hold"}}), rendered_from("{}")),
    "refused HoldNotRendered",
    json!({}),
    &["after Istio's injector"]
)]
#[case::not_first(
    Scenario::default(),
    with_status_annotation(json!({"metadata": {"annotations": {"proxy.istio.io/config": HELD}}, "spec": {"containers": [{"name": "train"}, waiting_proxy()]}})),
    "refused HoldNotRendered",
    json!({}),
    &["global.proxy.lifecycle"]
)]
#[case::native_rendered(
    Scenario::default(),
    with_status_annotation(json!({
        "metadata": {"annotations": {"proxy.istio.io/config": HELD}},
        "spec": {"initContainers": [{"name": "istio-proxy", "restartPolicy": "Always"}], "containers": [{"name": "train"}]}
    })),
    "skipped NativeSidecar",
    json!({}),
    &[]
)]
fn hold(
    #[case] scenario: Scenario,
    #[case] pod: Value,
    #[case] expected: &str,
    #[case] written: Value,
    #[case] warnings: &[&str],
) {
    check(&scenario, &pod, RuleId::MeshHold, expected, written, warnings);
}

#[rstest]
#[case::unchanged_by_default(Scenario::default(), pod(json!({})), "skipped NativeLeft", json!({"proxy.istio.io/config": HELD}))]
#[case::preferred(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({})),
    "applied NativePreferred",
    json!({"sidecar.istio.io/nativeSidecar": "true", "proxy.istio.io/config": HELD})
)]
#[case::set_by_user(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": "false"}})),
    "skipped NativeSetByUser",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::istio_aux(
    Scenario { mode: Mode::IstioAux, ..Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer) },
    pod(json!({})),
    "skipped IstioAuxNamespace",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::injected(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    injected(json!({"annotations": {"proxy.istio.io/config": HELD}}), waiting_proxy()),
    "skipped AlreadyInjected",
    json!({})
)]
#[case::own_proxy_container(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    customized(json!({}), json!({"name": "istio-proxy", "image": "auto"})),
    "applied NativePreferred",
    json!({"sidecar.istio.io/nativeSidecar": "true", "proxy.istio.io/config": HELD})
)]
// Istio would move its only container to the init containers, and the apiserver reject it.
#[case::gateway(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    gateway(json!({})),
    "skipped GatewayPod",
    json!({})
)]
#[case::grpc(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({"annotations": {"inject.istio.io/templates": "grpc-agent"}})),
    "skipped GrpcAgent",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::empty_value_set_by_user(
    Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer),
    pod(json!({"annotations": {"sidecar.istio.io/nativeSidecar": ""}})),
    "skipped NativeSetByUser",
    json!({"proxy.istio.io/config": HELD})
)]
#[case::no_injection(
    Scenario { labels: json!({}), ..Scenario::config(|config| config.mesh.native_sidecar = NativeSidecar::Prefer) },
    pod(json!({})),
    "skipped InjectionNotRequested",
    json!({})
)]
fn native(#[case] scenario: Scenario, #[case] pod: Value, #[case] expected: &str, #[case] written: Value) {
    check(&scenario, &pod, RuleId::MeshNative, expected, written, &[]);
}

#[rstest]
#[case::raised(Some(300), json!(["pilot-agent", "wait"]), "applied WaitRaised", json!(["pilot-agent", "wait", "--timeoutSeconds", "300"]))]
#[case::not_configured(None, json!(["pilot-agent", "wait"]), "skipped HoldRendered", json!(["pilot-agent", "wait"]))]
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
    let scenario =
        Scenario::config(|config| config.mesh.wait_timeout = seconds.map(Duration::from_secs).map(ConfigDuration));
    let proxy = json!({"name": "istio-proxy", "lifecycle": {"postStart": {"exec": {"command": command}}}});
    let pod =
        injected(json!({"annotations": {"proxy.istio.io/config": HELD, "trainmesh.dev/applied": "mesh.hold"}}), proxy);
    check(&scenario, &pod, RuleId::MeshHold, expected, json!({}), &[]);
    let mut patched = pod.clone();
    scenario.run(&pod).patch.apply(&mut patched).unwrap();
    assert_eq!(patched["spec"]["containers"][0]["lifecycle"]["postStart"]["exec"]["command"], after);
}

#[test]
fn no_hold_is_requested_when_injection_is_disabled() {
    let scenario = Scenario::config(|config| config.mesh.traffic = Traffic::DisableInjection);
    let written = json!({"sidecar.istio.io/inject": "false"});
    check(&scenario, &pod(json!({})), RuleId::MeshHold, "skipped InjectionSwitchedOff", written, &[]);
}

#[test]
fn the_applied_annotation_is_recomputed_in_a_copied_pod() {
    let copied = pod(json!({"annotations": {"trainmesh.dev/applied": "fabric=ib-shared"}}));
    let mut patched = copied.clone();
    Scenario::default().run(&copied).patch.apply(&mut patched).unwrap();
    assert_eq!(patched["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold");
}

#[test]
fn audit_annotations_contain_mode_configuration_and_every_rule() {
    let audit = Scenario::mode(Mode::Audit).run(&pod(json!({}))).audit;
    assert_eq!(audit["mode"], "audit");
    assert_eq!(audit["config"], Configuration::embedded().hash());
    let decisions: Vec<_> = audit["rules"].split(',').map(|decision| decision.split_once('=').unwrap()).collect();
    // The rule `checkpoint` runs for pods with its annotations only.
    let expected: Vec<&str> =
        RuleId::ALL.into_iter().filter(|rule| *rule != RuleId::Checkpoint).map(RuleId::name).collect();
    assert_eq!(decisions.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), expected);
    assert!(decisions.contains(&("mesh.hold", "applied:HoldAdded")), "{decisions:?}");
    assert!(decisions.contains(&("fabric", "skipped:FabricNotNamed")), "{decisions:?}");
    let again = Scenario::default().run(&pod(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}))).audit;
    assert!(again.contains_key("rules-again") && !again.contains_key("rules"), "{again:?}");
}

#[test]
fn an_invalid_pod_is_not_changed() {
    let broken = json!({"metadata": {"labels": ["a"]}, "spec": {"containers": "x"}});
    let outcome = Scenario::default().run(&broken);
    assert!(outcome.patch.is_empty() && outcome.failure.is_some());
    assert!(outcome.warnings[0].contains("does not decode as a Pod"), "{:?}", outcome.warnings);
}
