//! Converts stored objects to facts, and steps to writes.

use std::collections::{BTreeMap, BTreeSet};

use super::PrivateKey;
use super::issue::{self, IssueError};
use super::read::{CaSet, CertificateAuthority, ServingCertificate, bundle, keys};
use super::store::{StoreWrite, StoredCertificates};
use trainmesh_core::certs::step::{self, CertificateId, RotationFacts, RotationStep, ServingSecret};
use trainmesh_core::certs::{Schedule, Validity};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{Secret, WebhookConfiguration};

/// The parsed content of the store.
#[derive(Debug)]
pub(super) struct State {
    facts: RotationFacts,
    /// CAs of both Secrets and the `caBundle`, with the keys in the CA Secret.
    cas: BTreeMap<CertificateId, CertificateAuthority>,
}

impl State {
    /// Parses `stored` for a Service with the DNS name `host`.
    pub(super) fn read(stored: &StoredCertificates, host: &str) -> Self {
        let StoredCertificates { webhook_configuration, ca_secret, serving_secret, now } = stored;
        let stored_cas = ca_secret.as_ref().map(|secret| CaSet::read(secret.get(CA_CRT), secret.get(CA_KEY)));
        let serving_bundle = serving_secret.as_ref().map(|secret| CaSet::read(secret.get(CA_CRT), b""));
        let ca_bundle = webhook_configuration.as_ref().and_then(common_ca_bundle);
        let mut cas = BTreeMap::new();
        for source in [&stored_cas, &serving_bundle, &ca_bundle].into_iter().flatten() {
            for ca in &source.cas {
                cas.entry(ca.id).or_insert_with(|| ca.clone());
            }
        }
        let certificate = serving_secret.as_ref().and_then(|secret| certificate_facts(secret, host, &cas));
        let facts = RotationFacts {
            now: *now,
            ca_secret: stored_cas.as_ref().map(CaSet::facts),
            serving_secret: serving_bundle.as_ref().map(|bundle| ServingSecret { certificate, bundle: bundle.facts() }),
            ca_bundle: ca_bundle.as_ref().map(CaSet::facts),
            established: BTreeSet::new(),
        };
        Self { facts, cas }
    }

    /// Returns the facts for the decision.
    pub(super) fn facts(&self) -> &RotationFacts {
        &self.facts
    }

    /// Returns the next step, given the CAs that are established.
    pub(super) fn next_step(&mut self, established: BTreeSet<CertificateId>, schedule: &Schedule) -> RotationStep {
        self.facts.established = established;
        step::next_step(&self.facts, schedule)
    }

    /// Returns the write that carries out `step`, with new certificates where the step requires them.
    pub(super) fn plan_write(
        &self,
        step: &RotationStep,
        schedule: &Schedule,
        host: &str,
    ) -> Result<Option<StoreWrite>, IssueError> {
        let select = |ids: &[CertificateId]| bundle(ids.iter().filter_map(|id| self.cas.get(id)));
        Ok(match step {
            RotationStep::Idle => None,
            RotationStep::StoreCas { keep, generate } => Some(self.store_cas(keep, *generate, schedule)?),
            RotationStep::UpdateCaBundle(ids) => Some(StoreWrite::CaBundle { certificates: select(ids) }),
            RotationStep::UpdateServingBundle(ids) => {
                Some(StoreWrite::Serving { certificates: select(ids), pair: None })
            }
            RotationStep::IssueCertificate { signer, bundle } => {
                let signer = self.cas.get(signer).ok_or(IssueError::Key(*signer))?;
                let validity = Validity::from_lifetime(self.facts.now, schedule.certificate_lifetime);
                let pair = issue::serving_certificate(signer, host, validity)?;
                Some(StoreWrite::Serving { certificates: select(bundle), pair: Some(pair) })
            }
        })
    }

    fn store_cas(&self, keep: &[step::CaFacts], generate: bool, schedule: &Schedule) -> Result<StoreWrite, IssueError> {
        let validity = Validity::from_lifetime(self.facts.now, schedule.ca_lifetime);
        let new = generate.then(|| issue::ca(validity)).transpose()?;
        let kept = keep.iter().filter_map(|kept| {
            let mut ca = self.cas.get(&kept.id)?.clone();
            ca.key = ca.key.filter(|_| kept.has_key);
            Some(ca)
        });
        let all: Vec<CertificateAuthority> = new.into_iter().chain(kept).collect();
        Ok(StoreWrite::CaSecret { certificates: bundle(&all), keys: PrivateKey::new(keys(&all)) })
    }
}

/// Returns the CAs that the `caBundle` of every webhook contains.
fn common_ca_bundle(configuration: &WebhookConfiguration) -> Option<CaSet> {
    let mut bundles = configuration.ca_bundles.iter();
    let mut common = CaSet::read(bundles.next()?, b"");
    for other in bundles {
        let other = CaSet::read(other, b"");
        let in_other = |ca: &CertificateAuthority| other.cas.iter().any(|known| known.id == ca.id);
        common.foreign |= other.foreign || other.cas.len() != common.cas.len() || !common.cas.iter().all(in_other);
        common.cas.retain(in_other);
    }
    Some(common)
}

fn certificate_facts(
    secret: &Secret,
    host: &str,
    cas: &BTreeMap<CertificateId, CertificateAuthority>,
) -> Option<step::CertificateFacts> {
    let certificate = ServingCertificate::read(secret.get(TLS_CRT), secret.get(TLS_KEY))?;
    let issuer = cas.values().find(|ca| ca.has_signed(&certificate));
    Some(step::CertificateFacts {
        issuer: issuer.map(|ca| ca.id),
        validity: certificate.validity,
        matches_service: certificate.matches_host(host),
    })
}
