//! Section `termination`: how pods are ended whose payload has ended.

use std::time::Duration;

use super::helpers::Helper;
use super::section::section;
use super::{ContainerName, LabelSelector, Period};

/// Longer than this the window would itself be why a job hangs.
pub(crate) const LONGEST_SETTLE: Duration = Duration::from_hours(1);
/// An attempt holds one of a few places; pilot-agent itself gives up after a minute.
const LONGEST_ATTEMPT: Duration = Duration::from_mins(5);
/// An apiserver needs some moments to connect to a kubelet.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(100);

section! {
    /// Ending the proxy and other helpers of pods whose payload has ended.
    pub struct Termination {
        /// Switches it off and on.
        pub enabled: bool = true,
        /// How long after the payload's end the proxy is ended, at most 1h. The annotation `trainmesh.dev/settle` of a pod
        /// beats this value.
        pub settle: Period = Period(Duration::from_secs(1)) => Period::within(Duration::ZERO..=LONGEST_SETTLE),
        /// The name of the proxy's container.
        pub proxy_container: ContainerName = ContainerName::literal("istio-proxy"),
        /// Which pods are watched for a proxy to end: a label selector.
        // Set by every injection template of Istio.
        pub pod_selector: LabelSelector = LabelSelector::literal("service.istio.io/canonical-name"),
        /// How long one attempt to end a container may take.
        pub attempt_timeout: Period = Period(Duration::from_secs(10)) => Period::within(SHORTEST_ATTEMPT..=LONGEST_ATTEMPT),
        /// Whether port-forwards are used: to sidecar containers that are terminated by a POST, and to the proxy's status port
        /// where commands in its container fail. Without it the controller reports these sidecars and does not terminate them.
        /// The permission reaches every port of a pod.
        // No policy sees which port a stream is for.
        pub port_forward: bool,
        /// Whether `curl` in the proxy's container is tried last.
        pub curl: bool,
        /// Containers that serve the payload and are ended with it, beside those of the built-in catalogue. An entry of the
        /// same name replaces the built-in one.
        pub helpers: Vec<Helper>,
    }
}
