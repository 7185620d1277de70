//! Whether calls fail.

use jiff::Timestamp;

use super::super::super::{CertificateSet, Leaf, Serving};
use super::World;
use super::object::Moment;

/// How late an apiserver may be in learning of another `caBundle`: less than an authority waits to be established.
pub(super) const APISERVER_LAG: i64 = 60;
/// How late a replica may be in showing another leaf: as late as it likes, short of the leaf's end.
const REPLICA_LAG: i64 = 200;

impl World {
    /// Whether some replica may not have seen the last leaf yet.
    pub(super) fn late(&self) -> bool {
        self.serving.seen(self.passed, REPLICA_LAG).len() > 1
    }

    /// Every leaf that some replica may show, and since when.
    pub(super) fn shown(&self) -> Vec<(i64, Leaf)> {
        self.held().into_iter().filter(|(_, leaf)| self.good(leaf, self.passed)).collect()
    }

    /// Whether a replica holds a leaf of which the clock, set back, says that it is not good yet.
    pub(super) fn early(&self) -> bool {
        self.held().iter().any(|(_, leaf)| leaf.dates.not_before > self.time())
    }

    /// Every leaf that some replica may hold, and since when: the last that it could take, and those that it may be late
    /// for.
    fn held(&self) -> Vec<(i64, Leaf)> {
        let late = self.serving.seen(self.passed, REPLICA_LAG);
        let before = &self.serving.past[..self.serving.past.len() - late.len()];
        let mut held: Vec<(i64, Leaf)> = late.iter().filter_map(taken).collect();
        if taken(&late[0]).is_none() {
            held.extend(before.iter().rev().find_map(taken));
        }
        held
    }

    /// Whether leaf and authority were good when so many seconds had passed.
    fn good(&self, leaf: &Leaf, passed: i64) -> bool {
        let now = Timestamp::from_second(self.clock + passed).unwrap();
        let issuer = leaf.issuer.and_then(|issuer| self.minted.get(&issuer));
        leaf.dates.hold(now) && issuer.is_some_and(|dates| dates.hold(now))
    }

    /// A leaf that is shown and not trusted, if there is one.
    pub(in super::super) fn failing(&self) -> Option<String> {
        let shown = self.shown();
        let used = self.trusted.seen(self.passed, APISERVER_LAG);
        let until = used.iter().skip(1).map(|next| next.since).chain([i64::MAX]);
        used.iter().zip(until).filter(|(moment, _)| moment.ours).find_map(|(moment, until)| {
            let set = moment.value.as_ref()?;
            let failing = |(since, leaf): &&(i64, Leaf)| {
                // To those who are late for a new leaf the one before would do, if it is good still.
                !trusts(set, leaf) && (*since < until || self.replaces(*since, set))
            };
            let (since, leaf) = shown.iter().find(failing)?;
            Some(format!("{leaf:?} since {since} is not trusted by {moment:?} at {}", self.passed))
        })
    }

    /// Whether a leaf that came at `since` took the place of one that was good and trusted by `set`.
    fn replaces(&self, since: i64, set: &CertificateSet) -> bool {
        let before = self.serving.past.iter().filter_map(taken).rfind(|(before, _)| *before < since);
        before.is_some_and(|(_, leaf)| self.good(&leaf, since) && trusts(set, &leaf))
    }
}

/// The leaf that replicas take from there, if they do.
fn taken(moment: &Moment<Serving>) -> Option<(i64, Leaf)> {
    let serving = moment.value.as_ref()?;
    let leaf = serving.leaf.filter(|leaf| leaf.fit && trusts(&serving.bundle, leaf))?;
    Some((moment.since, leaf))
}

pub(super) fn trusts(set: &CertificateSet, leaf: &Leaf) -> bool {
    set.authorities.iter().any(|it| Some(it.id) == leaf.issuer)
}
