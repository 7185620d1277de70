//! The cluster, its leaders and its outsiders, without cryptography: who signed what is a name.

mod object;
mod outsider;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::super::{Authority, CertificateSet, Facts, Id, Leaf, Serving, Step, next};
use crate::certs::{Dates, Schedule};

use object::Object;
pub(super) use outsider::Act;

/// Lifetimes, in seconds. An authority is established after 75.
const CA: u64 = 900;
const LEAF: u64 = 450;
/// A leader: what it remembers, and what it has read in this round.
#[derive(Debug, Default)]
struct Leader {
    trusted_since: BTreeMap<Id, i64>,
    trusted: Option<(u64, Option<CertificateSet>)>,
    record: Option<(u64, Option<CertificateSet>)>,
    serving: Option<(u64, Option<Serving>)>,
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    /// Seconds that have passed, and what the clock shows beside them.
    passed: i64,
    clock: i64,
    minted: BTreeMap<Id, Dates>,
    record: Object<CertificateSet>,
    serving: Object<Serving>,
    trusted: Object<CertificateSet>,
    leaders: [Leader; 2],
}

impl Default for World {
    fn default() -> Self {
        Self {
            passed: 0,
            clock: 1_800_000_000,
            minted: BTreeMap::new(),
            record: Object::default(),
            serving: Object::default(),
            trusted: Object::default(),
            leaders: Default::default(),
        }
    }
}

impl World {
    fn schedule() -> Schedule {
        Schedule::new(Duration::from_secs(CA), Duration::from_secs(LEAF)).unwrap()
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_second(self.clock + self.passed).unwrap()
    }

    pub(super) fn pass(&mut self, seconds: i64) {
        self.passed += seconds;
    }

    pub(super) fn jump(&mut self, seconds: i64) {
        self.clock += seconds;
    }

    pub(super) fn crash(&mut self, leader: usize) {
        self.leaders[leader] = Leader::default();
    }

    /// Reads in the order of the real store: the `caBundle`, the authorities, the leaf; then decides and writes.
    pub(super) fn turn(&mut self, leader: usize) {
        let passed = self.passed;
        let leader = &mut self.leaders[leader];
        if leader.trusted.is_none() {
            let trusted = self.trusted.now().cloned();
            let ids = trusted.iter().flat_map(|set| &set.authorities).map(|it| it.id);
            let before = std::mem::take(&mut leader.trusted_since);
            leader.trusted_since = ids.map(|id| (id, before.get(&id).copied().unwrap_or(passed))).collect();
            leader.trusted = Some((self.trusted.version, trusted));
        } else if leader.record.is_none() {
            leader.record = Some((self.record.version, self.record.now().cloned()));
        } else if leader.serving.is_none() {
            leader.serving = Some((self.serving.version, self.serving.now().cloned()));
        } else if let (Some(trusted), Some(record), Some(serving)) =
            (leader.trusted.take(), leader.record.take(), leader.serving.take())
        {
            let overlap = i64::try_from(Self::schedule().overlap().as_secs()).unwrap();
            let established = leader
                .trusted_since
                .iter()
                .filter(|(_, since)| passed - **since >= overlap)
                .map(|(id, _)| *id)
                .collect();
            self.act(trusted, record, serving, established);
        }
    }

    fn act(
        &mut self,
        (trusted_version, trusted): (u64, Option<CertificateSet>),
        (record_version, record): (u64, Option<CertificateSet>),
        (serving_version, serving): (u64, Option<Serving>),
        established: BTreeSet<Id>,
    ) {
        let facts = Facts { now: self.time(), record, serving, trusted, established };
        let of = |ids: Vec<Id>| {
            let all = [&facts.record, &facts.trusted].into_iter().flatten().flat_map(|set| &set.authorities);
            let all = all.chain(facts.serving.iter().flat_map(|serving| &serving.bundle.authorities));
            let all: BTreeMap<Id, Authority> = all.map(|it| (it.id, Authority { keyed: false, ..*it })).collect();
            CertificateSet { authorities: ids.iter().map(|id| all[id]).collect(), foreign: false }
        };
        match next(&facts, &Self::schedule()) {
            Step::Rest => {}
            Step::Record { mut keep, mint } => {
                if mint {
                    let id = Id([u8::try_from(self.minted.len() + 1).unwrap(); 32]);
                    let dates = Dates::starting(facts.now, Duration::from_secs(CA));
                    self.minted.insert(id, dates);
                    keep.insert(0, Authority { id, dates, keyed: true });
                }
                self.record.write(record_version, self.passed, CertificateSet { authorities: keep, foreign: false });
            }
            Step::Trust(ids) => self.trusted.write(trusted_version, self.passed, of(ids)),
            Step::Issue { signer, bundle } => {
                let authority = of(vec![signer]).authorities[0];
                let dates = Dates::starting(facts.now, Duration::from_secs(LEAF)).within(authority.dates);
                let leaf = Some(Leaf { issuer: Some(signer), dates, fit: true });
                self.serving.write(serving_version, self.passed, Serving { leaf, bundle: of(bundle) });
            }
            Step::Bundle(ids) => {
                let leaf = facts.serving.as_ref().and_then(|serving| serving.leaf);
                self.serving.write(serving_version, self.passed, Serving { leaf, bundle: of(ids) });
            }
        }
    }

    /// Whether everything is as it should be, and has been for so long that everyone knows.
    pub(super) fn settled(&self) -> bool {
        let late = self.late();
        let (record, serving, trusted) = (self.record.now(), self.serving.now(), self.trusted.now());
        let established = trusted.into_iter().flat_map(|set| &set.authorities).map(|it| it.id).collect();
        let facts = Facts {
            now: self.time(),
            record: record.cloned(),
            serving: serving.cloned(),
            trusted: trusted.cloned(),
            established,
        };
        let served = serving.and_then(|serving| serving.leaf).is_some_and(|leaf| leaf.dates.hold(facts.now));
        !late && served && trusted.is_some() && record.is_some() && next(&facts, &Self::schedule()) == Step::Rest
    }
}
