//! Rule `mesh.hold`: delays the application until istio-proxy is ready, so that its first connections do not fail.
//!
//! A pod may already have a proxy for two reasons: its template was injected, or Istio has injected the pod in this
//! admission request. In the first case, Istio injects the pod again and then reads the annotation; in the second,
//! Istio has already read the annotation. The pod does not show which case applies. The rule works in both if Istio is
//! called after this webhook: the first call adds the annotation, and a reinvocation only reports what Istio rendered.

use std::time::Duration;

use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};

use super::super::{RuleContext, RuleDecision, annotation_pointer};
use crate::keys;
use crate::mutate::plan::spec_path;
use crate::mutate::proxy_config::{self, Hold};
use crate::mutate::{Plan, Reason, RuleId};
use crate::pod::{Injection, Proxy, ProxyKind};

/// Default timeout of `pilot-agent wait`.
const ISTIO_WAIT: Duration = Duration::from_mins(1);

pub(in crate::mutate::rules) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    let mesh = &context.snapshot.config.mesh;
    if !mesh.enabled {
        return RuleDecision::skipped(Reason::MeshOff);
    }
    if !mesh.hold {
        return RuleDecision::skipped(Reason::HoldOff);
    }
    match (context.injection, context.proxy) {
        (Injection::NotExpected(reason), None) => RuleDecision::skipped(reason.into()),
        _ if context.pod.is_gateway() => RuleDecision::skipped(Reason::GatewayPod),
        (Injection::NotExpected(_), Some(proxy)) => decide_by_proxy(context, proxy, plan),
        (Injection::Expected, _) if plan.label(keys::SIDECAR_INJECT) == Some("false") => {
            RuleDecision::skipped(Reason::InjectionSwitchedOff)
        }
        (Injection::Expected, proxy) => decide_by_annotation(context, proxy, plan),
    }
}

/// Decides by the annotation, for a pod that Istio will inject or has just injected.
fn decide_by_annotation(context: &RuleContext<'_>, proxy: Option<Proxy<'_>>, plan: &mut Plan) -> RuleDecision {
    let pointer = annotation_pointer(keys::PROXY_CONFIG);
    match proxy_config::hold(context.pod.annotation(keys::PROXY_CONFIG)) {
        Hold::True => match proxy {
            Some(proxy) if !is_rendered_before_request(context, proxy) => decide_by_proxy(context, proxy, plan),
            _ => RuleDecision::skipped(Reason::HoldAlreadyRequested).with_field(pointer),
        },
        Hold::False => RuleDecision::skipped(Reason::HoldDeclined).with_field(pointer).with_warning(
            "mesh.hold: holdApplicationUntilProxyStarts is false: the application may start before its network is ready",
        ),
        Hold::Refused(refusal) => {
            let warning = format!("mesh.hold not applied: proxy.istio.io/config {refusal}");
            let decision = RuleDecision::refused(Reason::ProxyConfigRefused, format!("it {refusal}"), warning);
            let is_rejected_by_istio = refusal.is_rejected_by_istio();
            RuleDecision { is_rejected_by_istio, ..decision.with_field(pointer) }
        }
        Hold::Missing { .. } if context.pod.requests_native_sidecar() => {
            RuleDecision::skipped(Reason::NativeSidecar).with_field(annotation_pointer(keys::NATIVE_SIDECAR))
        }
        Hold::Missing { merged } => {
            RuleDecision::applied(Reason::HoldAdded, plan.set_annotation(keys::PROXY_CONFIG, merged).as_str())
        }
    }
}

/// Returns true if the user requested the hold after the proxy was rendered, so that Istio has not read the request
/// yet. A request that this webhook wrote precedes every injection, unless the injector is called first.
fn is_rendered_before_request(context: &RuleContext<'_>, proxy: Proxy<'_>) -> bool {
    proxy.kind != ProxyKind::Native
        && !proxy.holds_application()
        && proxy.rendered_hold() == Some(false)
        && !wrote_request(context)
}

/// Returns true if, according to the annotation `trainmesh.dev/applied`, this rule wrote the request.
fn wrote_request(context: &RuleContext<'_>) -> bool {
    let applied = context.pod.annotation(keys::APPLIED).unwrap_or_default();
    applied.split(',').any(|marker| marker == RuleId::MeshHold.name())
}

/// Decides by the proxy that the injector rendered.
fn decide_by_proxy(context: &RuleContext<'_>, proxy: Proxy<'_>, plan: &mut Plan) -> RuleDecision {
    if proxy.kind == ProxyKind::Native {
        return RuleDecision::skipped(Reason::NativeSidecar).with_field(proxy.container.pointer());
    }
    if !proxy.holds_application() {
        let cause = likely_cause(context, proxy);
        let declined = matches!(proxy_config::hold(context.pod.annotation(keys::PROXY_CONFIG)), Hold::False);
        let field = if declined { annotation_pointer(keys::PROXY_CONFIG) } else { proxy.container.pointer() };
        let warning = format!("mesh.hold: injected without the hold: {cause}");
        return RuleDecision::refused(Reason::HoldNotRendered, cause, warning).with_field(field);
    }
    match longer_wait(context, proxy) {
        Some(command) => RuleDecision::applied(
            Reason::WaitRaised,
            plan.set(hook_command_path(proxy.container.index), command).as_str(),
        ),
        None => RuleDecision::skipped(Reason::HoldRendered).with_field(proxy.container.pointer()),
    }
}

/// Returns the path of the postStart command of the application container at `index`.
fn hook_command_path(index: usize) -> PointerBuf {
    let index = index.to_string();
    spec_path(["containers", &index, "lifecycle", "postStart", "exec", "command"])
}

/// Returns the hook's command with the configured timeout, if that is longer than the rendered one. Only the exact
/// commands of Istio's templates are known to use the default timeout.
fn longer_wait(context: &RuleContext<'_>, proxy: Proxy<'_>) -> Option<Value> {
    let timeout = context.snapshot.config.mesh.wait_timeout?.0;
    let command = proxy.post_start()?.pointer("/exec/command")?;
    let is_default = *command == json!(["pilot-agent", "wait"])
        || *command == json!(["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"]);
    if timeout <= ISTIO_WAIT || !is_default {
        return None;
    }
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    let mut arguments = command.as_array()?.clone();
    arguments.extend([json!("--timeoutSeconds"), json!(seconds.to_string())]);
    Some(arguments.into())
}

/// Returns the likely cause for a proxy that was rendered without the hold.
fn likely_cause(context: &RuleContext<'_>, proxy: Proxy<'_>) -> &'static str {
    match proxy_config::hold(context.pod.annotation(keys::PROXY_CONFIG)) {
        Hold::True if proxy.post_start().is_some() && !proxy.has_wait_hook() => {
            "istio-proxy has another postStart hook"
        }
        Hold::True if proxy.rendered_hold() == Some(false) => "the trainmesh webhook is called after Istio's injector",
        Hold::True => "Istio ignored the annotation: check global.proxy.lifecycle and webhook order",
        Hold::False => "proxy.istio.io/config sets holdApplicationUntilProxyStarts: false",
        Hold::Missing { .. } | Hold::Refused(_) => {
            "the pod template already contains istio-proxy: set the hold in the template"
        }
    }
}
