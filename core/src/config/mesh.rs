//! Section `mesh`: what is done to pods that Istio injects.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Period;
use super::choice::{self, choices};
use super::section::section;

section! {
    /// Repairs of pods with an Istio sidecar.
    pub struct Mesh {
        /// Switches every mesh rule off and on.
        pub enabled: bool = true,
        /// Hold the application until istio-proxy is ready (`holdApplicationUntilProxyStarts`).
        pub hold: bool = true,
        /// How long `pilot-agent wait` may hold the application, where the injector rendered it without a time-out of its
        /// own. Null: Istio's minute.
        #[cfg_attr(feature = "schema", schemars(with = "Period"))]
        pub wait_timeout: Option<Period>,
        /// Whether a pod gets its proxy as a native sidecar.
        pub native_sidecar: NativeSidecar = NativeSidecar::Leave,
        /// Which traffic of a pod goes through Envoy. The label `trainmesh.dev/mesh-traffic` beats this value.
        pub traffic: Traffic = Traffic::Leave,
    }
}

/// Whether a pod gets its proxy as a native sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NativeSidecar {
    /// Istio decides.
    Leave,
    /// Ask for a native sidecar where the pod does not say.
    Prefer,
}

/// Which traffic of a pod goes through Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Traffic {
    /// Istio decides.
    Leave,
    /// The proxy is there, but nothing is captured.
    DisableCapture,
    /// There is no proxy.
    DisableInjection,
}

impl fmt::Display for NativeSidecar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl Traffic {
    /// The value that is called `name` in a configuration or in the label `trainmesh.dev/mesh-traffic`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        choice::parse(name).ok()
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

choices!(NativeSidecar, Traffic);
