//! A pod's place in its workload, and what kinds read of it.

use super::Kind;
use crate::pod::Pod;

/// A pod's place in its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Kind of the workload.
    pub kind: &'static Kind,
    /// Name of the workload.
    pub job: &'a str,
    /// The pod's role, in the words of the operator's label.
    pub role: Option<&'a str>,
    /// The pod's index within its role.
    pub index: Option<u64>,
    /// Whether the kind exists to train: a batch kind of several pods that work on one result.
    pub training: bool,
}

/// The workload that owns its pods itself and tells nothing else in them.
pub(super) fn by_owner<'a>(pod: Pod<'a>, api_version: &str, kind: &'static Kind) -> Option<Member<'a>> {
    let job = owned_by(pod, api_version, kind.kind)?;
    Some(Member { kind, job, role: None, index: None, training: false })
}

/// The name of the pod's controlling owner, when that is a `kind` of `api_version`.
pub(super) fn owned_by<'a>(pod: Pod<'a>, api_version: &str, kind: &str) -> Option<&'a str> {
    pod.controller().filter(|owner| owner.api_version == api_version && owner.kind == kind).map(|owner| owner.name)
}

/// A label that holds a number.
pub(super) fn label_number(pod: Pod<'_>, key: &str) -> Option<u64> {
    pod.label(key)?.parse().ok()
}
