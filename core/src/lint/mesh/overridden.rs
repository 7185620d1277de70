//! Settings of a pod that take precedence over its traffic mode, so that Envoy still captures its traffic.

use super::texts::Advice;
use super::{FIELD, LABEL_FIELD};
use crate::keys;
use crate::lint::LintInput;
use crate::pod::Pod;
use crate::rule::{Reason, RuleId};

/// Fields by which a pod selects injection: JSON pointers.
const INJECT_LABEL: &str = "/metadata/labels/sidecar.istio.io~1inject";
const INJECT_ANNOTATION: &str = "/metadata/annotations/sidecar.istio.io~1inject";
/// Fields by which a pod selects capture: JSON pointers.
const INBOUND_FIELD: &str = "/metadata/annotations/traffic.sidecar.istio.io~1includeInboundPorts";
const OUTBOUND_FIELD: &str = "/metadata/annotations/traffic.sidecar.istio.io~1includeOutboundIPRanges";

/// A setting of a pod that takes precedence over its traffic mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Override {
    /// The label or annotation `sidecar.istio.io/inject`.
    Injection,
    /// A container `istio-proxy` of the pod's own.
    ProxyContainer,
    /// An annotation with which Envoy captures all traffic of one direction.
    Capture,
    /// The proxy, which Istio injected before the mode was selected.
    Injected,
}

impl Override {
    /// Returns the setting according to the decision of the rule `mesh.traffic`. `is_for_pod` is true if the mode changes
    /// pods such as this one.
    pub(super) fn find(input: &LintInput<'_>, is_for_pod: bool) -> Option<Self> {
        let mut decisions = input.rules.iter().filter(|rule| rule.rule == RuleId::MeshTraffic);
        decisions.find_map(|rule| match rule.reason {
            Reason::InjectionSetByUser => Some(Self::Injection),
            Reason::ProxyCustomized => Some(Self::ProxyContainer),
            Reason::TrafficSetByUser => Some(Self::Capture),
            Reason::CaptureDisabled if input.pod.requests_capture() => Some(Self::Capture),
            Reason::AlreadyInjected if is_for_pod => Some(Self::Injected),
            _ => None,
        })
    }

    /// Returns the texts of FP021.
    pub(super) fn advice(self) -> Advice {
        Advice { message: self.message(), fix: Some(self.fix()) }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Injection => {
                "NCCL and Gloo hang behind Envoy: sidecar.istio.io/inject of the pod overrides the mode disableInjection"
            }
            Self::ProxyContainer => {
                "NCCL and Gloo hang behind Envoy: disableInjection skips the pod, which has its own container istio-proxy"
            }
            Self::Capture => {
                "NCCL and Gloo hang behind Envoy: annotations traffic.sidecar.istio.io of the pod override the mode"
            }
            Self::Injected => {
                "NCCL and Gloo hang behind Envoy: the mode has no effect, because the proxy is injected already"
            }
        }
    }

    fn fix(self) -> &'static str {
        match self {
            Self::Injection => {
                "remove the label or annotation sidecar.istio.io/inject from the pod, or set it to \"false\""
            }
            Self::ProxyContainer => {
                "set trainmesh.dev/mesh-traffic: direct or disableCapture, or remove the container istio-proxy from the pod"
            }
            Self::Capture => {
                "remove the annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges with the \
                 value \"*\", which selects all traffic"
            }
            Self::Injected => {
                "set the mode before the injection: create the pod again, without a proxy in its template or by istioctl"
            }
        }
    }

    /// Returns the field of the setting in `pod`: a JSON pointer.
    pub(super) fn field(self, pod: Pod<'_>) -> &'static str {
        match self {
            Self::Injection if pod.label(keys::SIDECAR_INJECT).is_some() => INJECT_LABEL,
            Self::Injection => INJECT_ANNOTATION,
            Self::Capture if pod.annotation(keys::INCLUDE_INBOUND_PORTS) == Some(keys::CAPTURE_ALL) => INBOUND_FIELD,
            Self::Capture => OUTBOUND_FIELD,
            Self::ProxyContainer | Self::Injected if pod.label(keys::MESH_TRAFFIC).is_some() => LABEL_FIELD,
            Self::ProxyContainer | Self::Injected => FIELD,
        }
    }
}
