//! Pods with a fabric, as members of gangs.

use jiff::Timestamp;

use trainmesh_core::gang::{AssignedPod, Assignment, GangId};
use trainmesh_core::lifecycle::{PodFacts, PodPhase};
use trainmesh_core::pod::Pod;

/// A pod with a fabric and its gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangPod {
    pub(super) gang: GangId,
    pub(super) assigned: AssignedPod,
}

impl GangPod {
    /// Returns the gang membership of `pod`; `None` once it is terminating or has completed, because it then no longer
    /// communicates.
    pub(super) fn read(pod: Pod<'_>, facts: &PodFacts) -> Option<Self> {
        let assignment = Assignment::from_pod(pod)?;
        if facts.deleting || matches!(facts.phase, PodPhase::Succeeded | PodPhase::Failed) {
            return None;
        }
        let gang = GangId::from_pod(pod, &facts.namespace)?;
        let created = facts.created.map_or(i64::MAX, Timestamp::as_second);
        Some(Self { gang, assigned: AssignedPod { created, assignment } })
    }
}
