//! Inbound ports of a pod that Envoy captures, according to the annotations that Istio's injector reads.

use crate::keys;
use crate::pod::{Injection, Pod};

/// Inbound ports that Envoy captures.
pub(super) enum Inbound {
    /// All ports but these.
    AllExcept(Vec<u16>),
    /// Only these ports.
    Only(Vec<u16>),
}

impl Inbound {
    /// Returns the captured ports; `None` if the pod has no proxy, or its proxy intercepts no traffic.
    pub(super) fn of(pod: Pod<'_>, injection: Injection) -> Option<Self> {
        let has_proxy = injection == Injection::Expected || pod.proxy().is_some();
        if !has_proxy || pod.disables_interception() || pod.is_gateway() {
            return None;
        }
        let ports = |key| {
            let list = pod.annotation(key).unwrap_or_default();
            list.split(',').filter_map(|port| port.trim().parse().ok()).collect()
        };
        Some(match pod.annotation(keys::INCLUDE_INBOUND_PORTS) {
            None | Some("*") => Self::AllExcept(ports(keys::EXCLUDE_INBOUND_PORTS)),
            Some(_) => Self::Only(ports(keys::INCLUDE_INBOUND_PORTS)),
        })
    }

    /// Returns true if Envoy captures connections to `port`.
    pub(super) fn captures(&self, port: u16) -> bool {
        match self {
            Self::AllExcept(ports) => !ports.contains(&port),
            Self::Only(ports) => ports.contains(&port),
        }
    }

    /// Returns true if Envoy captures ports that no one has listed, such as ephemeral ones.
    pub(super) fn captures_by_default(&self) -> bool {
        matches!(self, Self::AllExcept(_))
    }
}
