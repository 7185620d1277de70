//! The identity of a pod within its workload, and functions that read it from the pod.

use super::WorkloadKind;
use crate::pod::Pod;

/// Identity of a pod within its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodIdentity<'a> {
    /// Kind of the workload.
    pub kind: &'static WorkloadKind,
    /// Name of the workload.
    pub workload: &'a str,
    /// Role of the pod, as in the operator's label.
    pub role: Option<&'a str>,
    /// Index of the pod within its role.
    pub index: Option<u64>,
    /// True if the workload is a training job: several pods that work together until completion.
    pub training: bool,
}

/// Identifies a pod that is owned directly by a `kind` and has no labels for its role and index.
pub(super) fn identity_by_owner<'a>(
    pod: Pod<'a>,
    api_version: &str,
    kind: &'static WorkloadKind,
) -> Option<PodIdentity<'a>> {
    let job = controller_name(pod, api_version, kind.kind)?;
    Some(PodIdentity { kind, workload: job, role: None, index: None, training: false })
}

/// Returns the name of the pod's controlling owner if it is a `kind` of `api_version`.
pub(super) fn controller_name<'a>(pod: Pod<'a>, api_version: &str, kind: &str) -> Option<&'a str> {
    pod.controller().filter(|owner| owner.api_version == api_version && owner.kind == kind).map(|owner| owner.name)
}

/// Returns the value of a numeric label.
pub(super) fn numeric_label(pod: Pod<'_>, key: &str) -> Option<u64> {
    pod.label(key)?.parse().ok()
}
