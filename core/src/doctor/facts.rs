//! What was seen of a cluster. Objects of Kubernetes are kept as they came; the checks read of them what they need.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::coordination::v1::LeaseSpec;

use super::{Code, Found, Right, Servers};
use crate::certs::{Dates, Distrust};
use crate::config::{ConfigUpdate, PodSecurityDefault};
use crate::scope::Installation;

/// What was seen, at one moment.
#[derive(Debug)]
pub struct Facts {
    /// The installation.
    pub installation: Installation,
    /// The apiserver's clock.
    pub now: Timestamp,
    /// Its version.
    pub version: Version,
    /// Every `MutatingWebhookConfiguration`, in the order in which they are called.
    pub registrations: Readable<Vec<MutatingWebhookConfiguration>>,
    /// What the Deployments say.
    pub servers: Servers,
    /// The certificate of the webhook.
    pub certificate: Readable<ServingCertificate>,
    /// How many replicas of the webhook are ready; `None` where there is no Service.
    pub endpoints: Readable<Option<usize>>,
    /// The Lease of the controller; `None` where there is none.
    pub lease: Readable<Option<LeaseSpec>>,
    /// The replicas of both servers that are ready, and whether the apiserver reaches their metrics.
    pub metrics: Readable<BTreeMap<String, bool>>,
    /// The configuration.
    pub configuration: Readable<ConfigUpdate>,
    /// Those of the [`needed`](super::needed) rights that the servers' accounts lack.
    pub denied: Readable<Vec<Right>>,
    /// Those of the [`unneeded`](super::unneeded) rights that they have in all namespaces.
    pub unneeded: Readable<Vec<Right>>,
    /// Istio's control planes.
    pub istiods: Readable<Vec<Istiod>>,
    /// All namespaces, and their labels.
    pub namespaces: Readable<BTreeMap<String, BTreeMap<String, String>>>,
    /// Whether namespaces without a Pod Security label admit what fabric profiles add.
    pub pod_security: Readable<PodSecurityProbe>,
}

/// What a dry run showed in each namespace where the cluster's default level of Pod Security decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSecurityProbe {
    /// `fabric.podSecurityDefault` of the configuration in force.
    pub configured: PodSecurityDefault,
    /// What became of the probe, by namespace.
    pub namespaces: BTreeMap<String, Admission>,
    /// How many namespaces more were not probed.
    pub omitted: usize,
}

/// What became of a pod that needs Pod Security's level `privileged`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It would be created.
    Admitted,
    /// Pod Security denies it, by this level.
    PodSecurity(PodSecurityDefault),
    /// `OpenShift`'s security context constraints deny it.
    SecurityContextConstraints,
    /// Another denial, another error, or no answer.
    Unknown,
}

/// What the Secret of the webhook's certificate holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServingCertificate {
    /// No certificate, or there is no such Secret.
    Missing,
    /// Certificate and key cannot be read, or do not belong together.
    Broken,
    /// A certificate and its key.
    Present {
        /// When it is good.
        dates: Dates,
        /// Whether callers trust it, by the name of the webhook that they call; webhooks without a `caBundle` are left out.
        trust: BTreeMap<String, Result<(), Distrust>>,
    },
}

/// An answer, if the person may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readable<T> {
    /// The answer.
    Known(T),
    /// The request that is forbidden.
    Forbidden(String),
}

/// The apiserver's version, as it says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// `1`
    pub major: String,
    /// `36`, with some providers `36+`
    pub minor: String,
    /// `v1.36.0`
    pub full: String,
}

/// A control plane of Istio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Istiod {
    /// Namespace and name of its Deployment.
    pub name: String,
    /// Its `ENABLE_NATIVE_SIDECARS`, if that is set.
    pub native: Option<String>,
}

impl fmt::Display for Admission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admitted => formatter.write_str("admitted"),
            Self::PodSecurity(level) => level.fmt(formatter),
            Self::SecurityContextConstraints => formatter.write_str("SecurityContextConstraints"),
            Self::Unknown => formatter.write_str("unknown"),
        }
    }
}

impl<T> Readable<T> {
    /// The answer, if there is one.
    #[must_use]
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(answer) => Some(answer),
            Self::Forbidden(_) => None,
        }
    }

    /// The same, with the answer that `map` makes of it.
    #[must_use]
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Readable<U> {
        match self {
            Self::Known(answer) => Readable::Known(map(answer)),
            Self::Forbidden(request) => Readable::Forbidden(request),
        }
    }

    /// The same, taken.
    #[must_use]
    pub fn into_known(self) -> Option<T> {
        match self {
            Self::Known(answer) => Some(answer),
            Self::Forbidden(_) => None,
        }
    }

    /// What `check` finds; a note where there is no answer to be checked.
    pub(super) fn evaluate(&self, check: impl FnOnce(&T) -> Vec<Found>) -> Vec<Found> {
        match self {
            Self::Known(answer) => check(answer),
            Self::Forbidden(request) => vec![(Code::NotReadable, request.clone())],
        }
    }
}
