//! Input of the lint: a patched pod and its context.

use std::collections::BTreeMap;

use super::{JobContext, WorkloadManifest};
use crate::cluster_facts::ClusterView;
use crate::config::{Profile, Profiles};
use crate::fabric::ComputeDomain;
use crate::finding::Severity;
use crate::pod::{Injection, Pod};
use crate::rule::{Reason, RuleOutcome};
use crate::workload::PodIdentity;

/// A patched pod and what is known about its namespace, job and cluster.
#[derive(Clone, Copy, Debug)]
pub struct LintInput<'a> {
    /// The pod after the patch.
    pub pod: Pod<'a>,
    /// The pod before the patch; the same as `pod` if there is none.
    pub original: Pod<'a>,
    /// Labels of the pod's namespace.
    pub labels: &'a BTreeMap<String, String>,
    /// True if `labels` are not known but assumed.
    pub labels_assumed: bool,
    /// Profile that is selected for the pod.
    pub profile: Option<&'a Profile>,
    /// All fabric profiles; `None` if they are unknown.
    pub profiles: Option<&'a Profiles>,
    /// Known facts of the cluster.
    pub cluster: ClusterView<'a>,
    /// The pod's position in its workload.
    pub member: Option<PodIdentity<'a>>,
    /// Role of the pod in the manifest; `None` in an admission review.
    pub role: Option<&'a str>,
    /// Number of pods with the pod's role, if known.
    pub replicas: Option<u64>,
    /// Facts of the pod's whole workload; `None` in an admission review.
    pub job: Option<&'a JobContext>,
    /// The workload with all its roles, for the checks of training jobs, which need nothing else; `None` for the other checks.
    pub workload: Option<&'a WorkloadManifest<'a>>,
    /// `ComputeDomains` of the pod's namespace that the manifests contain.
    pub compute_domains: &'a [ComputeDomain],
    /// Decisions of the rules about the pod; empty if unknown.
    pub rules: &'a [RuleOutcome],
    /// Values of the pod that the apiserver rejects or reads as others: JSON pointers with a severity and a description each.
    pub invalid: &'a [(String, Severity, String)],
    /// True if the pod is of a kind that is not supported: its fields may be those of another version of the API.
    pub generic: bool,
    /// Sidecar injection that Istio performs for the pod.
    pub injection: Injection,
}

impl LintInput<'_> {
    /// Returns true if the decisions show that the rules do not apply to the pod, because it is not opted in.
    pub(super) fn is_excluded(&self) -> bool {
        self.exclusion().is_some()
    }

    /// Returns the reason why the pod is not opted in, according to the decisions.
    pub(super) fn exclusion(&self) -> Option<Reason> {
        let is_exclusion = |reason: &Reason| {
            matches!(reason, Reason::NamespaceNotOptedIn | Reason::PodOptedOut | Reason::ExcludedNamespace)
        };
        self.rules.iter().map(|rule| rule.reason).find(is_exclusion)
    }
}
