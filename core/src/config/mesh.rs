//! Section `mesh`: rules for pods with an Istio sidecar.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ConfigDuration;
use super::choice::{self, choices};
use super::cidr::{check_pod_ranges, check_ranges, complete_family, ineffective_ranges};
use super::section::section;
use crate::cidr::Cidr;

/// Longest `waitTimeout` without a warning. A pod that waits longer for its proxy only keeps its devices from others.
const LONG_WAIT: Duration = Duration::from_hours(1);

section! {
    /// Rules for pods with an Istio sidecar.
    pub struct Mesh {
        /// Enables the mesh rules.
        pub enabled: bool = true,
        /// Holds the application containers until istio-proxy is ready (`holdApplicationUntilProxyStarts`).
        pub hold: bool = true,
        /// Timeout of `pilot-agent wait` if the injection template does not set one. Null: Istio's default of one
        /// minute.
        #[cfg_attr(feature = "schema", schemars(with = "ConfigDuration"))]
        pub wait_timeout: Option<ConfigDuration>,
        /// Use of native sidecars.
        pub native_sidecar: NativeSidecar = NativeSidecar::Leave,
        /// Traffic that passes through Envoy. The label `trainmesh.dev/mesh-traffic` takes precedence.
        pub traffic: Traffic = Traffic::Leave,
        /// IP ranges of the pods. Required by the mode `direct`, which excludes them from capture.
        pub pod_cidrs as "podCIDRs": Vec<Cidr> => check_pod_ranges,
        /// IP ranges that the mesh excludes from capture for all pods (`global.proxy.excludeIPRanges` of Istio's
        /// injector). The annotation that the mode `direct` writes replaces them, and therefore repeats them.
        pub exclude_ip_ranges as "excludeIPRanges": Vec<Cidr> => check_ranges,
    }
}

/// Use of native sidecars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NativeSidecar {
    /// Istio decides.
    Leave,
    /// Requests a native sidecar unless the pod specifies otherwise.
    Prefer,
}

/// Traffic that passes through Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Traffic {
    /// Istio decides.
    Leave,
    /// Connections between the pods of a training job bypass the proxy.
    Direct,
    /// The proxy is injected but captures no traffic.
    DisableCapture,
    /// No proxy is injected.
    DisableInjection,
}

impl Mesh {
    /// Returns `waitTimeout` if it is so long that it is unlikely to be intended.
    #[must_use]
    pub fn long_wait(&self) -> Option<Duration> {
        self.wait_timeout.map(|ConfigDuration(wait)| wait).filter(|wait| *wait > LONG_WAIT)
    }

    /// Returns the lists of ranges that contain every address of a family, each with the name of the family.
    pub fn complete_ranges(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lists = [("podCIDRs", &self.pod_cidrs), ("excludeIPRanges", &self.exclude_ip_ranges)];
        lists.into_iter().filter_map(|(list, ranges)| Some((list, complete_family(ranges)?)))
    }

    /// Returns the problem of each range in `podCIDRs` without an effect.
    pub fn ineffective_pod_ranges(&self) -> impl Iterator<Item = String> {
        ineffective_ranges(&self.pod_cidrs)
    }
}

impl fmt::Display for NativeSidecar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl Traffic {
    /// Parses a value of the configuration or of the label `trainmesh.dev/mesh-traffic`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        choice::parse(name).ok()
    }

    /// Returns the valid values.
    pub(crate) fn names() -> &'static [&'static str] {
        choice::names::<Self>()
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

choices!(NativeSidecar, Traffic);
