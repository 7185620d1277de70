//! Section `termination`: termination of sidecar containers when the main containers have completed.

use std::time::Duration;

use super::section::section;
use super::sidecars::SidecarEntry;
use super::{ConfigDuration, ContainerName, LabelSelector};

/// Maximum stabilization window. A longer one would look like a job that does not complete.
pub(crate) const MAX_SETTLE: Duration = Duration::from_hours(1);
/// Maximum timeout of an attempt: it occupies one of a few permits, and pilot-agent itself gives up after a minute.
const MAX_ATTEMPT_TIMEOUT: Duration = Duration::from_mins(5);
/// Minimum timeout of an attempt: the apiserver needs some time to connect to a kubelet.
const MIN_ATTEMPT_TIMEOUT: Duration = Duration::from_millis(100);

section! {
    /// Termination of the proxy and other sidecar containers when the main containers have completed.
    pub struct Termination {
        /// Enables the termination of sidecar containers.
        pub enabled: bool = true,
        /// Stabilization window: time between the completion of the main containers and the termination of the proxy,
        /// at most 1h. The pod annotation `trainmesh.dev/settle` takes precedence.
        pub settle: ConfigDuration = ConfigDuration(Duration::from_secs(1))
            => ConfigDuration::within(Duration::ZERO..=MAX_SETTLE),
        /// Name of the proxy container.
        pub proxy_container: ContainerName = ContainerName::from_static("istio-proxy"),
        /// Label selector of the pods that the controller watches, in addition to those with `trainmesh.dev/managed=true`.
        // All injection templates of Istio set this label.
        pub pod_selector: LabelSelector = LabelSelector::from_static("service.istio.io/canonical-name"),
        /// Timeout of one attempt to terminate a container.
        pub attempt_timeout: ConfigDuration = ConfigDuration(Duration::from_secs(10))
            => ConfigDuration::within(MIN_ATTEMPT_TIMEOUT..=MAX_ATTEMPT_TIMEOUT),
        /// Allows port-forwarding: to sidecar containers that are terminated by a POST request, and to the proxy's
        /// status port if commands in its container fail. If disabled, the controller reports these sidecar containers
        /// and does not terminate them. The permission covers every port of a pod.
        // Admission policies do not see the port of a stream.
        pub port_forward: bool,
        /// Tries `curl` in the proxy container as the last method.
        pub curl: bool,
        /// Sidecar containers to terminate, in addition to those of the built-in catalog. An entry with the name of a
        /// built-in one replaces it.
        pub helpers: Vec<SidecarEntry>,
    }
}

impl Termination {
    /// Returns true if an entry is for the proxy, which has its own methods.
    #[must_use]
    pub fn lists_proxy(&self) -> bool {
        self.helpers.iter().any(|entry| entry.name.as_str() == self.proxy_container.as_str())
    }
}
