//! Section `mesh`: what is done to pods that Istio injects.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{Fields, Scalar, Section};
use super::{Period, choice};
use crate::yaml::Content;

/// Repairs of pods with an Istio sidecar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Mesh {
    /// Switches every mesh rule off and on.
    pub enabled: bool,
    /// Hold the application until istio-proxy is ready (`holdApplicationUntilProxyStarts`).
    pub hold: bool,
    /// How long `pilot-agent wait` may hold the application, where the injector rendered it without a time-out of its
    /// own. Null: Istio's minute.
    #[schemars(with = "Period")]
    pub wait_timeout: Option<Period>,
    /// Whether a pod gets its proxy as a native sidecar.
    pub native_sidecar: NativeSidecar,
    /// Which traffic of a pod goes through Envoy. The label `trainmesh.dev/mesh-traffic` beats this value.
    pub traffic: Traffic,
}

/// Whether a pod gets its proxy as a native sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NativeSidecar {
    /// Istio decides.
    Leave,
    /// Ask for a native sidecar where the pod does not say.
    Prefer,
}

/// Which traffic of a pod goes through Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Traffic {
    /// Istio decides.
    Leave,
    /// The proxy is there, but nothing is captured.
    DisableCapture,
    /// There is no proxy.
    DisableInjection,
}

impl Default for Mesh {
    fn default() -> Self {
        Self {
            enabled: true,
            hold: true,
            wait_timeout: None,
            native_sidecar: NativeSidecar::Leave,
            traffic: Traffic::Leave,
        }
    }
}

impl Section for Mesh {
    fn read(fields: &mut Fields<'_>) -> Self {
        let Self { enabled, hold, wait_timeout, native_sidecar, traffic } = Self::default();
        Self {
            enabled: fields.scalar("enabled", enabled),
            hold: fields.scalar("hold", hold),
            wait_timeout: fields.scalar("waitTimeout", wait_timeout),
            native_sidecar: fields.scalar("nativeSidecar", native_sidecar),
            traffic: fields.scalar("traffic", traffic),
        }
    }
}

impl Scalar for NativeSidecar {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
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

impl Scalar for Traffic {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}
