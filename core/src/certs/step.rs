//! The next step of a rotation: what the cluster holds, and how long it has held it → one write, or none.
//!
//! An authority goes through four states, each of which can be read from the cluster by whoever leads next:
//!
//! 1. recorded: its certificate and key stand in the Secret of the authorities, beside those before it;
//! 2. trusted: its certificate stands in the `caBundle` of every webhook, beside those before it;
//! 3. signing: it has been trusted for so long that no apiserver can have missed it; the next leaf is its own;
//! 4. retired: a newer one signs. Its key is dropped at once, its certificate when it expires, and with it its last leaf.
//!
//! An authority of ours that is found in any of the three places belongs in all of them until it expires. So none is
//! ever lost while a leaf of it may be served, whichever of the places is wiped, restored from a backup, or written by
//! two leaders at once.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use super::dates::Dates;
use super::schedule::Schedule;

/// Names a certificate: SHA-256 of its DER.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub [u8; 32]);

/// An authority, as far as a decision needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Its certificate.
    pub id: Id,
    /// When it is good.
    pub dates: Dates,
    /// Whether its key is there as well.
    pub keyed: bool,
}

/// The authorities found in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateSet {
    /// Those of ours.
    pub authorities: Vec<Authority>,
    /// Whether anything else was found there.
    pub foreign: bool,
}

/// A leaf, as far as a decision needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The authority that signed it, if that is one of those found.
    pub issuer: Option<Id>,
    /// When it is good.
    pub dates: Dates,
    /// Whether it names our Service and may be shown by a server.
    pub fit: bool,
}

/// What the Secret of the webhook holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serving {
    /// The certificate that replicas show, where it makes a pair with its key.
    pub leaf: Option<Leaf>,
    /// The authorities beside it.
    pub bundle: CertificateSet,
}

/// What the cluster holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The time.
    pub now: Timestamp,
    /// The Secret of the authorities, if there is one.
    pub record: Option<CertificateSet>,
    /// The Secret of the webhook, if there is one.
    pub serving: Option<Serving>,
    /// The `caBundle` that all webhooks have in common, if any is registered.
    pub trusted: Option<CertificateSet>,
    /// The authorities that have been trusted for so long that no apiserver can have missed them.
    pub established: BTreeSet<Id>,
}

/// The next step. Doing it twice does it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the Secret of the authorities: these and no others, with the keys of those that are keyed.
    Record {
        /// What stays.
        keep: Vec<Authority>,
        /// Whether one is made and added.
        mint: bool,
    },
    /// Write these into the `caBundle` of every webhook.
    Trust(Vec<Id>),
    /// Have `signer` make a leaf, and write it with these authorities beside it.
    Issue {
        /// Who signs.
        signer: Id,
        /// Who stands beside it.
        bundle: Vec<Id>,
    },
    /// Write these beside the leaf, which stays.
    Bundle(Vec<Id>),
    /// Nothing, until something changes or time passes.
    Rest,
}

/// The next step.
#[must_use]
pub fn next(facts: &Facts, schedule: &Schedule) -> Step {
    let Facts { now, record, serving, trusted, established } = facts;
    let leaf = serving.as_ref().and_then(|serving| serving.leaf);
    let known = known(facts, leaf);
    let ids: Vec<Id> = known.iter().map(|authority| authority.id).collect();

    if let Some(record) = record {
        let mint = !known.iter().any(|it| it.keyed && !it.dates.due(*now, schedule.authority));
        if mint || record.foreign || sorted(&record.authorities) != known {
            return Step::Record { keep: known, mint };
        }
    }
    if let Some(trusted) = trusted
        && !ids.is_empty()
        && !trusted.holds(&ids)
    {
        return Step::Trust(ids);
    }
    let Some(serving) = serving else { return Step::Rest };
    let good = leaf.filter(|leaf| leaf.fit && leaf.dates.hold(*now));
    let issuer = good.and_then(|leaf| known.iter().find(|it| Some(it.id) == leaf.issuer));
    let signer = known.iter().filter(|it| it.keyed).find(|it| {
        // Who has signed before is known to all; and an authority that is alone takes nothing from anyone.
        established.contains(&it.id) || leaf.and_then(|leaf| leaf.issuer) == Some(it.id) || known.len() == 1
    });
    let due = good.is_none_or(|leaf| leaf.dates.due(*now, schedule.leaf));
    if let Some(signer) = signer
        && (due || issuer.is_none_or(|issuer| issuer.dates.not_before < signer.dates.not_before))
    {
        return Step::Issue { signer: signer.id, bundle: ids };
    }
    if issuer.is_some() && !serving.bundle.holds(&ids) { Step::Bundle(ids) } else { Step::Rest }
}

/// Every authority of ours that is good now, wherever it stands, the newest first; with the keys that are still needed.
fn known(facts: &Facts, leaf: Option<Leaf>) -> Vec<Authority> {
    let record = facts.record.iter().flat_map(|set| &set.authorities).copied();
    // A key counts where it is recorded alone.
    let elsewhere = facts.serving.iter().map(|serving| &serving.bundle).chain(&facts.trusted);
    let elsewhere = elsewhere.flat_map(|set| &set.authorities).map(|it| Authority { keyed: false, ..*it });
    let mut known: Vec<Authority> = Vec::new();
    for authority in record.chain(elsewhere).filter(|it| it.dates.hold(facts.now)) {
        if known.iter().all(|it| it.id != authority.id) {
            known.push(authority);
        }
    }
    let signing = leaf.and_then(|leaf| known.iter().find(|it| it.keyed && Some(it.id) == leaf.issuer)).copied();
    if let Some(signing) = signing {
        for authority in &mut known {
            authority.keyed &= authority.dates.not_before >= signing.dates.not_before;
        }
    }
    sorted(&known)
}

/// The newest first.
fn sorted(authorities: &[Authority]) -> Vec<Authority> {
    let mut sorted = authorities.to_vec();
    sorted.sort_by_key(|it| (std::cmp::Reverse(it.dates.not_before), it.id));
    sorted
}

impl CertificateSet {
    /// Whether these and nothing else were found.
    fn holds(&self, ids: &[Id]) -> bool {
        let found: BTreeSet<Id> = self.authorities.iter().map(|it| it.id).collect();
        !self.foreign && found == ids.iter().copied().collect()
    }
}

impl Facts {
    /// Those that every webhook is told to trust.
    pub fn trusted_ids(&self) -> impl Iterator<Item = Id> {
        self.trusted.iter().flat_map(|CertificateSet { authorities, .. }| authorities).map(|authority| authority.id)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Eight digits tell apart more certificates than a cluster ever sees at once.
        self.0.iter().take(4).try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
