//! Pins: the profile revision that all pods of a gang get.
//!
//! Pods of one job must not have different settings. While a gang is active, a change of its profile therefore does not
//! apply to pods that join it or replace others. The elected leader stores the revisions of active gangs in the
//! cluster ([`Pins::reconcile`]), and the webhook looks them up ([`Pins::find`]). The stored body of a profile is used
//! only if its hash equals the revision, because pod annotations may be copied from a template.

mod store;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{AssignedPod, Assignment, GangId};
use crate::config::{Profile, Profiles};

/// Maximum number of pinned gangs. Clusters with more have thousands of nodes.
const MAX_GANGS: usize = 8_000;
/// Maximum number of pinned gangs per namespace, so that no tenant can use up the total.
const MAX_GANGS_PER_NAMESPACE: usize = 500;
/// Maximum number of stored profile bodies, one per revision in use.
const MAX_BODIES: usize = 64;
/// Maximum size of the stored pins, next to [those of gang modes](super::mode_pins). A Kubernetes object is limited to 1 MiB,
/// including its metadata.
const MAX_BYTES: usize = 600 * 1024;

/// Profile revisions of active gangs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    entries: BTreeMap<Assignment, PinnedRevision>,
    /// Index of the gangs in `entries`.
    by_gang: HashMap<GangId, Assignment>,
}

/// Profile revision of an active gang.
#[derive(Clone, Copy, Debug)]
pub struct Pin<'a> {
    /// Name of the profile.
    pub profile: &'a str,
    /// Revision of the profile.
    pub revision: &'a str,
    /// The profile at that revision; `None` if it is no longer available.
    pub body: Option<&'a Profile>,
}

/// Entries that were dropped because a limit was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Number of gangs.
    pub gangs: usize,
    /// Number of profile bodies.
    pub bodies: usize,
    /// Namespace of the first dropped gang.
    pub namespace: Option<String>,
}

/// A gang to pin. The derived order decides which gangs are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'a> {
    /// True if the gang is not pinned yet.
    new: bool,
    /// Creation time of its oldest active pod.
    created: i64,
    gang: &'a GangId,
    assignment: &'a Assignment,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PinnedRevision {
    body: Option<Profile>,
    gangs: BTreeSet<GangId>,
}

impl Pins {
    /// Computes the pins for the `active` gangs, each with at least one assigned pod. `profiles` contains those of the
    /// active configuration first, followed by those of previous ones.
    ///
    /// A gang keeps its pin as long as one of its pods has that assignment. Otherwise it gets the assignment of its
    /// oldest pod. If a limit is reached, gangs that are already pinned take precedence, then older ones. Creating
    /// gangs therefore never evicts another gang.
    #[must_use]
    pub fn reconcile(&self, active: &BTreeMap<GangId, Vec<AssignedPod>>, profiles: &[&Profiles]) -> (Self, Dropped) {
        let candidates = active.iter().filter_map(|(gang, pods)| {
            let oldest = pods.iter().min()?;
            let pinned = self.by_gang.get(gang);
            let current = pinned.filter(|pin| pods.iter().any(|pod| pod.assignment == **pin));
            let assignment = current.unwrap_or(&oldest.assignment);
            Some(Candidate { new: pinned.is_none(), created: oldest.created, gang, assignment })
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_unstable();

        let mut next = Self::default();
        let mut dropped = Dropped::default();
        let (mut bodies, mut bytes) = (0, store::EMPTY_SIZE);
        let mut in_namespace: HashMap<&str, usize> = HashMap::new();
        for Candidate { gang, assignment, .. } in candidates {
            let gangs = in_namespace.entry(&gang.namespace).or_default();
            let is_stored = next.entries.contains_key(assignment);
            let body = if is_stored { None } else { self.body(assignment, profiles) };
            let drop_body = body.is_some() && bodies == MAX_BODIES;
            let body = body.filter(|_| !drop_body);
            let size =
                store::size_of_gang(gang) + if is_stored { 0 } else { store::size_of_entry(assignment, body.as_ref()) };
            if next.by_gang.len() == MAX_GANGS || *gangs == MAX_GANGS_PER_NAMESPACE || bytes + size > MAX_BYTES {
                dropped.gangs += 1;
                dropped.namespace.get_or_insert_with(|| gang.namespace.clone());
                continue;
            }
            *gangs += 1;
            bytes += size;
            bodies += usize::from(body.is_some());
            dropped.bodies += usize::from(drop_body);
            next.insert(assignment, body, gang.clone());
        }
        (next, dropped)
    }

    /// Returns the pin of `gang`.
    #[must_use]
    pub fn find(&self, gang: &GangId) -> Option<Pin<'_>> {
        let (Assignment { profile, revision }, entry) = self.entries.get_key_value(self.by_gang.get(gang)?)?;
        Some(Pin { profile, revision, body: entry.body.as_ref() })
    }

    /// Returns true if there are no pins.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_gang.is_empty()
    }

    fn insert(&mut self, assignment: &Assignment, body: Option<Profile>, gang: GangId) {
        let entry = self.entries.entry(assignment.clone()).or_default();
        entry.body = entry.body.take().or(body);
        entry.gangs.insert(gang.clone());
        self.by_gang.insert(gang, assignment.clone());
    }

    /// Returns the profile of `assignment` if it is stored or still configured.
    fn body(&self, assignment: &Assignment, profiles: &[&Profiles]) -> Option<Profile> {
        let stored = self.entries.get(assignment).and_then(|entry| entry.body.clone());
        let configured = || {
            let mut entries = profiles.iter().filter_map(|profiles| profiles.find(&assignment.profile));
            entries.find(|entry| entry.revision == assignment.revision).map(|entry| entry.profile.clone())
        };
        stored.or_else(configured)
    }
}

#[cfg(test)]
mod tests;
