//! Between what is stored and what is decided.

use std::collections::{BTreeMap, BTreeSet};

use super::PrivateKey;
use super::mint::{self, MintError};
use super::read::{Authorities, Authority, Leaf, bundle, keys};
use super::store::{Stored, Write};
use trainmesh_core::certs::Dates;
use trainmesh_core::certs::Schedule;
use trainmesh_core::certs::step::{self, Facts, Id, Serving, Step};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{Secret, WebhookConfiguration};

/// What is stored, read.
#[derive(Debug)]
pub(super) struct State {
    facts: Facts,
    /// All of ours, wherever they stand; with their keys, where those are recorded.
    authorities: BTreeMap<Id, Authority>,
}

impl State {
    /// Reads what is stored, for a Service that is called `host`.
    pub(super) fn read(stored: &Stored, host: &str) -> Self {
        let Stored { webhook_configuration, record, serving, now } = stored;
        let record = record.as_ref().map(|secret| Authorities::read(secret.get(CA_CRT), secret.get(CA_KEY)));
        let beside = serving.as_ref().map(|secret| Authorities::read(secret.get(CA_CRT), b""));
        let trusted = webhook_configuration.as_ref().and_then(trusted);
        let mut authorities = BTreeMap::new();
        for place in [&record, &beside, &trusted].into_iter().flatten() {
            for authority in &place.found {
                authorities.entry(authority.id).or_insert_with(|| authority.clone());
            }
        }
        let leaf = serving.as_ref().and_then(|secret| leaf(secret, host, &authorities));
        let set = |place: &Authorities| place.facts();
        let facts = Facts {
            now: *now,
            record: record.as_ref().map(set),
            serving: beside.as_ref().map(|beside| Serving { leaf, bundle: set(beside) }),
            trusted: trusted.as_ref().map(set),
            established: BTreeSet::new(),
        };
        Self { facts, authorities }
    }

    /// What the decision is made of.
    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The next step, when these authorities have been trusted for long.
    pub(super) fn next(&mut self, established: BTreeSet<Id>, schedule: &Schedule) -> Step {
        self.facts.established = established;
        step::next(&self.facts, schedule)
    }

    /// What `step` writes.
    pub(super) fn write(&self, step: &Step, schedule: &Schedule, host: &str) -> Result<Option<Write>, MintError> {
        let pick = |ids: &[Id]| bundle(ids.iter().filter_map(|id| self.authorities.get(id)));
        Ok(match step {
            Step::Rest => None,
            Step::Record { keep, mint } => Some(self.record(keep, *mint, schedule)?),
            Step::Trust(ids) => Some(Write::Trust { certificates: pick(ids) }),
            Step::Bundle(ids) => Some(Write::Serving { certificates: pick(ids), leaf: None }),
            Step::Issue { signer, bundle } => {
                let signer = self.authorities.get(signer).ok_or(MintError::Key(*signer))?;
                let leaf = mint::leaf(signer, host, Dates::starting(self.facts.now, schedule.leaf))?;
                Some(Write::Serving { certificates: pick(bundle), leaf: Some(leaf) })
            }
        })
    }

    fn record(&self, keep: &[step::Authority], mint: bool, schedule: &Schedule) -> Result<Write, MintError> {
        let new = mint.then(|| mint::authority(Dates::starting(self.facts.now, schedule.authority))).transpose()?;
        let kept = keep.iter().filter_map(|kept| {
            let mut authority = self.authorities.get(&kept.id)?.clone();
            authority.key = authority.key.filter(|_| kept.keyed);
            Some(authority)
        });
        let all: Vec<Authority> = new.into_iter().chain(kept).collect();
        Ok(Write::Record { certificates: bundle(&all), keys: PrivateKey::new(keys(&all)) })
    }
}

/// What all webhooks have in common.
fn trusted(configuration: &WebhookConfiguration) -> Option<Authorities> {
    let mut bundles = configuration.ca_bundles.iter();
    let mut common = Authorities::read(bundles.next()?, b"");
    for other in bundles {
        let other = Authorities::read(other, b"");
        let there = |authority: &Authority| other.found.iter().any(|it| it.id == authority.id);
        common.foreign |= other.foreign || other.found.len() != common.found.len() || !common.found.iter().all(there);
        common.found.retain(there);
    }
    Some(common)
}

fn leaf(secret: &Secret, host: &str, authorities: &BTreeMap<Id, Authority>) -> Option<step::Leaf> {
    let leaf = Leaf::read(secret.get(TLS_CRT), secret.get(TLS_KEY))?;
    let issuer = authorities.values().find(|authority| authority.signed(&leaf)).map(|authority| authority.id);
    Some(step::Leaf { issuer, dates: leaf.dates, fit: leaf.fits(host) })
}
