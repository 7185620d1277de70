//! mesh.hold: the application starts when istio-proxy is ready, so that its first connections are not refused.

use std::time::Duration;

use json_patch::jsonptr::PointerBuf;
use serde_json::{Value, json};

use super::super::{Facts, Ruling, annotation_pointer};
use crate::keys;
use crate::mutate::plan::spec;
use crate::mutate::proxy_config::{self, Hold};
use crate::mutate::{Plan, Reason};
use crate::pod::{Injection, Proxy, ProxyKind};

/// How long `pilot-agent wait` holds the application when it is not told.
const ISTIO_WAIT: Duration = Duration::from_mins(1);

pub(in crate::mutate::rules) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    let mesh = &facts.snapshot.config.mesh;
    if !mesh.enabled {
        return Ruling::skipped(Reason::MeshOff);
    }
    if !mesh.hold {
        return Ruling::skipped(Reason::HoldOff);
    }
    if let Some(proxy) = facts.proxy {
        return injected(facts, proxy, plan);
    }
    match facts.injection {
        Injection::NotExpected(why) => Ruling::skipped(why.into()),
        Injection::Expected if plan.label(keys::SIDECAR_INJECT) == Some("false") => {
            Ruling::skipped(Reason::InjectionSwitchedOff)
        }
        Injection::Expected if facts.pod.asks_for_grpc_agent() => Ruling::skipped(Reason::GrpcAgent),
        Injection::Expected => request(facts, plan),
    }
}

/// Before injection: what the annotation says decides.
fn request(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    let pointer = annotation_pointer(keys::PROXY_CONFIG);
    let native = facts.pod.annotation(keys::NATIVE_SIDECAR).is_some_and(|value| value != "false");
    match proxy_config::hold(facts.pod.annotation(keys::PROXY_CONFIG)) {
        Hold::True => Ruling::skipped(Reason::HoldAlreadyRequested).at(pointer),
        Hold::False => Ruling::skipped(Reason::HoldDeclined).at(pointer).warn(
            "mesh.hold: holdApplicationUntilProxyStarts is false: the application may start before its network is up",
        ),
        Hold::Refused(refusal) => Ruling::refused(
            Reason::ProxyConfigRefused,
            refusal.to_string(),
            format!("mesh.hold: proxy.istio.io/config left as it is: {refusal}"),
        )
        .at(pointer),
        Hold::Missing { .. } if native => {
            Ruling::skipped(Reason::NativeSidecar).at(annotation_pointer(keys::NATIVE_SIDECAR))
        }
        Hold::Missing { merged } => {
            Ruling::applied(Reason::HoldAdded, plan.set_annotation(keys::PROXY_CONFIG, merged).as_str())
        }
    }
}

/// After injection the annotation is no longer read: only what was rendered counts.
fn injected(facts: &Facts<'_>, proxy: Proxy<'_>, plan: &mut Plan) -> Ruling {
    match proxy.kind {
        ProxyKind::Native => Ruling::skipped(Reason::NativeSidecar).at(proxy.container.pointer()),
        ProxyKind::GrpcAgent => Ruling::skipped(Reason::GrpcAgent).at(proxy.container.pointer()),
        ProxyKind::Classic if waits(proxy) => match longer_wait(facts, proxy) {
            Some(command) => {
                Ruling::applied(Reason::WaitRaised, plan.set(hook(proxy.container.index), command).as_str())
            }
            None => Ruling::skipped(Reason::HoldRendered).at(proxy.container.pointer()),
        },
        ProxyKind::Classic => {
            let cause = cause(facts);
            let warning = format!("mesh.hold: injected without the hold: {cause}");
            Ruling::refused(Reason::HoldNotRendered, cause, warning).at(proxy.container.pointer())
        }
    }
}

/// Where the command of a postStart hook stands, in the application container at `index`.
fn hook(index: usize) -> PointerBuf {
    let index = index.to_string();
    spec(["containers", &index, "lifecycle", "postStart", "exec", "command"])
}

/// The hook's command with the configured time-out, where that is longer than what was rendered. Only the exact command
/// of Istio's template is known to have no time-out of its own, and a shorter one would make the pod worse.
fn longer_wait(facts: &Facts<'_>, proxy: Proxy<'_>) -> Option<Value> {
    let timeout = facts.snapshot.config.mesh.wait_timeout?.0;
    let rendered = proxy.container.raw().pointer("/lifecycle/postStart/exec/command")?;
    if timeout <= ISTIO_WAIT || *rendered != json!(["pilot-agent", "wait"]) {
        return None;
    }
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    Some(json!(["pilot-agent", "wait", "--timeoutSeconds", seconds.to_string()]))
}

/// Whether the proxy stands first, so that the kubelet waits for its postStart hook before it starts the others, and
/// whether that hook waits.
fn waits(proxy: Proxy<'_>) -> bool {
    let command = proxy.container.raw().pointer("/lifecycle/postStart/exec/command").and_then(Value::as_array);
    let mut words = command.into_iter().flatten().filter_map(Value::as_str);
    proxy.container.index == 0 && words.next() == Some("pilot-agent") && words.next() == Some("wait")
}

fn cause(facts: &Facts<'_>) -> &'static str {
    match proxy_config::hold(facts.pod.annotation(keys::PROXY_CONFIG)) {
        Hold::True => "Istio ignored it: is global.proxy.lifecycle set, or does our webhook sort late?",
        Hold::False => "proxy.istio.io/config says holdApplicationUntilProxyStarts: false",
        Hold::Missing { .. } | Hold::Refused(_) => "the pod came injected: set the hold in its template",
    }
}
