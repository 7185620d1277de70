//! Section `termination`: how pods are ended whose payload has ended.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::fields::{Fields, Section};
use super::helpers::{self, Helper};
use super::{ContainerName, LabelSelector, Period};

/// Longer than this the window would itself be why a job hangs.
pub(crate) const LONGEST_SETTLE: Duration = Duration::from_hours(1);
/// An attempt holds one of a few places; pilot-agent itself gives up after a minute.
const LONGEST_ATTEMPT: Duration = Duration::from_mins(5);
/// An apiserver needs some moments to connect to a kubelet.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(100);

/// Ending the proxy and other helpers of pods whose payload has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Termination {
    /// Switches it off and on.
    pub enabled: bool,
    /// How long after the payload's end the proxy is ended, at most 1h. The annotation `trainmesh.dev/settle` of a pod
    /// beats this value.
    pub settle: Period,
    /// The name of the proxy's container.
    pub proxy_container: ContainerName,
    /// Which pods are watched for a proxy to end: a label selector.
    pub pod_selector: LabelSelector,
    /// How long one attempt to end a container may take.
    pub attempt_timeout: Period,
    /// Whether port-forwards are used: to sidecar containers that are terminated by a POST, and to the proxy's status port
    /// where commands in its container fail. Without it the controller reports these sidecars and does not terminate them.
    /// The permission reaches every port of a pod.
    pub port_forward: bool,
    /// Whether `curl` in the proxy's container is tried last.
    pub curl: bool,
    /// Containers that serve the payload and are ended with it, beside those of the built-in catalogue. An entry of the
    /// same name replaces the built-in one.
    pub helpers: Vec<Helper>,
}

impl Default for Termination {
    fn default() -> Self {
        Self {
            enabled: true,
            settle: Period(Duration::from_secs(1)),
            proxy_container: ContainerName::literal("istio-proxy"),
            // Set by every injection template of Istio.
            pod_selector: LabelSelector::literal("service.istio.io/canonical-name"),
            attempt_timeout: Period(Duration::from_secs(10)),
            // The permission reaches every port of a pod, and no policy sees which one a stream is for.
            port_forward: false,
            curl: false,
            helpers: Vec::new(),
        }
    }
}

impl Section for Termination {
    fn read(fields: &mut Fields<'_>) -> Self {
        let Self { enabled, settle, proxy_container, pod_selector, attempt_timeout, port_forward, curl, helpers: _ } =
            Self::default();
        Self {
            enabled: fields.scalar("enabled", enabled),
            settle: fields.period("settle", settle, Duration::ZERO..=LONGEST_SETTLE),
            proxy_container: fields.scalar("proxyContainer", proxy_container),
            pod_selector: fields.scalar("podSelector", pod_selector),
            attempt_timeout: fields.period("attemptTimeout", attempt_timeout, SHORTEST_ATTEMPT..=LONGEST_ATTEMPT),
            port_forward: fields.scalar("portForward", port_forward),
            curl: fields.scalar("curl", curl),
            helpers: helpers::read(fields, "helpers"),
        }
    }
}
