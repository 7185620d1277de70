//! Pods that were given a fabric, and their gangs.

use jiff::Timestamp;

use trainmesh_core::gang::{AssignedPod, Assignment, GangId};
use trainmesh_core::lifecycle::{Phase, PodFacts};
use trainmesh_core::pod::Pod;

/// A pod that was given a fabric, and its gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub(super) gang: GangId,
    pub(super) assigned: AssignedPod,
}

impl Member {
    /// The membership of `pod`, whose facts are `facts`, while it lives: one that ends or has ended talks to nobody.
    pub(super) fn read(pod: Pod<'_>, facts: &PodFacts) -> Option<Self> {
        let assignment = Assignment::of(pod)?;
        if facts.deleting || matches!(facts.phase, Phase::Succeeded | Phase::Failed) {
            return None;
        }
        let gang = GangId::of(pod, &facts.namespace)?;
        let created = facts.created.map_or(i64::MAX, Timestamp::as_second);
        Some(Self { gang, assigned: AssignedPod { created, assignment } })
    }
}
