//! The invariant: no call fails.

use jiff::Timestamp;

use super::super::super::{CertificateFacts, CertificateSet, ServingSecret};
use super::World;
use super::object::Revision;
use crate::certs::Validity;

/// Maximum delay in seconds until an apiserver uses a new `caBundle`: less than the time until a CA is established.
pub(super) const APISERVER_LAG: i64 = 60;
/// Maximum delay in seconds until a replica loads a new certificate; shorter than the time from renewal to expiry.
const REPLICA_LAG: i64 = 200;

impl World {
    /// Returns true if a replica may not have loaded the current certificate yet.
    pub(super) fn replicas_lag(&self) -> bool {
        self.serving_secret.visible(self.elapsed, REPLICA_LAG).len() > 1
    }

    /// Returns the valid certificates that a replica may serve, and since when.
    pub(super) fn served(&self) -> Vec<(i64, CertificateFacts)> {
        self.loaded().into_iter().filter(|(_, certificate)| self.is_valid(certificate, self.elapsed)).collect()
    }

    /// Returns true if a replica may have loaded a certificate that is not yet valid, or whose CA is not, because the clock was
    /// set back.
    pub(super) fn has_future_certificate(&self) -> bool {
        let is_future = |validity: &Validity| validity.not_before > self.time();
        self.loaded().iter().any(|(_, certificate)| {
            let issuer = certificate.issuer.and_then(|issuer| self.issued.get(&issuer));
            is_future(&certificate.validity) || issuer.is_some_and(is_future)
        })
    }

    /// Returns the certificates that a replica may have loaded, and since when: the last usable one before the delay,
    /// and all later ones.
    fn loaded(&self) -> Vec<(i64, CertificateFacts)> {
        let recent = self.serving_secret.visible(self.elapsed, REPLICA_LAG);
        let before = &self.serving_secret.history[..self.serving_secret.history.len() - recent.len()];
        let mut loaded: Vec<(i64, CertificateFacts)> = recent.iter().filter_map(loaded_certificate).collect();
        if loaded_certificate(&recent[0]).is_none() {
            loaded.extend(before.iter().rev().find_map(loaded_certificate));
        }
        loaded
    }

    /// Returns true if certificate and CA were valid after `elapsed` seconds.
    fn is_valid(&self, certificate: &CertificateFacts, elapsed: i64) -> bool {
        let now = Timestamp::from_second(self.clock_offset + elapsed).unwrap();
        let issuer = certificate.issuer.and_then(|issuer| self.issued.get(&issuer));
        certificate.validity.contains(now) && issuer.is_some_and(|validity| validity.contains(now))
    }

    /// Describes a certificate that is served but not trusted, if there is one.
    pub(in super::super) fn untrusted_certificate(&self) -> Option<String> {
        let served = self.served();
        let used = self.ca_bundle.visible(self.elapsed, APISERVER_LAG);
        let until = used.iter().skip(1).map(|next| next.since).chain([i64::MAX]);
        used.iter().zip(until).filter(|(revision, _)| revision.by_leader).find_map(|(revision, until)| {
            let set = revision.value.as_ref()?;
            let untrusted = |(since, certificate): &&(i64, CertificateFacts)| {
                // A replica that lags behind may still serve the previous certificate, if that is valid and trusted.
                !trusts(set, certificate) && (*since < until || self.replaces(*since, set))
            };
            let (since, certificate) = served.iter().find(untrusted)?;
            Some(format!("{certificate:?} since {since} is not trusted by {revision:?} at {}", self.elapsed))
        })
    }

    /// Returns true if the certificate loaded at `since` replaced a valid one that `set` trusts.
    fn replaces(&self, since: i64, set: &CertificateSet) -> bool {
        let before =
            self.serving_secret.history.iter().filter_map(loaded_certificate).rfind(|(before, _)| *before < since);
        before.is_some_and(|(_, certificate)| self.is_valid(&certificate, since) && trusts(set, &certificate))
    }
}

/// Returns the certificate that replicas load from this revision, if it is usable.
fn loaded_certificate(revision: &Revision<ServingSecret>) -> Option<(i64, CertificateFacts)> {
    let secret = revision.value.as_ref()?;
    let certificate =
        secret.certificate.filter(|certificate| certificate.matches_service && trusts(&secret.bundle, certificate))?;
    Some((revision.since, certificate))
}

pub(super) fn trusts(set: &CertificateSet, certificate: &CertificateFacts) -> bool {
    set.cas.iter().any(|ca| Some(ca.id) == certificate.issuer)
}
