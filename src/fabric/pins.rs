//! One revision for a gang: which one the living pods of each gang carry, and what it says.
//!
//! Pods of one job must not be given different settings. So while some of them live, a change of the profile does not
//! apply to those that join or replace them: the controller's leader keeps what they carry ([`Pins::follow`]) as one text
//! in the cluster, and the webhook looks it up ([`Pins::find`]). A body is believed only where its hash is the revision:
//! what stands in a pod may have come with a copied template.

mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::profile::ProfileName;
use super::{Pin, Profile, Profiles};
use crate::hash;

/// Gangs that are kept at most. A cluster with more has thousands of nodes.
const MOST_GANGS: usize = 8_000;
/// Gangs of one namespace that are kept at most: nobody's pods take the place of all others.
const MOST_IN_NAMESPACE: usize = 500;
/// Bytes of the annotation that lists the rules that changed a pod: it takes a few names.
const APPLIED: usize = 4 * 1024;
/// Bytes of a gang's id: the longest is made of a kind and two labels of 63 bytes.
const GANG_ID: usize = 160;
/// Bodies that are kept at most: revisions of profiles that are in use at the same time.
const MOST_BODIES: usize = 64;
/// An object of Kubernetes has at most 1 MiB, its metadata included.
const MOST_BYTES: usize = 900 * 1024;

/// What living gangs carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// By profile and revision.
    kept: BTreeMap<Carried, Kept>,
    /// The gangs of `kept`.
    by_gang: HashMap<GangKey, Carried>,
}

/// A gang: its namespace, and what [`gang_uid`](crate::workload::gang_uid) says of its pods.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GangKey {
    /// The namespace.
    pub namespace: String,
    /// What its pods share.
    pub uid: String,
}

/// What a pod says that it was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Carried {
    /// The name of the profile.
    pub profile: String,
    /// Its revision.
    pub revision: String,
}

/// A living pod that was given a fabric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamped {
    /// When it was created, in seconds.
    pub created: i64,
    /// What it was given.
    pub carried: Carried,
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
    gang: &'a GangKey,
    carried: &'a Carried,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    body: Option<Profile>,
    gangs: BTreeSet<GangKey>,
}

impl Pins {
    /// What is kept when these gangs live, with at least one stamped pod each. `profiles` are the configuration's, the one
    /// in force first.
    ///
    /// A gang keeps its pin while some pod carries it; else it gets what its oldest pod carries. Where there is no room
    /// for all, those that are kept already stay, then the oldest come first: nobody evicts a gang by creating others.
    #[must_use]
    pub fn follow(&self, living: &BTreeMap<GangKey, Vec<Stamped>>, profiles: &[&Profiles]) -> (Self, Dropped) {
        let candidates = living.iter().filter_map(|(gang, pods)| {
            let oldest = pods.iter().min()?;
            let pinned = self.by_gang.get(gang);
            let before = pinned.filter(|pin| pods.iter().any(|pod| pod.carried == **pin));
            let carried = before.unwrap_or(&oldest.carried);
            Some(Candidate { new: pinned.is_none(), created: oldest.created, gang, carried })
        });
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_unstable();

        let mut next = Self::default();
        let mut dropped = Dropped::default();
        let (mut bodies, mut bytes) = (0, text::EMPTY);
        let mut in_namespace: HashMap<&str, usize> = HashMap::new();
        for Candidate { gang, carried, .. } in candidates {
            let gangs = in_namespace.entry(&gang.namespace).or_default();
            let known = next.kept.contains_key(carried);
            let body = if known { None } else { self.body(carried, profiles) };
            let left_out = body.is_some() && bodies == MOST_BODIES;
            let body = body.filter(|_| !left_out);
            let size = text::size_of_gang(gang) + if known { 0 } else { text::size_of_entry(carried, body.as_ref()) };
            if next.by_gang.len() == MOST_GANGS || *gangs == MOST_IN_NAMESPACE || bytes + size > MOST_BYTES {
                dropped.gangs += 1;
                dropped.namespace.get_or_insert_with(|| gang.namespace.clone());
                continue;
            }
            *gangs += 1;
            bytes += size;
            bodies += usize::from(body.is_some());
            dropped.bodies += usize::from(left_out);
            next.keep(carried, body, gang.clone());
        }
        (next, dropped)
    }

    /// What pods of this gang carry; `None`: there are none.
    #[must_use]
    pub fn find(&self, gang: &GangKey) -> Option<Pin<'_>> {
        let (Carried { profile, revision }, kept) = self.kept.get_key_value(self.by_gang.get(gang)?)?;
        Some(Pin { profile, revision, body: kept.body.as_ref() })
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_gang.is_empty()
    }

    fn keep(&mut self, carried: &Carried, body: Option<Profile>, gang: GangKey) {
        let kept = self.kept.entry(carried.clone()).or_default();
        kept.body = kept.body.take().or(body);
        kept.gangs.insert(gang.clone());
        self.by_gang.insert(gang, carried.clone());
    }

    /// The profile that was given with `carried`, where anybody still has it.
    fn body(&self, carried: &Carried, profiles: &[&Profiles]) -> Option<Profile> {
        let kept = self.kept.get(carried).and_then(|kept| kept.body.clone());
        let found = || {
            let mut entries = profiles.iter().filter_map(|profiles| profiles.find(&carried.profile));
            entries.find(|entry| entry.revision == carried.revision).map(|entry| entry.profile.clone())
        };
        kept.or_else(found)
    }
}

impl GangKey {
    /// The gang `uid` of `namespace`; `None` where no operator writes such an id. Whoever creates a pod writes its labels
    /// and owners.
    #[must_use]
    pub fn new(namespace: &str, uid: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
        let valid = (1..=GANG_ID).contains(&uid.len()) && uid.bytes().all(allowed);
        valid.then(|| Self { namespace: namespace.to_owned(), uid: uid.to_owned() })
    }
}

impl Carried {
    /// What a pod with these annotations was given: what the rules say that they applied, and the revision. `None` where
    /// the webhook writes no such values: whoever creates a pod writes its annotations.
    #[must_use]
    pub fn read(applied: Option<&str>, revision: Option<&str>) -> Option<Self> {
        let applied = applied.filter(|applied| applied.len() <= APPLIED)?;
        let profile = applied.split(',').find_map(|rule| rule.trim().strip_prefix("fabric="))?;
        Self::new(profile, revision?)
    }

    /// `profile` and `revision`, where they are the name of a profile and a hash.
    fn new(profile: &str, revision: &str) -> Option<Self> {
        let valid = ProfileName::parse(profile).is_some() && hash::is_hash(revision);
        valid.then(|| Self { profile: profile.to_owned(), revision: revision.to_owned() })
    }
}

#[cfg(test)]
mod tests;
