//! mesh.hold: the application starts when istio-proxy is ready, so that its first connections are not refused.

//!
//! Istio injects again what arrives injected (a template copied from a living pod), and reads the annotation then. Only in
//! the reinvocation that follows an injection does nobody read it any more. Nothing in the object tells one from the other
//! for certain, and nothing has to: where Istio comes after this webhook, the annotation requests the hold before the
//! reinvocation, which therefore finds nothing to add and reports what was rendered.

use std::time::Duration;

use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};

use super::super::{Facts, Ruling, annotation_pointer};
use crate::keys;
use crate::mutate::plan::spec;
use crate::mutate::proxy_config::{self, Hold};
use crate::mutate::{Plan, Reason, RuleId};
use crate::pod::{Injection, Proxy, ProxyKind};

/// How long `pilot-agent wait` waits unless its command says otherwise.
const ISTIO_WAIT: Duration = Duration::from_mins(1);

pub(in crate::mutate::rules) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    let mesh = &facts.snapshot.config.mesh;
    if !mesh.enabled {
        return Ruling::skipped(Reason::MeshOff);
    }
    if !mesh.hold {
        return Ruling::skipped(Reason::HoldOff);
    }
    match (facts.injection, facts.proxy) {
        (Injection::NotExpected(why), None) => Ruling::skipped(why.into()),
        _ if facts.pod.is_gateway() => Ruling::skipped(Reason::GatewayPod),
        (Injection::NotExpected(_), Some(proxy)) => rendered(facts, proxy, plan),
        (Injection::Expected, _) if plan.label(keys::SIDECAR_INJECT) == Some("false") => {
            Ruling::skipped(Reason::InjectionSwitchedOff)
        }
        (Injection::Expected, proxy) => request(facts, proxy, plan),
    }
}

/// Where Istio is to inject, or has just injected: what the annotation says decides.
fn request(facts: &Facts<'_>, proxy: Option<Proxy<'_>>, plan: &mut Plan) -> Ruling {
    let pointer = annotation_pointer(keys::PROXY_CONFIG);
    match proxy_config::hold(facts.pod.annotation(keys::PROXY_CONFIG)) {
        Hold::True => match proxy {
            Some(proxy) if !precedes_request(facts, proxy) => rendered(facts, proxy, plan),
            _ => Ruling::skipped(Reason::HoldAlreadyRequested).at(pointer),
        },
        Hold::False => Ruling::skipped(Reason::HoldDeclined).at(pointer).warn(
            "mesh.hold: holdApplicationUntilProxyStarts is false: the application may start before its network is up",
        ),
        Hold::Refused(refusal) => Ruling::refused(
            Reason::ProxyConfigRefused,
            refusal.to_string(),
            format!("mesh.hold: proxy.istio.io/config left as it is: {refusal}"),
        )
        .at(pointer),
        Hold::Missing { .. } if facts.pod.requests_native_sidecar() => {
            Ruling::skipped(Reason::NativeSidecar).at(annotation_pointer(keys::NATIVE_SIDECAR))
        }
        Hold::Missing { merged } => {
            Ruling::applied(Reason::HoldAdded, plan.set_annotation(keys::PROXY_CONFIG, merged).as_str())
        }
    }
}

/// Whether the user requested the hold after the proxy was rendered: Istio has yet to read the request. A request that
/// this webhook wrote, as its mark says, precedes every injection but in a cluster where the injector is called first.
fn precedes_request(facts: &Facts<'_>, proxy: Proxy<'_>) -> bool {
    proxy.kind != ProxyKind::Native
        && !proxy.holds_application()
        && proxy.rendered_hold() == Some(false)
        && !marked(facts)
}

/// Whether the mark on the pod says that this rule has written the request.
fn marked(facts: &Facts<'_>) -> bool {
    let mark = facts.pod.annotation(keys::APPLIED).unwrap_or_default();
    mark.split(',').any(|word| word == RuleId::MeshHold.name())
}

/// What the injector made of the request.
fn rendered(facts: &Facts<'_>, proxy: Proxy<'_>, plan: &mut Plan) -> Ruling {
    if proxy.kind == ProxyKind::Native {
        return Ruling::skipped(Reason::NativeSidecar).at(proxy.container.pointer());
    }
    if !proxy.holds_application() {
        let cause = cause(facts, proxy);
        let warning = format!("mesh.hold: injected without the hold: {cause}");
        return Ruling::refused(Reason::HoldNotRendered, cause, warning).at(proxy.container.pointer());
    }
    match longer_wait(facts, proxy) {
        Some(command) => Ruling::applied(Reason::WaitRaised, plan.set(hook(proxy.container.index), command).as_str()),
        None => Ruling::skipped(Reason::HoldRendered).at(proxy.container.pointer()),
    }
}

/// Where the command of a postStart hook stands, in the application container at `index`.
fn hook(index: usize) -> PointerBuf {
    let index = index.to_string();
    spec(["containers", &index, "lifecycle", "postStart", "exec", "command"])
}

/// The hook's command with the configured time-out, where that is longer than what was rendered. Only the exact commands
/// of Istio's templates are known to have no time-out of their own, and a shorter one would make the pod worse.
fn longer_wait(facts: &Facts<'_>, proxy: Proxy<'_>) -> Option<Value> {
    let timeout = facts.snapshot.config.mesh.wait_timeout?.0;
    let command = proxy.post_start()?.pointer("/exec/command")?;
    let known = *command == json!(["pilot-agent", "wait"])
        || *command == json!(["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"]);
    if timeout <= ISTIO_WAIT || !known {
        return None;
    }
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    let mut words = command.as_array()?.clone();
    words.extend([json!("--timeoutSeconds"), json!(seconds.to_string())]);
    Some(words.into())
}

fn cause(facts: &Facts<'_>, proxy: Proxy<'_>) -> &'static str {
    match proxy_config::hold(facts.pod.annotation(keys::PROXY_CONFIG)) {
        Hold::True if proxy.post_start().is_some() && !proxy.waits() => "istio-proxy has another postStart hook",
        Hold::True if proxy.rendered_hold() == Some(false) => "our webhook is called after Istio's injector",
        Hold::True => "Istio ignored it: is global.proxy.lifecycle set, or does our webhook sort late?",
        Hold::False => "proxy.istio.io/config says holdApplicationUntilProxyStarts: false",
        Hold::Missing { .. } | Hold::Refused(_) => "the pod came injected: set the hold in its template",
    }
}
