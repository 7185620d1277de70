//! Decides the next step of a rotation from the state of the cluster: one write, or none.
//!
//! A CA goes through four states. Each can be derived from the cluster, so that any leader can continue:
//!
//! 1. stored: its certificate and key are in the CA Secret, along with the previous CAs;
//! 2. trusted: its certificate is in the `caBundle` of every webhook, along with the previous CAs;
//! 3. signing: it has been trusted long enough for every apiserver to use it; it signs the next serving certificate;
//! 4. retired: a newer CA signs. Its key is removed at once, its certificate when it expires; by then, all serving
//!    certificates signed by it have expired too.
//!
//! The controller restores a CA that it finds in one of the three objects (CA Secret, serving Secret, webhook
//! configuration) in all of them until the CA expires. So no CA is lost while one of its serving certificates may be in
//! use, even if an object is wiped, restored from a backup, or written by two leaders at once.
//!
//! The exception is a clock that is set back by more than certificates are back-dated: a CA that is not yet valid is replaced
//! like one that has expired, and calls fail until replicas have loaded the new serving certificate.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use super::schedule::Schedule;
use super::validity::Validity;

/// Identifies a certificate: SHA-256 of its DER encoding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CertificateId(pub [u8; 32]);

/// The facts about a CA that decisions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaFacts {
    /// ID of its certificate.
    pub id: CertificateId,
    /// Validity period.
    pub validity: Validity,
    /// True if its private key is stored too.
    pub has_key: bool,
}

/// The CA certificates in one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateSet {
    /// CAs issued by trainmesh.
    pub cas: Vec<CaFacts>,
    /// True if the object contains anything else.
    pub foreign: bool,
}

/// The facts about a serving certificate that decisions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// CA that signed it, if that is one of those found.
    pub issuer: Option<CertificateId>,
    /// Validity period.
    pub validity: Validity,
    /// True if it is a server certificate for the webhook's Service.
    pub matches_service: bool,
}

/// Content of the serving Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServingSecret {
    /// The serving certificate, if it matches its key.
    pub certificate: Option<CertificateFacts>,
    /// CA certificates stored with it.
    pub bundle: CertificateSet,
}

/// The state of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationFacts {
    /// Current time.
    pub now: Timestamp,
    /// Content of the CA Secret, if it exists.
    pub ca_secret: Option<CertificateSet>,
    /// Content of the serving Secret, if it exists.
    pub serving_secret: Option<ServingSecret>,
    /// CAs that are in the `caBundle` of every webhook, if the webhook configuration exists.
    pub ca_bundle: Option<CertificateSet>,
    /// CAs that have been trusted long enough for every apiserver to use them.
    pub established: BTreeSet<CertificateId>,
}

/// The next step. Steps are idempotent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RotationStep {
    /// Replace the content of the CA Secret.
    StoreCas {
        /// CAs to keep, with their keys where `has_key` is set.
        keep: Vec<CaFacts>,
        /// True to generate and add a new CA.
        generate: bool,
    },
    /// Write these CAs to the `caBundle` of every webhook.
    UpdateCaBundle(Vec<CertificateId>),
    /// Issue a serving certificate and write it to the serving Secret.
    IssueCertificate {
        /// CA that signs it.
        signer: CertificateId,
        /// CAs to store with it.
        bundle: Vec<CertificateId>,
    },
    /// Write these CAs to the serving Secret; the serving certificate stays.
    UpdateServingBundle(Vec<CertificateId>),
    /// Do nothing until the cluster changes or time passes.
    Idle,
}

