//! Which workload a pod belongs to, read from its labels and owner alone.

use super::KINDS;
use crate::pod::Pod;

/// A pod's place in its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Kind of the workload, as a manifest writes it.
    pub kind: &'static str,
    /// Name of the workload.
    pub job: &'a str,
    /// The pod's role, in the words of the operator's label.
    pub role: Option<&'a str>,
    /// The pod's index within its role.
    pub index: Option<u64>,
    /// Whether the kind exists to train: a batch kind of several pods that work on one result.
    pub training: bool,
}

/// The workload that `pod` belongs to. Where several kinds are stacked (Job, `JobSet`, `TrainJob`) the outermost
/// that the labels show is named.
#[must_use]
pub fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    KINDS.iter().find_map(|kind| (kind.identify)(pod))
}
