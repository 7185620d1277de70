//! One revision for a gang: which one the living pods of each gang carry, and what it says.
//!
//! Pods of one job must not be given different settings. So while some of them live, a change of the profile does not
//! apply to those that join or replace them: the controller's leader keeps what they carry ([`Pins::follow`]) as one text
//! in the cluster, and the webhook looks it up ([`Pins::find`]). A body is believed only where its hash is the revision:
//! what stands in a pod may have come with a copied template.

mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{AssignedPod, Assignment, GangId};
use crate::config::{Profile, Profiles};

/// Gangs that are kept at most. A cluster with more has thousands of nodes.
const MOST_GANGS: usize = 8_000;
/// Gangs of one namespace that are kept at most: nobody's pods take the place of all others.
const MOST_IN_NAMESPACE: usize = 500;
/// Bodies that are kept at most: revisions of profiles that are in use at the same time.
const MOST_BODIES: usize = 64;
/// An object of Kubernetes has at most 1 MiB, its metadata included.
const MOST_BYTES: usize = 900 * 1024;

/// What living gangs carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// By profile and revision.
    kept: BTreeMap<Assignment, Kept>,
    /// The gangs of `kept`.
    by_gang: HashMap<GangId, Assignment>,
}

/// The revision of a fabric that living pods of a gang were given.
#[derive(Clone, Copy, Debug)]
pub struct Pin<'a> {
    /// The name of the profile.
    pub profile: &'a str,
    /// Its revision.
    pub revision: &'a str,
    /// The profile as it was in that revision; `None`: nobody kept it.
    pub body: Option<&'a Profile>,
}

/// What was left out because there was too much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Gangs.
    pub gangs: usize,
    /// Bodies of profiles.
    pub bodies: usize,
    /// The namespace of the first gang that was left out.
    pub namespace: Option<String>,
}

/// A gang to keep, and what it is kept with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'a> {
    /// Whether it is not kept yet.
    new: bool,
    /// When its oldest living pod was created.
    created: i64,
    gang: &'a GangId,
    assignment: &'a Assignment,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    body: Option<Profile>,
    gangs: BTreeSet<GangId>,
}

impl Pins {
    /// What is kept when these gangs live, with at least one assigned pod each. `profiles` are the configuration's, the one
    /// in force first.
    ///
    /// A gang keeps its pin while some pod carries it; else it gets what its oldest pod carries. Where there is no room
    /// for all, those that are kept already stay, then the oldest come first: nobody evicts a gang by creating others.
    #[must_use]
    pub fn follow(&self, living: &BTreeMap<GangId, Vec<AssignedPod>>, profiles: &[&Profiles]) -> (Self, Dropped) {
        let candidates = living.iter().filter_map(|(gang, pods)| {
            let oldest = pods.iter().min()?;
            let pinned = self.by_gang.get(gang);
            let before = pinned.filter(|pin| pods.iter().any(|pod| pod.assignment == **pin));
            let assignment = before.unwrap_or(&oldest.assignment);
            Some(Candidate { new: pinned.is_none(), created: oldest.created, gang, assignment })
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_unstable();

        let mut next = Self::default();
        let mut dropped = Dropped::default();
        let (mut bodies, mut bytes) = (0, text::EMPTY);
        let mut in_namespace: HashMap<&str, usize> = HashMap::new();
        for Candidate { gang, assignment, .. } in candidates {
            let gangs = in_namespace.entry(&gang.namespace).or_default();
            let known = next.kept.contains_key(assignment);
            let body = if known { None } else { self.body(assignment, profiles) };
            let left_out = body.is_some() && bodies == MOST_BODIES;
            let body = body.filter(|_| !left_out);
            let size =
                text::size_of_gang(gang) + if known { 0 } else { text::size_of_entry(assignment, body.as_ref()) };
            if next.by_gang.len() == MOST_GANGS || *gangs == MOST_IN_NAMESPACE || bytes + size > MOST_BYTES {
                dropped.gangs += 1;
                dropped.namespace.get_or_insert_with(|| gang.namespace.clone());
                continue;
            }
            *gangs += 1;
            bytes += size;
            bodies += usize::from(body.is_some());
            dropped.bodies += usize::from(left_out);
            next.keep(assignment, body, gang.clone());
        }
        (next, dropped)
    }

    /// What pods of this gang carry; `None`: there are none.
    #[must_use]
    pub fn find(&self, gang: &GangId) -> Option<Pin<'_>> {
        let (Assignment { profile, revision }, kept) = self.kept.get_key_value(self.by_gang.get(gang)?)?;
        Some(Pin { profile, revision, body: kept.body.as_ref() })
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_gang.is_empty()
    }

    fn keep(&mut self, assignment: &Assignment, body: Option<Profile>, gang: GangId) {
        let kept = self.kept.entry(assignment.clone()).or_default();
        kept.body = kept.body.take().or(body);
        kept.gangs.insert(gang.clone());
        self.by_gang.insert(gang, assignment.clone());
    }

    /// The profile that was given with `assignment`, where anybody still has it.
    fn body(&self, assignment: &Assignment, profiles: &[&Profiles]) -> Option<Profile> {
        let kept = self.kept.get(assignment).and_then(|kept| kept.body.clone());
        let found = || {
            let mut entries = profiles.iter().filter_map(|profiles| profiles.find(&assignment.profile));
            entries.find(|entry| entry.revision == assignment.revision).map(|entry| entry.profile.clone())
        };
        kept.or_else(found)
    }
}

#[cfg(test)]
mod tests;
