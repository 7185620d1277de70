//! Pods of gangs, with what the webhook applied to them.

use jiff::Timestamp;

use trainmesh_core::gang::{AssignedPod, Assignment, GangId, GangMode, ScheduledPod, applied_mode};
use trainmesh_core::lifecycle::{PodFacts, PodPhase};
use trainmesh_core::pod::Pod;

/// A pod of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangPod {
    pub(super) gang: GangId,
    /// Set if the pod has a fabric.
    pub(super) assigned: Option<AssignedPod>,
    /// Set if the pod did not select its gang mode itself.
    pub(super) scheduled: Option<ScheduledPod>,
    /// True if the webhook gave the pod the name of a `PodGroup`, also if the pod selected its gang mode itself.
    pub(super) names_group: bool,
}

impl GangPod {
    /// Returns the gang membership of `pod`; `None` once it is terminating or has completed, because it then no longer
    /// communicates.
    pub(super) fn read(pod: Pod<'_>, facts: &PodFacts) -> Option<Self> {
        if facts.deleting || matches!(facts.phase, PodPhase::Succeeded | PodPhase::Failed) {
            return None;
        }
        let gang = GangId::from_pod(pod, &facts.namespace)?;
        let created = facts.created.map_or(i64::MAX, Timestamp::as_second);
        let assigned = Assignment::from_pod(pod).map(|assignment| AssignedPod { created, assignment });
        let scheduled = ScheduledPod::from_pod(pod, created);
        let names_group = applied_mode(pod).is_some_and(GangMode::has_objects);
        let is_member = assigned.is_some() || scheduled.is_some() || names_group;
        is_member.then_some(Self { gang, assigned, scheduled, names_group })
    }
}