/// Returns the next step.
#[must_use]
pub fn next_step(facts: &RotationFacts, schedule: &Schedule) -> RotationStep {
    let RotationFacts { now, ca_secret, serving_secret, ca_bundle, established } = facts;
    let certificate = serving_secret.as_ref().and_then(|secret| secret.certificate);
    let known = known_cas(facts, certificate);
    let ids: Vec<CertificateId> = known.iter().map(|ca| ca.id).collect();

    if let Some(ca_secret) = ca_secret {
        let generate = !known.iter().any(|ca| ca.has_key && !ca.validity.is_renewal_due(*now, schedule.ca_lifetime));
        if generate || ca_secret.foreign || sorted(&ca_secret.cas) != known {
            return RotationStep::StoreCas { keep: known, generate };
        }
    }
    if let Some(ca_bundle) = ca_bundle
        && !ids.is_empty()
        && !ca_bundle.contains_exactly(&ids)
    {
        return RotationStep::UpdateCaBundle(ids);
    }
    let Some(serving_secret) = serving_secret else { return RotationStep::Idle };
    let usable = certificate.filter(|certificate| certificate.matches_service && certificate.validity.contains(*now));
    let issuer = usable.and_then(|certificate| known.iter().find(|ca| Some(ca.id) == certificate.issuer));
    let signer = known.iter().filter(|ca| ca.has_key).find(|ca| {
        // The issuer of the current certificate is trusted already, and the only CA has no predecessor to wait for.
        established.contains(&ca.id)
            || certificate.and_then(|certificate| certificate.issuer) == Some(ca.id)
            || known.len() == 1
    });
    let due = usable.is_none_or(|certificate| certificate.validity.is_renewal_due(*now, schedule.certificate_lifetime));
    if let Some(signer) = signer
        && (due || issuer.is_none_or(|issuer| issuer.validity.not_before < signer.validity.not_before))
    {
        return RotationStep::IssueCertificate { signer: signer.id, bundle: ids };
    }
    if issuer.is_some() && !serving_secret.bundle.contains_exactly(&ids) {
        RotationStep::UpdateServingBundle(ids)
    } else {
        RotationStep::Idle
    }
}

/// Returns the valid CAs of all three objects, newest first. `has_key` is set where the key is stored and still needed.
fn known_cas(facts: &RotationFacts, certificate: Option<CertificateFacts>) -> Vec<CaFacts> {
    let stored = facts.ca_secret.iter().flat_map(|set| &set.cas).copied();
    // Only a key in the CA Secret counts.
    let elsewhere = facts.serving_secret.iter().map(|secret| &secret.bundle).chain(&facts.ca_bundle);
    let elsewhere = elsewhere.flat_map(|set| &set.cas).map(|ca| CaFacts { has_key: false, ..*ca });
    let mut known: Vec<CaFacts> = Vec::new();
    for ca in stored.chain(elsewhere).filter(|ca| ca.validity.contains(facts.now)) {
        if known.iter().all(|other| other.id != ca.id) {
            known.push(ca);
        }
    }
    let signing = certificate
        .and_then(|certificate| known.iter().find(|ca| ca.has_key && Some(ca.id) == certificate.issuer).copied());
    if let Some(signing) = signing {
        for ca in &mut known {
            ca.has_key &= ca.validity.not_before >= signing.validity.not_before;
        }
    }
    sorted(&known)
}

/// Sorts CAs, newest first.
fn sorted(cas: &[CaFacts]) -> Vec<CaFacts> {
    let mut sorted = cas.to_vec();
    sorted.sort_by_key(|ca| (std::cmp::Reverse(ca.validity.not_before), ca.id));
    sorted
}

impl CertificateSet {
    /// Returns true if the object contains exactly these CAs.
    fn contains_exactly(&self, ids: &[CertificateId]) -> bool {
        let found: BTreeSet<CertificateId> = self.cas.iter().map(|ca| ca.id).collect();
        !self.foreign && found == ids.iter().copied().collect()
    }
}

impl RotationFacts {
    /// Returns the IDs of the CAs that every webhook's `caBundle` contains.
    pub fn trusted_ids(&self) -> impl Iterator<Item = CertificateId> {
        self.ca_bundle.iter().flat_map(|CertificateSet { cas, .. }| cas).map(|ca| ca.id)
    }
}

impl fmt::Debug for CertificateId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Eight digits distinguish more certificates than a cluster contains at the same time.
        self.0.iter().take(4).try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Display for CertificateId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
