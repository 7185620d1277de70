//! Which workload a pod belongs to, read from its labels and owner alone.

use super::kinds::{
    deployment, job, jobset, leaderworkerset, raycluster, rayjob, statefulset, training_operator, trainjob, volcano,
};
use super::{KINDS, Kind};
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

/// The labels that [`identify`] and [`GangTraits::id`](super::GangTraits::id) read.
pub const LABELS: [&str; 29] = [
    deployment::TEMPLATE_HASH,
    job::COMPLETION_INDEX,
    job::JOB_NAME,
    jobset::NAME,
    jobset::UID,
    jobset::ROLE,
    jobset::JOBS_OF_ROLE,
    leaderworkerset::NAME,
    leaderworkerset::GROUP_INDEX,
    leaderworkerset::WORKER_INDEX,
    raycluster::IS_RAY_NODE,
    raycluster::CLUSTER,
    raycluster::NODE_TYPE,
    raycluster::GROUP,
    raycluster::SERVE,
    raycluster::REPLICA_INDEX,
    raycluster::HOST_INDEX,
    rayjob::ORIGIN,
    rayjob::ORIGIN_KIND,
    statefulset::POD_INDEX,
    training_operator::OPERATOR_NAME,
    training_operator::JOB_NAME,
    training_operator::REPLICA_TYPE,
    training_operator::REPLICA_INDEX,
    training_operator::JOB_ROLE,
    trainjob::ANCESTOR,
    volcano::JOB,
    volcano::TASK,
    volcano::TASK_INDEX,
];

/// The workload that `pod` belongs to. Where several kinds are stacked (Job, `JobSet`, `TrainJob`) the outermost
/// that the labels show is named.
#[must_use]
pub fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    KINDS.iter().find_map(|kind| (kind.identify)(pod))
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
