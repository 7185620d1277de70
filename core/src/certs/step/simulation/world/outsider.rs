//! What outsiders do to the objects.

use std::collections::BTreeSet;

use super::super::super::{CertificateSet, Id, Serving};
use super::World;
use super::verdict::{APISERVER_LAG, trusts};

/// What outsiders do.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Act {
    WipeRecord,
    SpoilRecord,
    RestoreRecord,
    DeleteRecord,
    WipeServing,
    SpoilServing,
    RestoreServing,
    DeleteServing,
    WipeTrusted,
    ReplaceTrusted,
    Unregister,
    /// What an upgrade of the chart does: what is missing is made again, empty.
    Install,
}

impl Act {
    pub(in super::super) const ALL: [Self; 12] = [
        Self::WipeRecord,
        Self::SpoilRecord,
        Self::RestoreRecord,
        Self::DeleteRecord,
        Self::WipeServing,
        Self::SpoilServing,
        Self::RestoreServing,
        Self::DeleteServing,
        Self::WipeTrusted,
        Self::ReplaceTrusted,
        Self::Unregister,
        Self::Install,
    ];
}

impl World {
    /// Does what outsiders do, unless nobody could help: as long as every authority whose leaf is shown is still known
    /// somewhere, and what comes out of a backup is trusted still, by apiservers that are late too.
    pub(in super::super) fn outsider(&mut self, act: Act) {
        let spoilt = || Some(CertificateSet { authorities: Vec::new(), foreign: true });
        let (record, serving, trusted) = (self.record.now(), self.serving.now(), self.trusted.now());
        let (mut record, mut serving, mut trusted) = (record.cloned(), serving.cloned(), trusted.cloned());
        let early = |length: usize| length / 2;
        match act {
            Act::WipeRecord => record = Some(CertificateSet::default()),
            Act::SpoilRecord => record = spoilt(),
            Act::RestoreRecord => record.clone_from(&self.record.past[early(self.record.past.len())].value),
            Act::DeleteRecord => record = None,
            Act::WipeServing => serving = Some(Serving::default()),
            Act::SpoilServing => {
                serving =
                    Some(Serving { leaf: None, bundle: CertificateSet { authorities: Vec::new(), foreign: true } });
            }
            Act::RestoreServing => serving.clone_from(&self.serving.past[early(self.serving.past.len())].value),
            Act::DeleteServing => serving = None,
            Act::WipeTrusted => trusted = Some(CertificateSet::default()),
            Act::ReplaceTrusted => trusted = spoilt(),
            Act::Unregister => trusted = None,
            Act::Install => return self.install(),
        }
        let sets = [&record, &trusted].into_iter().flatten().chain(serving.iter().map(|serving| &serving.bundle));
        let known: BTreeSet<Id> = sets.flat_map(|set| &set.authorities).map(|it| it.id).collect();
        if !self.shown().iter().all(|(_, leaf)| leaf.issuer.is_some_and(|issuer| known.contains(&issuer))) {
            return;
        }
        let restored = serving.as_ref().and_then(|serving| serving.leaf.filter(|leaf| trusts(&serving.bundle, leaf)));
        let late = self.trusted.seen(self.passed, APISERVER_LAG).iter().filter_map(|moment| moment.value.as_ref());
        if serving.as_ref() != self.serving.now()
            && restored.is_some_and(|leaf| late.chain(&trusted).any(|set| !trusts(set, &leaf)))
        {
            return;
        }
        // A leaf that is not good yet is given up, and is good again later: somebody must replace it first.
        if self.early() {
            return;
        }
        // Nor a leaf that is being signed by an authority that nobody will have recorded.
        if self.leaders.iter().any(|leader| leader.record.is_some()) {
            record = self.record.now().cloned();
        }
        if record.as_ref() != self.record.now() {
            self.record.set(self.passed, record, false);
        }
        if serving.as_ref() != self.serving.now() {
            self.serving.set(self.passed, serving, false);
        }
        if trusted.as_ref() != self.trusted.now() {
            self.trusted.set(self.passed, trusted, false);
        }
    }

    /// Makes again what is missing, empty.
    pub(in super::super) fn install(&mut self) {
        if self.record.now().is_none() {
            self.record.set(self.passed, Some(CertificateSet::default()), false);
        }
        if self.serving.now().is_none() {
            self.serving.set(self.passed, Some(Serving::default()), false);
        }
        if self.trusted.now().is_none() {
            self.trusted.set(self.passed, Some(CertificateSet::default()), false);
        }
    }
}
