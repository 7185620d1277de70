//! The simulated cluster with its leaders and other clients. Certificates have an issuer ID instead of a signature.

mod external_change;
mod invariants;
mod object;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::super::{
    CaFacts, CertificateFacts, CertificateId, CertificateSet, RotationFacts, RotationStep, ServingSecret, next_step,
};
use crate::certs::{Schedule, Validity};

pub(super) use external_change::ExternalChange;
use object::Object;

/// Lifetimes in seconds. A CA is established after 75 s.
const CA_LIFETIME: u64 = 900;
const CERTIFICATE_LIFETIME: u64 = 450;

/// State of a leader: its memory, and what it has read in this round.
#[derive(Debug, Default)]
struct Leader {
    trusted_since: BTreeMap<CertificateId, i64>,
    ca_bundle: Option<(u64, Option<CertificateSet>)>,
    ca_secret: Option<(u64, Option<CertificateSet>)>,
    serving_secret: Option<(u64, Option<ServingSecret>)>,
}

/// State of the simulation.
#[derive(Debug)]
pub(super) struct World {
    /// Elapsed seconds.
    elapsed: i64,
    /// Unix time at the start, plus the jumps of the clock, in seconds.
    clock_offset: i64,
    issued: BTreeMap<CertificateId, Validity>,
    ca_secret: Object<CertificateSet>,
    serving_secret: Object<ServingSecret>,
    ca_bundle: Object<CertificateSet>,
    leaders: [Leader; 2],
}

impl Default for World {
    fn default() -> Self {
        Self {
            elapsed: 0,
            clock_offset: 1_800_000_000,
            issued: BTreeMap::new(),
            ca_secret: Object::default(),
            serving_secret: Object::default(),
            ca_bundle: Object::default(),
            leaders: Default::default(),
        }
    }
}

impl World {
    fn schedule() -> Schedule {
        Schedule::new(Duration::from_secs(CA_LIFETIME), Duration::from_secs(CERTIFICATE_LIFETIME)).unwrap()
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_second(self.clock_offset + self.elapsed).unwrap()
    }

    pub(super) fn pass(&mut self, seconds: i64) {
        self.elapsed += seconds;
    }

    pub(super) fn jump(&mut self, seconds: i64) {
        self.clock_offset += seconds;
    }

    pub(super) fn crash(&mut self, leader: usize) {
        self.leaders[leader] = Leader::default();
    }

    /// Lets a leader read its next object in the order of the real store (`caBundle`, CA Secret, serving Secret), or
    /// decide and write.
    pub(super) fn turn(&mut self, leader: usize) {
        let passed = self.elapsed;
        let leader = &mut self.leaders[leader];
        if leader.ca_bundle.is_none() {
            let ca_bundle = self.ca_bundle.current().cloned();
            let ids = ca_bundle.iter().flat_map(|set| &set.cas).map(|ca| ca.id);
            let before = std::mem::take(&mut leader.trusted_since);
            leader.trusted_since = ids.map(|id| (id, before.get(&id).copied().unwrap_or(passed))).collect();
            leader.ca_bundle = Some((self.ca_bundle.version, ca_bundle));
        } else if leader.ca_secret.is_none() {
            leader.ca_secret = Some((self.ca_secret.version, self.ca_secret.current().cloned()));
        } else if leader.serving_secret.is_none() {
            leader.serving_secret = Some((self.serving_secret.version, self.serving_secret.current().cloned()));
        } else if let (Some(ca_bundle), Some(ca_secret), Some(serving_secret)) =
            (leader.ca_bundle.take(), leader.ca_secret.take(), leader.serving_secret.take())
        {
            let overlap = i64::try_from(Self::schedule().overlap().as_secs()).unwrap();
            let established = leader
                .trusted_since
                .iter()
                .filter(|(_, since)| passed - **since >= overlap)
                .map(|(id, _)| *id)
                .collect();
            self.step(ca_bundle, ca_secret, serving_secret, established);
        }
    }

    fn step(
        &mut self,
        (ca_bundle_version, ca_bundle): (u64, Option<CertificateSet>),
        (ca_secret_version, ca_secret): (u64, Option<CertificateSet>),
        (serving_secret_version, serving_secret): (u64, Option<ServingSecret>),
        established: BTreeSet<CertificateId>,
    ) {
        let facts = RotationFacts { now: self.time(), ca_secret, serving_secret, ca_bundle, established };
        let set = |ids: Vec<CertificateId>| {
            let all = [&facts.ca_secret, &facts.ca_bundle].into_iter().flatten().flat_map(|set| &set.cas);
            let all = all.chain(facts.serving_secret.iter().flat_map(|secret| &secret.bundle.cas));
            let all: BTreeMap<CertificateId, CaFacts> =
                all.map(|ca| (ca.id, CaFacts { has_key: false, ..*ca })).collect();
            CertificateSet { cas: ids.iter().map(|id| all[id]).collect(), foreign: false }
        };
        match next_step(&facts, &Self::schedule()) {
            RotationStep::Idle => {}
            RotationStep::StoreCas { mut keep, generate } => {
                if generate {
                    let id = CertificateId([u8::try_from(self.issued.len() + 1).unwrap(); 32]);
                    let validity = Validity::from_lifetime(facts.now, Duration::from_secs(CA_LIFETIME));
                    self.issued.insert(id, validity);
                    keep.insert(0, CaFacts { id, validity, has_key: true });
                }
                self.ca_secret.write(ca_secret_version, self.elapsed, CertificateSet { cas: keep, foreign: false });
            }
            RotationStep::UpdateCaBundle(ids) => self.ca_bundle.write(ca_bundle_version, self.elapsed, set(ids)),
            RotationStep::IssueCertificate { signer, bundle } => {
                let ca = set(vec![signer]).cas[0];
                let validity =
                    Validity::from_lifetime(facts.now, Duration::from_secs(CERTIFICATE_LIFETIME)).clamp_to(ca.validity);
                let certificate = Some(CertificateFacts { issuer: Some(signer), validity, matches_service: true });
                self.serving_secret.write(
                    serving_secret_version,
                    self.elapsed,
                    ServingSecret { certificate, bundle: set(bundle) },
                );
            }
            RotationStep::UpdateServingBundle(ids) => {
                let certificate = facts.serving_secret.as_ref().and_then(|secret| secret.certificate);
                self.serving_secret.write(
                    serving_secret_version,
                    self.elapsed,
                    ServingSecret { certificate, bundle: set(ids) },
                );
            }
        }
    }

    /// Returns true if nothing is left to do and all replicas have loaded the current certificate.
    pub(super) fn converged(&self) -> bool {
        let lagging = self.replicas_lag();
        let (ca_secret, serving_secret, ca_bundle) =
            (self.ca_secret.current(), self.serving_secret.current(), self.ca_bundle.current());
        let established = ca_bundle.into_iter().flat_map(|set| &set.cas).map(|ca| ca.id).collect();
        let facts = RotationFacts {
            now: self.time(),
            ca_secret: ca_secret.cloned(),
            serving_secret: serving_secret.cloned(),
            ca_bundle: ca_bundle.cloned(),
            established,
        };
        let served = serving_secret
            .and_then(|secret| secret.certificate)
            .is_some_and(|certificate| certificate.validity.contains(facts.now));
        !lagging
            && served
            && ca_bundle.is_some()
            && ca_secret.is_some()
            && next_step(&facts, &Self::schedule()) == RotationStep::Idle
    }
}
