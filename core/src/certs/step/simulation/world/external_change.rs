//! Changes by other clients.

use std::collections::BTreeSet;

use super::super::super::{CertificateId, CertificateSet, ServingSecret};
use super::World;
use super::invariants::{APISERVER_LAG, trusts};

/// A change by another client.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum ExternalChange {
    WipeCaSecret,
    CorruptCaSecret,
    RestoreCaSecret,
    DeleteCaSecret,
    WipeServingSecret,
    CorruptServingSecret,
    RestoreServingSecret,
    DeleteServingSecret,
    WipeCaBundle,
    ReplaceCaBundle,
    DeleteWebhookConfiguration,
    /// An upgrade of the chart recreates missing objects, empty.
    Install,
}

impl ExternalChange {
    pub(in super::super) const ALL: [Self; 12] = [
        Self::WipeCaSecret,
        Self::CorruptCaSecret,
        Self::RestoreCaSecret,
        Self::DeleteCaSecret,
        Self::WipeServingSecret,
        Self::CorruptServingSecret,
        Self::RestoreServingSecret,
        Self::DeleteServingSecret,
        Self::WipeCaBundle,
        Self::ReplaceCaBundle,
        Self::DeleteWebhookConfiguration,
        Self::Install,
    ];
}

impl World {
    /// Applies `change`, unless recovery would be impossible: the CA of every served certificate must remain somewhere,
    /// and a restored certificate must still be trusted, even by delayed apiservers.
    pub(in super::super) fn apply_external(&mut self, change: ExternalChange) {
        let corrupted = || Some(CertificateSet { cas: Vec::new(), foreign: true });
        let (ca_secret, serving_secret, ca_bundle) =
            (self.ca_secret.current(), self.serving_secret.current(), self.ca_bundle.current());
        let (mut ca_secret, mut serving_secret, mut ca_bundle) =
            (ca_secret.cloned(), serving_secret.cloned(), ca_bundle.cloned());
        let backup_index = |length: usize| length / 2;
        match change {
            ExternalChange::WipeCaSecret => ca_secret = Some(CertificateSet::default()),
            ExternalChange::CorruptCaSecret => ca_secret = corrupted(),
            ExternalChange::RestoreCaSecret => {
                ca_secret.clone_from(&self.ca_secret.history[backup_index(self.ca_secret.history.len())].value);
            }
            ExternalChange::DeleteCaSecret => ca_secret = None,
            ExternalChange::WipeServingSecret => serving_secret = Some(ServingSecret::default()),
            ExternalChange::CorruptServingSecret => {
                serving_secret = Some(ServingSecret {
                    certificate: None,
                    bundle: CertificateSet { cas: Vec::new(), foreign: true },
                });
            }
            ExternalChange::RestoreServingSecret => {
                serving_secret
                    .clone_from(&self.serving_secret.history[backup_index(self.serving_secret.history.len())].value);
            }
            ExternalChange::DeleteServingSecret => serving_secret = None,
            ExternalChange::WipeCaBundle => ca_bundle = Some(CertificateSet::default()),
            ExternalChange::ReplaceCaBundle => ca_bundle = corrupted(),
            ExternalChange::DeleteWebhookConfiguration => ca_bundle = None,
            ExternalChange::Install => return self.install(),
        }
        let sets =
            [&ca_secret, &ca_bundle].into_iter().flatten().chain(serving_secret.iter().map(|secret| &secret.bundle));
        let known: BTreeSet<CertificateId> = sets.flat_map(|set| &set.cas).map(|ca| ca.id).collect();
        if !self
            .served()
            .iter()
            .all(|(_, certificate)| certificate.issuer.is_some_and(|issuer| known.contains(&issuer)))
        {
            return;
        }
        let restored = serving_secret
            .as_ref()
            .and_then(|secret| secret.certificate.filter(|certificate| trusts(&secret.bundle, certificate)));
        let delayed =
            self.ca_bundle.visible(self.elapsed, APISERVER_LAG).iter().filter_map(|revision| revision.value.as_ref());
        if serving_secret.as_ref() != self.serving_secret.current()
            && restored.is_some_and(|certificate| delayed.chain(&ca_bundle).any(|set| !trusts(set, &certificate)))
        {
            return;
        }
        // A certificate that is not yet valid, or whose CA is not, because the clock was set back, must be replaced first.
        if self.has_future_certificate() {
            return;
        }
        // A leader that has read the CA Secret may sign with a CA that the change would remove.
        if self.leaders.iter().any(|leader| leader.ca_secret.is_some()) {
            ca_secret = self.ca_secret.current().cloned();
        }
        if ca_secret.as_ref() != self.ca_secret.current() {
            self.ca_secret.set(self.elapsed, ca_secret, false);
        }
        if serving_secret.as_ref() != self.serving_secret.current() {
            self.serving_secret.set(self.elapsed, serving_secret, false);
        }
        if ca_bundle.as_ref() != self.ca_bundle.current() {
            self.ca_bundle.set(self.elapsed, ca_bundle, false);
        }
    }

    /// Recreates missing objects, empty.
    pub(in super::super) fn install(&mut self) {
        if self.ca_secret.current().is_none() {
            self.ca_secret.set(self.elapsed, Some(CertificateSet::default()), false);
        }
        if self.serving_secret.current().is_none() {
            self.serving_secret.set(self.elapsed, Some(ServingSecret::default()), false);
        }
        if self.ca_bundle.current().is_none() {
            self.ca_bundle.set(self.elapsed, Some(CertificateSet::default()), false);
        }
    }
}
