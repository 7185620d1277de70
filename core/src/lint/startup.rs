//! Pods that do not start, or start late, because of the mesh: FP056, FP057, FP059.

use serde_json::Value;

use super::LintInput;
use super::display_name::display_name;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::keys;
use crate::names::join_names;
use crate::pod::{Container, ContainerKind, Injection, NotInjected, ProxyKind};
use crate::rule::{Reason, RuleId};

/// Init containers with which operators wait for another pod over the network.
const NETWORK_INIT_CONTAINERS: [&str; 4] = ["grove-initc", "kubectl-delivery", "wait-gcs-ready", "wait-for-master"];
/// Init container that only resolves the name of the master, with `nslookup` (kubeflow/training-operator, pkg/config/config.go).
/// The proxy captures DNS only if [`DNS_CAPTURE`] is set.
const DNS_INIT_CONTAINER: &str = "init-pytorch";
/// Variable of the proxy that captures DNS (istio/istio.io, content/en/docs/ops/configuration/traffic-management/dns-proxy).
const DNS_CAPTURE: &str = "ISTIO_META_DNS_CAPTURE";

/// FP056: a `postStart` hook in the ambient mesh. The kubelet publishes the pod's address after the hook, and ztunnel
/// blocks the pod's traffic until then.
pub(super) fn ambient_hook(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, injection, .. } = *input;
    let is_redirected = pod.annotation(keys::AMBIENT_REDIRECTION) == Some("enabled");
    if injection != Injection::NotExpected(NotInjected::Ambient) && !is_redirected {
        return;
    }
    let is_running =
        |container: &Container<'_>| matches!(container.kind, ContainerKind::App | ContainerKind::NativeSidecar);
    for container in pod.containers().filter(is_running) {
        // A hook that only sleeps ends by itself.
        let hook = container.raw().pointer("/lifecycle/postStart").and_then(Value::as_object);
        if hook.is_some_and(|hook| hook.keys().any(|handler| handler != "sleep")) {
            let message = format!("{}: the pod has no network until its postStart hook ends", display_name(container));
            findings.push(format!("{}/lifecycle/postStart", container.pointer()), message);
        }
    }
}

/// FP057: limits of the whole pod, which the injector does not raise for the proxy, about what the proxy requests.
pub(super) fn pod_limits(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, injection, .. } = *input;
    let limits = pod.spec().and_then(|spec| spec.get("resources")?.get("limits")?.as_object());
    let Some(limits) = limits.filter(|_| injection == Injection::Expected) else { return };
    let of_proxy = limits.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"));
    let texts: Vec<String> = of_proxy
        .map(|(name, limit)| match limit.as_str() {
            Some(text) => format!("{name} {text}"),
            None => format!("{name} {limit}"),
        })
        .collect();
    if texts.is_empty() {
        return;
    }
    let names = join_names(texts);
    findings.push("/spec/resources/limits", format!("istio-proxy must fit into the limits of the pod: {names}"));
}

/// FP059: an init container needs the network, which is not available before a classic sidecar starts.
pub(super) fn early_network_use(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let LintInput { pod, .. } = *input;
    if !has_classic_proxy(input) {
        return;
    }
    let captures_dns = pod.annotation(keys::PROXY_CONFIG).is_some_and(|config| config.contains(DNS_CAPTURE));
    let waits = |container: &Container<'_>| {
        container.kind == ContainerKind::Init
            && (NETWORK_INIT_CONTAINERS.contains(&container.name())
                || captures_dns && container.name() == DNS_INIT_CONTAINER)
    };
    // Before injection, Istio may still choose a native sidecar, which starts before the init containers.
    let is_certain = pod.proxy().is_some() || pod.annotation(keys::NATIVE_SIDECAR) == Some("false");
    let severity = if is_certain { Severity::Warning } else { Severity::Info };
    for container in pod.containers().filter(waits) {
        let message = format!("{} needs the network before a classic istio-proxy starts", display_name(container));
        findings.push_as(severity, container.pointer(), message);
    }
}

/// Returns true if Istio's proxy is, or may become, an application container, which starts after all init containers.
fn has_classic_proxy(input: &LintInput<'_>) -> bool {
    if let Some(proxy) = input.pod.proxy() {
        return proxy.kind == ProxyKind::Classic;
    }
    let is_held = input.rules.iter().any(|rule| {
        rule.rule == RuleId::MeshHold
            && matches!(rule.reason, Reason::HoldAdded | Reason::HoldAlreadyRequested | Reason::HoldDeclined)
    });
    is_held && !input.pod.requests_native_sidecar()
}
