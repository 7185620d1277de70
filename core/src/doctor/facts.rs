//! The facts about a cluster and its installation. Kubernetes objects are passed unchanged to the checks.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::api::coordination::v1::LeaseSpec;

use super::{CheckFinding, Code, MeshState, Permission, PodNetwork, Servers};
use crate::certs::{TrustError, Validity};
use crate::cidr::Cidr;
use crate::config::{ConfigUpdate, PodSecurityDefault};
use crate::scope::Installation;

/// A snapshot of the facts.
#[derive(Debug)]
pub struct InstallationFacts {
    /// Installation.
    pub installation: Installation,
    /// Time of the apiserver. Without it, the certificate is not evaluated.
    pub now: Readable<Timestamp>,
    /// Version of the apiserver.
    pub version: Readable<Version>,
    /// All `MutatingWebhookConfigurations`, in the order in which they are called.
    pub webhook_configurations: Readable<Vec<MutatingWebhookConfiguration>>,
    /// Webhooks of all `ValidatingWebhookConfigurations`, as far as their fields are those of mutating ones.
    pub validating_webhooks: Readable<Vec<MutatingWebhook>>,
    /// Results of dry runs of a pod with fields that old webhooks drop.
    pub field_probe: FieldProbe,
    /// Settings of the Deployments.
    pub servers: Servers,
    /// Result of reading the Deployments. Without them, the settings are those of the chart.
    pub deployments: Readable<()>,
    /// Serving certificate.
    pub certificate: Readable<CertificateStatus>,
    /// Number of ready replicas of the webhook; `None` if the Service does not exist.
    pub endpoints: Readable<Option<usize>>,
    /// Lease of the controller; `None` if it does not exist.
    pub lease: Readable<Option<LeaseSpec>>,
    /// Ready replicas of both servers; the value is true if the apiserver can read the metrics.
    pub metrics: Readable<BTreeMap<String, bool>>,
    /// Configuration.
    pub configuration: Readable<ConfigUpdate>,
    /// [Required permissions](super::required_permissions) that the service accounts lack.
    pub denied: Readable<Vec<Permission>>,
    /// [Unused permissions](super::unused_permissions) that the service accounts have in all namespaces.
    pub unused_permissions: Readable<Vec<Permission>>,
    /// Policy that limits the controller's exec.
    pub exec_policy: Readable<ExecPolicy>,
    /// Istio control planes.
    pub istiods: Readable<Vec<Istiod>>,
    /// All namespaces with their labels.
    pub namespaces: Readable<BTreeMap<String, BTreeMap<String, String>>>,
    /// IP ranges and addresses of pods; empty unless the traffic mode `direct` is selected.
    pub pod_network: Readable<PodNetwork>,
    /// Ranges that Istio's injectors exclude; empty unless the traffic mode `direct` is selected.
    pub injector_ranges: Readable<Vec<InjectorRanges>>,
    /// Services and pods of the mesh.
    pub mesh: Readable<MeshState>,
    /// Results of the Pod Security probe.
    pub pod_security: Readable<PodSecurityProbe>,
}

/// The policy that limits the controller's exec, and its binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecPolicy {
    /// CEL expressions of its match conditions; `None` if it does not exist.
    pub conditions: Option<Vec<String>>,
    /// Actions of the binding, such as `Deny`; `None` if it does not exist.
    pub actions: Option<Vec<String>>,
}

/// The ranges that an injector excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectorRanges {
    /// Namespace and name of the `ConfigMap`.
    pub config_map: String,
    /// The ranges. Text that is not a range is left out: the injector rejects it.
    pub ranges: Vec<Cidr>,
}

/// Results of dry runs of [`probe_pod`](super::probe_pod).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldProbe {
    /// Result in a namespace for which no other webhook is called, if possible one that accepts the pod; `None` if there is none.
    pub control: Option<ProbedFields>,
    /// Results by namespace, each with the names of the configurations whose webhooks are called.
    pub namespaces: BTreeMap<String, (Vec<String>, ProbedFields)>,
}

/// Result of a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbedFields {
    /// The pod would be created without these fields.
    Created(Vec<&'static str>),
    /// The apiserver did not respond in time.
    TimedOut,
    /// It was denied, or the request failed.
    Unknown,
}

