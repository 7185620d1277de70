//! Pods whose cached facts suggest that a diagnosis may find a problem.
//!
//! The controller keeps the facts of every pod, but not the fields that a diagnosis reads. So it diagnoses only workloads
//! with such a pod, which most pods are not: they run, and have never terminated.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::snapshot::read::{MAX_NAME, truncate};
use crate::lifecycle::{ContainerState, PodFacts, PodPhase};
use crate::pod::Pod;
use crate::workload::identify;

/// Time for which a pod may start or terminate before it is suspicious: no finding is reported earlier.
const GRACE: SignedDuration = SignedDuration::from_mins(1);

/// A pod to diagnose with its workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// Time from which to diagnose it.
    pub from: Timestamp,
    /// The workload of the pod.
    pub workload: PodWorkload,
}

/// The workload of a pod, as far as the pod contains it: its labels or its owner, or else the pod itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodWorkload {
    kind: Box<str>,
    name: Box<str>,
}

impl Suspicion {
    /// Returns the suspicion against a pod; `None` if it runs undisturbed or has completed.
    #[must_use]
    pub fn new(pod: Pod<'_>, facts: &PodFacts) -> Option<Self> {
        let from = suspicious_from(facts)?;
        Some(Self { from: from.saturating_add(GRACE).unwrap_or(from), workload: PodWorkload::of(pod) })
    }
}

impl PodWorkload {
    /// Returns the workload with this kind and name.
    #[must_use]
    pub fn named(kind: &str, name: &str) -> Self {
        Self { kind: truncate(kind, MAX_NAME), name: truncate(name, MAX_NAME) }
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the workload of `pod`.
    #[must_use]
    pub fn of(pod: Pod<'_>) -> Self {
        let bounded = |text: &str| truncate(text, MAX_NAME);
        if let Some(identity) = identify(pod) {
            return Self { kind: identity.kind.kind.into(), name: bounded(identity.workload) };
        }
        if let Some(owner) = pod.controller() {
            return Self { kind: bounded(owner.kind), name: bounded(owner.name) };
        }
        let name = pod.metadata().and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        Self { kind: "Pod".into(), name: bounded(name.unwrap_or_default()) }
    }
}

/// Returns the time of the first sign of a problem.
fn suspicious_from(facts: &PodFacts) -> Option<Timestamp> {
    let created = facts.created.unwrap_or(Timestamp::UNIX_EPOCH);
    if facts.phase == PodPhase::Succeeded {
        return None;
    }
    let disturbed = facts.containers.iter().filter_map(|container| match container.state {
        ContainerState::Terminated { finished, .. } => Some(finished.unwrap_or(created)),
        ContainerState::Waiting { .. } | ContainerState::Absent => Some(created),
        ContainerState::Running => (container.restarts > 0).then_some(created),
    });
    let is_unusual = facts.deleting || facts.node.is_none() || facts.phase != PodPhase::Running;
    disturbed.chain(is_unusual.then_some(created)).min()
}
