//! One revision for a gang: which one the living pods of each gang carry, and what it says.
//!
//! Pods of one job must not be given different settings. So while some of them live, a change of the profile does not
//! apply to those that join or replace them: the controller's leader keeps what they carry ([`Pins::follow`]) as one text
//! in the cluster, and the webhook looks it up ([`Pins::find`]). A body is believed only where its hash is the revision:
//! what stands in a pod may have come with a copied template.

mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Pin, Profile, Profiles};

/// Gangs that are kept at most. A cluster with more has thousands of nodes.
const MOST_GANGS: usize = 8_000;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Gangs.
    pub gangs: usize,
    /// Bodies of profiles.
    pub bodies: usize,
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
    /// A gang keeps its pin while some pod carries it; else it gets what its oldest pod carries.
    #[must_use]
    pub fn follow(&self, living: &BTreeMap<GangKey, Vec<Stamped>>, profiles: &[&Profiles]) -> (Self, Dropped) {
        let pinned = living.iter().filter_map(|(gang, pods)| {
            let oldest = pods.iter().min()?;
            let before = self.by_gang.get(gang).filter(|pin| pods.iter().any(|pod| pod.carried == **pin));
            Some((oldest.created, gang, before.unwrap_or(&oldest.carried)))
        });
        let mut pinned: Vec<_> = pinned.collect();
        // The youngest first: the oldest are those that go.
        pinned.sort_unstable_by(|one, other| other.cmp(one));
        let mut dropped = Dropped { gangs: pinned.len().saturating_sub(MOST_GANGS), bodies: 0 };
        pinned.truncate(MOST_GANGS);

        let mut next = Self::default();
        let (mut bodies, mut bytes) = (0, 0);
        for (_, gang, carried) in pinned {
            let known = next.kept.contains_key(carried);
            let body = if known { None } else { self.body(carried, profiles) };
            let (body, size) = match body {
                None => (None, 0),
                Some(_) if bodies == MOST_BODIES => {
                    dropped.bodies += 1;
                    (None, 0)
                }
                Some(body) => {
                    let size = text::size_of_body(&body);
                    (Some(body), size)
                }
            };
            let size = size + text::size_of_gang(gang) + if known { 0 } else { text::size_of_carried(carried) };
            if bytes + size > MOST_BYTES {
                dropped.gangs += 1;
                continue;
            }
            bytes += size;
            bodies += usize::from(body.is_some());
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

impl Carried {
    /// What a pod with these annotations was given: what the rules say that they applied, and the revision.
    #[must_use]
    pub fn read(applied: Option<&str>, revision: Option<&str>) -> Option<Self> {
        let profile = applied?.split(',').find_map(|rule| rule.trim().strip_prefix("fabric="))?;
        Some(Self { profile: profile.to_owned(), revision: revision?.to_owned() })
    }
}

#[cfg(test)]
mod tests;
