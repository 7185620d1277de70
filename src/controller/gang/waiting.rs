//! Gangs that wait for nodes, and whose scheduler does not try them again on its own.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::members::GangKey;

/// Time between two changes of a `PodGroup` for such a gang: for so long, nodes may be idle while it waits.
const PERIOD: SignedDuration = SignedDuration::from_secs(30);

/// When the scheduler was last made to try pods again. The change of one `PodGroup` suffices for the pods of all.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    due: Option<Timestamp>,
    last: Option<GangKey>,
}

impl Waiting {
    /// Returns the gang whose `PodGroup` is to be changed now, of those that wait. Each has its turn: a policy may deny the change
    /// of one.
    pub(super) fn select<'a>(&mut self, gangs: &BTreeSet<&'a GangKey>, now: Timestamp) -> Option<&'a GangKey> {
        let Some(first) = gangs.first() else {
            self.due = None;
            return None;
        };
        let next = now.saturating_add(PERIOD).unwrap_or(Timestamp::MAX);
        if now < *self.due.get_or_insert(next) {
            return None;
        }
        self.due = Some(next);
        let after_last = self.last.as_ref().and_then(|last| gangs.iter().find(|key| ***key > *last));
        let selected = *after_last.unwrap_or(first);
        self.last = Some(selected.clone());
        Some(selected)
    }

    /// Returns when to select again.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainmesh_core::gang::GangMode;

    fn key(name: &str) -> GangKey {
        GangKey { namespace: "team-a".to_owned(), mode: GangMode::Coscheduling, name: name.to_owned() }
    }

    #[test]
    fn waiting_gangs_have_their_turns() {
        let mut waiting = Waiting::default();
        // Seconds, the gangs that wait, and that whose object is changed.
        for (second, gangs, expected) in [
            (0, "b a", None),
            (29, "b a", None),
            (30, "b a", Some("a")),
            (31, "b a", None),
            (60, "b a c", Some("b")),
            (90, "a c", Some("c")),
            (200, "a c", Some("a")),
            (210, "", None),
            (230, "a", None),
            (259, "a", None),
            (260, "a", Some("a")),
        ] {
            let gangs: Vec<GangKey> = gangs.split_whitespace().map(key).collect();
            let now = Timestamp::from_second(second).unwrap();
            let selected = waiting.select(&gangs.iter().collect(), now).map(|key| key.name.as_str());
            assert_eq!(selected, expected, "{second}");
            assert_eq!(waiting.next().is_some_and(|next| next > now), !gangs.is_empty(), "{second}");
        }
    }
}
