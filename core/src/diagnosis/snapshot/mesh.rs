//! Problems of an injected pod that its spec shows.

use serde_json::Value;

use crate::keys;
use crate::pod::{Pod, ProxyKind};
use crate::workload::{self, PodIdentity};
use crate::yaml;

/// Field of the proxy's configuration.
const HOLD: &str = "holdApplicationUntilProxyStarts";
/// Maximum length of a proxy configuration in bytes.
const MAX_CONFIG: usize = 64 * 1024;

/// Problems of an injected pod that its spec shows.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnosis) struct MeshRecord {
    /// True if the pod requests the hold, and its classic proxy has none.
    pub(in crate::diagnosis) lacks_hold: bool,
    /// True if all traffic between the ranks of a job passes through Envoy.
    pub(in crate::diagnosis) captures_ranks: bool,
}

impl MeshRecord {
    pub(super) fn read(pod: Pod<'_>, identity: Option<PodIdentity<'_>>) -> Self {
        let Some(proxy) = pod.proxy() else { return Self::default() };
        let requests_hold = || proxy.rendered_hold() == Some(true) || annotation_requests_hold(pod);
        let is_annotated = pod.annotation_keys().any(|key| key.starts_with(keys::TRAFFIC_PREFIX));
        let has_peers = identity.is_some_and(|member| {
            member.training && !workload::is_auxiliary_role(member) && workload::has_peers(pod, member)
        });
        Self {
            lacks_hold: proxy.kind == ProxyKind::Classic && !proxy.holds_application() && requests_hold(),
            captures_ranks: proxy.kind != ProxyKind::GrpcAgent && !is_annotated && has_peers,
        }
    }
}

fn annotation_requests_hold(pod: Pod<'_>) -> bool {
    let text = pod.annotation(keys::PROXY_CONFIG).filter(|text| text.len() <= MAX_CONFIG && text.contains(HOLD));
    text.and_then(|text| yaml::parse(text).ok()).is_some_and(|config| config.get(HOLD) == Some(&Value::Bool(true)))
}