/// Results of dry runs in the namespaces where the cluster's default Pod Security level applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSecurityProbe {
    /// `fabric.podSecurityDefault` of the current configuration.
    pub configured: PodSecurityDefault,
    /// Results by namespace.
    pub namespaces: BTreeMap<String, ProbeResult>,
    /// Number of namespaces that were not probed.
    pub omitted: usize,
}

/// Result of the dry run of a pod that requires the Pod Security level `privileged`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The pod would be created.
    Admitted,
    /// Pod Security denies the pod at this level.
    PodSecurity(PodSecurityDefault),
    /// The security context constraints of `OpenShift` deny the pod.
    SecurityContextConstraints,
    /// Another denial, an error, or no response.
    Unknown,
}

/// Status of the serving certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateStatus {
    /// The Secret or its certificate is missing.
    Missing,
    /// Certificate and key are malformed or do not match.
    Broken,
    /// Certificate and key match.
    Present {
        /// Validity period.
        validity: Validity,
        /// Result of verification by the name of the webhook; webhooks without a `caBundle` are omitted.
        trust: BTreeMap<String, Result<(), TrustError>>,
    },
}

/// Data that the user's account may not be allowed to read, or that the apiserver does not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readable<T> {
    /// The data.
    Known(T),
    /// The request that was forbidden.
    Forbidden(String),
    /// The request that failed for another reason, with this reason.
    Failed(String),
}

/// Version of the apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// `1`
    pub major: String,
    /// `36`, with some providers `36+`
    pub minor: String,
    /// `v1.36.0`
    pub full: String,
}

/// An Istio control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Istiod {
    /// Namespace and name of the Deployment.
    pub name: String,
    /// Value of `ENABLE_NATIVE_SIDECARS`, if it is set.
    pub native: Option<String>,
}

impl fmt::Display for ProbeResult {
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
    /// Returns the data, if it could be read.
    #[must_use]
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(data) => Some(data),
            Self::Forbidden(_) | Self::Failed(_) => None,
        }
    }

    /// Applies `map` to the data.
    #[must_use]
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Readable<U> {
        match self {
            Self::Known(data) => Readable::Known(map(data)),
            Self::Forbidden(request) => Readable::Forbidden(request),
            Self::Failed(problem) => Readable::Failed(problem),
        }
    }

    /// Applies `map`, which uses other data, to the data.
    #[must_use]
    pub fn and_then<U>(self, map: impl FnOnce(T) -> Readable<U>) -> Readable<U> {
        match self {
            Self::Known(data) => map(data),
            Self::Forbidden(request) => Readable::Forbidden(request),
            Self::Failed(problem) => Readable::Failed(problem),
        }
    }

    /// Returns a reference to the data.
    #[must_use]
    pub fn as_ref(&self) -> Readable<&T> {
        match self {
            Self::Known(data) => Readable::Known(data),
            Self::Forbidden(request) => Readable::Forbidden(request.clone()),
            Self::Failed(problem) => Readable::Failed(problem.clone()),
        }
    }

    /// Converts to the data, if it could be read.
    #[must_use]
    pub fn into_known(self) -> Option<T> {
        match self {
            Self::Known(data) => Some(data),
            Self::Forbidden(_) | Self::Failed(_) => None,
        }
    }

    /// Returns the finding about data that could not be read.
    pub(super) fn unread(&self) -> Option<CheckFinding> {
        match self {
            Self::Known(_) => None,
            Self::Forbidden(request) => Some((Code::NotReadable, request.clone())),
            Self::Failed(problem) => Some((Code::RequestFailed, problem.clone())),
        }
    }

    /// Returns the finding about a request that failed, unless it was forbidden.
    pub(super) fn failure(&self) -> Option<CheckFinding> {
        self.unread().filter(|(code, _)| *code == Code::RequestFailed)
    }

    /// Runs `check` on the data; returns [`Self::unread`] if it could not be read.
    pub(super) fn evaluate(&self, check: impl FnOnce(&T) -> Vec<CheckFinding>) -> Vec<CheckFinding> {
        match self {
            Self::Known(data) => check(data),
            Self::Forbidden(_) | Self::Failed(_) => self.unread().into_iter().collect(),
        }
    }
}
