//! Problems of an injected pod that its spec shows.

use crate::keys;
use crate::mutate::proxy_config::{Hold, hold};
use crate::mutate::{Reason, Refusal, RuleId};
use crate::pod::{Container, ContainerKind, Pod, ProxyKind, Rendezvous};
use crate::workload::{self, PodIdentity};

/// Maximum length of a proxy configuration in bytes. Longer ones are not read.
const MAX_CONFIG: usize = 64 * 1024;
/// Maximum number of containers that are searched.
const MAX_CONTAINERS: usize = 64;

/// Problems of an injected pod that its spec shows.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnosis) struct MeshRecord {
    /// True if the pod requests the hold, and its classic proxy has none.
    pub(in crate::diagnosis) lacks_hold: bool,
    /// True if all traffic of the pod passes through Envoy, or that on a port of its process group.
    pub(in crate::diagnosis) captures: bool,
    /// Annotation that shows why.
    pub(in crate::diagnosis) capture: CaptureAnnotation,
    /// True if the fields of the pod show that it is a rank with peers.
    pub(in crate::diagnosis) has_peers: bool,
    /// Reason for which trainmesh refused to exclude traffic of the pod.
    pub(in crate::diagnosis) refused: Option<Reason>,
}

/// Annotations about the outbound traffic.
const OUTBOUND: [&str; 3] =
    [keys::INCLUDE_OUTBOUND_RANGES, keys::EXCLUDE_OUTBOUND_RANGES, keys::EXCLUDE_OUTBOUND_PORTS];

/// Annotation that shows why traffic is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::diagnosis) enum CaptureAnnotation {
    /// None of the ranges is limited.
    #[default]
    Unset,
    /// All outbound traffic is requested.
    Outbound,
    /// All inbound traffic is requested, whatever limits the outbound one.
    Inbound,
    /// No outbound traffic is captured, and all inbound traffic, which no annotation mentions.
    InboundByDefault,
}

impl CaptureAnnotation {
    fn read(pod: Pod<'_>) -> Self {
        let is_other = |key: &str| key.starts_with(keys::TRAFFIC_PREFIX) && !OUTBOUND.contains(&key);
        match pod.annotation(keys::INCLUDE_OUTBOUND_RANGES) {
            None => Self::Unset,
            Some(keys::CAPTURE_ALL) => Self::Outbound,
            Some("") if !pod.annotation_keys().any(is_other) => Self::InboundByDefault,
            Some(_) => Self::Inbound,
        }
    }

    /// Returns the key and the value.
    pub(in crate::diagnosis) fn setting(self) -> (&'static str, &'static str) {
        match self {
            Self::Unset => (keys::INCLUDE_OUTBOUND_RANGES, "not set"),
            Self::Outbound => (keys::INCLUDE_OUTBOUND_RANGES, keys::CAPTURE_ALL),
            Self::Inbound => (keys::INCLUDE_INBOUND_PORTS, keys::CAPTURE_ALL),
            Self::InboundByDefault => (keys::INCLUDE_INBOUND_PORTS, "not set"),
        }
    }
}

impl MeshRecord {
    pub(super) fn read(pod: Pod<'_>, identity: Option<PodIdentity<'_>>) -> Self {
        let Some(proxy) = pod.proxy() else { return Self::default() };
        let refused = || Refusal::read(pod).into_iter().find(|refusal| refusal.rule == RuleId::MeshTraffic);
        let requests_hold = || proxy.rendered_hold() == Some(true) || annotation_requests_hold(pod);
        let captures_ranks = || pod.captures_all_traffic() || pod.captures_one_of(&group_ports(pod));
        let intercepts = proxy.kind != ProxyKind::GrpcAgent && !pod.disables_interception();
        Self {
            lacks_hold: proxy.kind == ProxyKind::Classic && !proxy.holds_application() && requests_hold(),
            captures: intercepts && captures_ranks(),
            capture: if intercepts { CaptureAnnotation::read(pod) } else { CaptureAnnotation::Unset },
            has_peers: identity.is_some_and(|member| workload::has_training_peers(pod, member, None)),
            refused: refused().map(|refusal| refusal.reason),
        }
    }
}

/// Returns the ports on which the process group of a pod meets, as far as its containers contain them.
fn group_ports(pod: Pod<'_>) -> Vec<u16> {
    let is_app = |container: &Container<'_>| container.kind == ContainerKind::App && !container.is_proxy();
    pod.containers().filter(is_app).take(MAX_CONTAINERS).flat_map(Rendezvous::ports).collect()
}

fn annotation_requests_hold(pod: Pod<'_>) -> bool {
    let text = pod.annotation(keys::PROXY_CONFIG).filter(|text| text.len() <= MAX_CONFIG);
    text.is_some_and(|text| hold(Some(text)) == Hold::True)
}
