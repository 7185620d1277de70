//! Converts stored objects to facts, and steps to writes.

use std::collections::{BTreeMap, BTreeSet};

use super::PrivateKey;
use super::issue::{self, IssueError};
use super::read::{Authorities, Authority, ServingCertificate, bundle, keys};
use super::store::{StoreWrite, StoredCertificates};
use trainmesh_core::certs::step::{self, CertificateId, RotationFacts, RotationStep, ServingSecret};
use trainmesh_core::certs::{Schedule, Validity};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{Secret, WebhookConfiguration};

/// The parsed content of the store.
#[derive(Debug)]
pub(super) struct State {
    facts: RotationFacts,
    /// CAs of all places, with the keys that are in the CA Secret.
    authorities: BTreeMap<CertificateId, Authority>,
}

impl State {
    /// Parses `stored` for a Service with the DNS name `host`.
    pub(super) fn read(stored: &StoredCertificates, host: &str) -> Self {
        let StoredCertificates { webhook_configuration, ca_secret, serving_secret, now } = stored;
        let stored_cas = ca_secret.as_ref().map(|secret| Authorities::read(secret.get(CA_CRT), secret.get(CA_KEY)));
        let serving_bundle = serving_secret.as_ref().map(|secret| Authorities::read(secret.get(CA_CRT), b""));
        let ca_bundle = webhook_configuration.as_ref().and_then(common_ca_bundle);
        let mut authorities = BTreeMap::new();
        for place in [&stored_cas, &serving_bundle, &ca_bundle].into_iter().flatten() {
            for authority in &place.found {
                authorities.entry(authority.id).or_insert_with(|| authority.clone());
            }
        }
        let certificate = serving_secret.as_ref().and_then(|secret| certificate_facts(secret, host, &authorities));
        let facts = RotationFacts {
            now: *now,
            ca_secret: stored_cas.as_ref().map(Authorities::facts),
            serving_secret: serving_bundle.as_ref().map(|it| ServingSecret { certificate, bundle: it.facts() }),
            ca_bundle: ca_bundle.as_ref().map(Authorities::facts),
            established: BTreeSet::new(),
        };
        Self { facts, authorities }
    }

    /// Returns the facts for the decision.
    pub(super) fn facts(&self) -> &RotationFacts {
        &self.facts
    }

    /// Returns the next step, given the CAs that are established.
    pub(super) fn next(&mut self, established: BTreeSet<CertificateId>, schedule: &Schedule) -> RotationStep {
        self.facts.established = established;
        step::next(&self.facts, schedule)
    }

    /// Returns the write that carries out `step`, with new certificates where the step requires them.
    pub(super) fn write(
        &self,
        step: &RotationStep,
        schedule: &Schedule,
        host: &str,
    ) -> Result<Option<StoreWrite>, IssueError> {
        let select = |ids: &[CertificateId]| bundle(ids.iter().filter_map(|id| self.authorities.get(id)));
        Ok(match step {
            RotationStep::Idle => None,
            RotationStep::StoreAuthorities { keep, generate } => {
                Some(self.store_authorities(keep, *generate, schedule)?)
            }
            RotationStep::UpdateCaBundle(ids) => Some(StoreWrite::CaBundle { certificates: select(ids) }),
            RotationStep::UpdateServingBundle(ids) => {
                Some(StoreWrite::Serving { certificates: select(ids), pair: None })
            }
            RotationStep::IssueCertificate { signer, bundle } => {
                let signer = self.authorities.get(signer).ok_or(IssueError::Key(*signer))?;
                let validity = Validity::from_lifetime(self.facts.now, schedule.certificate_lifetime);
                let pair = issue::serving_certificate(signer, host, validity)?;
                Some(StoreWrite::Serving { certificates: select(bundle), pair: Some(pair) })
            }
        })
    }

    fn store_authorities(
        &self,
        keep: &[step::AuthorityFacts],
        generate: bool,
        schedule: &Schedule,
    ) -> Result<StoreWrite, IssueError> {
        let validity = Validity::from_lifetime(self.facts.now, schedule.ca_lifetime);
        let new = generate.then(|| issue::authority(validity)).transpose()?;
        let kept = keep.iter().filter_map(|kept| {
            let mut authority = self.authorities.get(&kept.id)?.clone();
            authority.key = authority.key.filter(|_| kept.has_key);
            Some(authority)
        });
        let all: Vec<Authority> = new.into_iter().chain(kept).collect();
        Ok(StoreWrite::Authorities { certificates: bundle(&all), keys: PrivateKey::new(keys(&all)) })
    }
}

/// Returns the CAs that the `caBundle` of every webhook contains.
fn common_ca_bundle(configuration: &WebhookConfiguration) -> Option<Authorities> {
    let mut bundles = configuration.ca_bundles.iter();
    let mut common = Authorities::read(bundles.next()?, b"");
    for other in bundles {
        let other = Authorities::read(other, b"");
        let in_other = |authority: &Authority| other.found.iter().any(|it| it.id == authority.id);
        common.foreign |=
            other.foreign || other.found.len() != common.found.len() || !common.found.iter().all(in_other);
        common.found.retain(in_other);
    }
    Some(common)
}

fn certificate_facts(
    secret: &Secret,
    host: &str,
    authorities: &BTreeMap<CertificateId, Authority>,
) -> Option<step::CertificateFacts> {
    let certificate = ServingCertificate::read(secret.get(TLS_CRT), secret.get(TLS_KEY))?;
    let issuer = authorities.values().find(|authority| authority.has_signed(&certificate));
    Some(step::CertificateFacts {
        issuer: issuer.map(|authority| authority.id),
        validity: certificate.validity,
        matches_service: certificate.matches_host(host),
    })
}
