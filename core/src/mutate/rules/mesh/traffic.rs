//! mesh.traffic: keep the payload's traffic out of Envoy. NCCL and gloo open ephemeral ports between pods and hang
//! behind a proxy that captures them. A label decides, else the pod's fabric, else the configuration.

use super::super::{Facts, Ruling, annotation_pointer, label_pointer};
use crate::config::Traffic;
use crate::keys;
use crate::lint;
use crate::mutate::{Plan, Reason, subject};
use crate::pod::Injection;

/// One direction of traffic: the annotation that empties its capture, and those by which a user steers it.
struct Direction {
    empty: &'static str,
    steering: [&'static str; 3],
}

const DIRECTIONS: [Direction; 2] = [
    Direction {
        empty: "traffic.sidecar.istio.io/includeInboundPorts",
        steering: [
            "traffic.sidecar.istio.io/includeInboundPorts",
            "traffic.sidecar.istio.io/excludeInboundPorts",
            "traffic.sidecar.istio.io/excludeInterfaces",
        ],
    },
    Direction {
        empty: "traffic.sidecar.istio.io/includeOutboundIPRanges",
        steering: [
            "traffic.sidecar.istio.io/includeOutboundIPRanges",
            "traffic.sidecar.istio.io/excludeOutboundIPRanges",
            "traffic.sidecar.istio.io/excludeOutboundPorts",
        ],
    },
];

pub(in crate::mutate::rules) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    if facts.istio_aux() {
        return Ruling::skipped(Reason::IstioAuxNamespace);
    }
    if !facts.snapshot.config.mesh.enabled {
        return Ruling::skipped(Reason::MeshOff);
    }
    let decided = label(facts).or(plan.traffic().map(Ok));
    match decided.unwrap_or(Ok(facts.snapshot.config.mesh.traffic)) {
        Err(unknown) => {
            let expected = format!("{unknown:?}: expected leave, disableCapture or disableInjection");
            let warning = format!("mesh.traffic: label {} is {expected}", keys::MESH_TRAFFIC);
            Ruling::refused(Reason::UnknownTrafficMode, expected, warning)
        }
        Ok(Traffic::Leave) => leave(facts, decided.is_some()),
        Ok(Traffic::DisableCapture) => disable_capture(facts, plan),
        Ok(Traffic::DisableInjection) => disable_injection(facts, plan),
    }
}

/// What the pod's label says, else the namespace's; an unknown word comes back as it is.
fn label<'a>(facts: &'a Facts<'_>) -> Option<Result<Traffic, &'a str>> {
    let namespace = facts.snapshot.labels.get(keys::MESH_TRAFFIC).map(String::as_str);
    let value = facts.pod.label(keys::MESH_TRAFFIC).or(namespace)?;
    Some(Traffic::parse(value).ok_or(value))
}

/// Nothing is changed; whoever has not decided is told what a captured job of several pods is up against.
fn leave(facts: &Facts<'_>, decided: bool) -> Ruling {
    let ruling = Ruling::skipped(Reason::TrafficLeft);
    let subject = subject(facts.pod, facts.pod, facts.snapshot);
    match lint::captured(&subject, &facts.snapshot.config.fabric.lint).filter(|_| !decided) {
        Some(finding) => ruling.warn(lint::line(&finding)),
        None => ruling,
    }
}

/// Istio reads these annotations at every injection, also of a pod that arrives injected.
fn disable_capture(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    if let Injection::NotExpected(why) = facts.injection {
        return Ruling::skipped(if facts.proxy.is_some() { Reason::AlreadyInjected } else { why.into() });
    }
    if facts.pod.is_gateway() {
        return Ruling::skipped(Reason::GatewayPod);
    }
    let free =
        DIRECTIONS.iter().filter(|direction| direction.steering.iter().all(|key| facts.pod.annotation(key).is_none()));
    let written: Vec<String> = free.map(|direction| plan.set_annotation(direction.empty, "").to_string()).collect();
    let emptied = DIRECTIONS.iter().all(|direction| facts.pod.annotation(direction.empty) == Some(""));
    match written.into_iter().next() {
        Some(field) => Ruling::applied(Reason::CaptureDisabled, field),
        None if emptied => Ruling::skipped(Reason::CaptureAlreadyDisabled).at(annotation_pointer(DIRECTIONS[0].empty)),
        None => Ruling::skipped(Reason::TrafficSetByUser),
    }
}

fn disable_injection(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    if facts.proxy.is_some() {
        return Ruling::skipped(Reason::AlreadyInjected);
    }
    if facts.pod.label(keys::SIDECAR_INJECT).is_some() {
        return Ruling::skipped(Reason::InjectionSetByUser).at(label_pointer(keys::SIDECAR_INJECT));
    }
    if facts.pod.annotation(keys::SIDECAR_INJECT).is_some() {
        return Ruling::skipped(Reason::InjectionSetByUser).at(annotation_pointer(keys::SIDECAR_INJECT));
    }
    match facts.injection {
        Injection::NotExpected(why) => Ruling::skipped(why.into()),
        // Without injection nobody completes it: its image is mostly `auto`, which no registry has.
        Injection::Expected if facts.pod.proxy_container().is_some() => Ruling::skipped(Reason::ProxyCustomized),
        Injection::Expected => {
            Ruling::applied(Reason::InjectionTurnedOff, plan.set_label(keys::SIDECAR_INJECT, "false").as_str())
        }
    }
}
