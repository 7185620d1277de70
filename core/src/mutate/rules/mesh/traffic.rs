//! Rule `mesh.traffic`: lets traffic of the main containers bypass Envoy. NCCL and Gloo open ephemeral ports between
//! pods and hang if a proxy captures them. A label selects the mode, else the pod's fabric profile, else the
//! configuration.

use super::super::{RuleContext, RuleDecision, annotation_pointer, label_pointer};
use super::captured::{warn_if_captured, warn_if_overridden};
use super::consequence::{LEAVES_COMPLETELY, LEAVES_INBOUND, LEAVES_OUTBOUND};
use super::tls_mode::{self, ClientTls};
use super::{KEPT_MUTUAL, direct, not_injected};
use crate::config::Traffic;
use crate::hint::{nearest, one_of};
use crate::keys;
use crate::mutate::{Plan, Reason};
use crate::pod::Injection;

/// Causes of the mode `leave`.
const LEFT_BY_LABEL: &str = "the label trainmesh.dev/mesh-traffic is leave";
const LEFT_BY_PROFILE: &str = "the fabric profile only excludes interfaces";
const LEFT_BY_DEFAULT: &str = "mesh.traffic of the configuration is leave";

/// Annotations that configure capture for one direction of traffic.
struct Direction {
    /// Annotation that, if empty, disables capture.
    include: &'static str,
    /// All annotations that affect capture.
    all: [&'static str; 3],
}

const DIRECTIONS: [Direction; 2] = [
    Direction { include: keys::INCLUDE_INBOUND_PORTS, all: keys::INBOUND_CAPTURE },
    Direction {
        include: keys::INCLUDE_OUTBOUND_RANGES,
        all: [keys::INCLUDE_OUTBOUND_RANGES, keys::EXCLUDE_OUTBOUND_RANGES, keys::EXCLUDE_OUTBOUND_PORTS],
    },
];

pub(in crate::mutate::rules) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if context.is_istio_aux() {
        return warn_if_captured(context, RuleDecision::skipped(Reason::IstioAuxNamespace));
    }
    if !context.snapshot.config.mesh.enabled {
        return RuleDecision::skipped(Reason::MeshOff);
    }
    let (labeled, of_profile) = (labeled_mode(context), plan.traffic());
    let selected = labeled.or(of_profile.map(Ok)).unwrap_or(Ok(context.snapshot.config.mesh.traffic));
    match selected {
        Err(unknown) => {
            let known = Traffic::names();
            let fix = nearest(unknown, known)
                .map_or_else(|| format!("expected {}", one_of(known)), |near| format!("did you mean {near}?"));
            let problem = format!("{unknown:?}: {fix}");
            let warning = format!("mesh.traffic: label {} is {problem}", keys::MESH_TRAFFIC);
            RuleDecision::refused(Reason::UnknownTrafficMode, problem, warning)
        }
        Ok(Traffic::Leave) if labeled.is_some() => left(LEFT_BY_LABEL),
        Ok(Traffic::Leave) if of_profile.is_some() => left(LEFT_BY_PROFILE),
        // The mode was not selected for this pod.
        Ok(Traffic::Leave) => warn_if_captured(context, left(LEFT_BY_DEFAULT)),
        Ok(Traffic::Direct) => warn_if_overridden(context, direct::decide(context, plan)),
        Ok(Traffic::DisableCapture) => warn_if_overridden(context, disable_capture(context, plan)),
        Ok(Traffic::DisableInjection) => warn_if_overridden(context, disable_injection(context, plan)),
    }
}

/// Returns the mode of the pod's label, else of the namespace's. The error is an unknown value.
fn labeled_mode<'a>(context: &'a RuleContext<'_>) -> Option<Result<Traffic, &'a str>> {
    let namespace = context.snapshot.namespace_labels.get(keys::MESH_TRAFFIC).map(String::as_str);
    let value = context.pod.label(keys::MESH_TRAFFIC).or(namespace)?;
    Some(Traffic::parse(value).ok_or(value))
}

/// Leaves traffic capture unchanged. `cause` is what selects the mode.
fn left(cause: &str) -> RuleDecision {
    RuleDecision::skipped(Reason::TrafficLeft).with_detail(cause)
}

/// Disables capture. Istio reads the annotations at every injection, even into a pod that already has a proxy.
fn disable_capture(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if let Injection::NotExpected(why) = context.injection {
        return if context.proxy.is_some() {
            RuleDecision::skipped(Reason::AlreadyInjected)
        } else {
            not_injected(why)
        };
    }
    if context.pod.is_gateway() {
        return RuleDecision::skipped(Reason::GatewayPod);
    }
    let unset =
        DIRECTIONS.iter().filter(|direction| direction.all.iter().all(|key| context.pod.annotation(key).is_none()));
    let mut written: Vec<String> =
        unset.map(|direction| plan.set_annotation(direction.include, "").to_string()).collect();
    let inbound = context.pod.annotation(keys::INCLUDE_INBOUND_PORTS).or(plan.annotation(keys::INCLUDE_INBOUND_PORTS));
    let client_tls = if inbound == Some("") { tls_mode::disable(context, plan) } else { ClientTls::Unchanged };
    if client_tls == ClientTls::Disabled {
        written.push(tls_mode::pointer());
    }
    let is_disabled = DIRECTIONS.iter().all(|direction| context.pod.annotation(direction.include) == Some(""));
    let decision = match written.into_iter().next() {
        Some(field) => {
            let decision = RuleDecision::applied(Reason::CaptureDisabled, field);
            match kept_annotation(context) {
                Some((kept, key)) => decision
                    .with_detail(format!("except as annotation {key} of the pod selects"))
                    .with_warning(if kept == keys::INCLUDE_INBOUND_PORTS { LEAVES_OUTBOUND } else { LEAVES_INBOUND }),
                None => decision.with_warning(LEAVES_COMPLETELY),
            }
        }
        None if is_disabled => {
            RuleDecision::skipped(Reason::CaptureAlreadyDisabled).with_field(annotation_pointer(DIRECTIONS[0].include))
        }
        None => RuleDecision::skipped(Reason::TrafficSetByUser),
    };
    match client_tls {
        ClientTls::KeptMutual => decision.with_warning(KEPT_MUTUAL),
        ClientTls::Disabled | ClientTls::Unchanged => decision,
    }
}

/// Returns the first annotation of a direction that is still captured, and the annotation of the pod that is the cause.
fn kept_annotation(context: &RuleContext<'_>) -> Option<(&'static str, &'static str)> {
    let mut keys = DIRECTIONS.iter().flat_map(|direction| direction.all.map(|key| (direction.include, key)));
    let captures =
        |include: &str, key: &str| context.pod.annotation(include) != Some("") && context.pod.annotation(key).is_some();
    keys.find(|(include, key)| captures(include, key))
}

fn disable_injection(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    if context.proxy.is_some() {
        return RuleDecision::skipped(Reason::AlreadyInjected);
    }
    if context.pod.label(keys::SIDECAR_INJECT).is_some() {
        return RuleDecision::skipped(Reason::InjectionSetByUser).with_field(label_pointer(keys::SIDECAR_INJECT));
    }
    if context.pod.annotation(keys::SIDECAR_INJECT).is_some() {
        return RuleDecision::skipped(Reason::InjectionSetByUser).with_field(annotation_pointer(keys::SIDECAR_INJECT));
    }
    match context.injection {
        Injection::NotExpected(why) => not_injected(why),
        // Only injection completes the container: its image is usually `auto`, which no registry has.
        Injection::Expected if context.pod.proxy_container().is_some() => {
            RuleDecision::skipped(Reason::ProxyCustomized)
        }
        Injection::Expected => {
            RuleDecision::applied(Reason::InjectionTurnedOff, plan.set_label(keys::SIDECAR_INJECT, "false").as_str())
        }
    }
}
