//! State that the controller keeps of a gang. It may lose it at any time: then missing pods are expected a little longer.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use trainmesh_core::gang::object::{GroupState, Member, Stage};

/// Time for which pods wait for their object without a finding. The controller creates it within seconds, or, if not all
/// pods appear, after a minute.
const PATIENCE: SignedDuration = SignedDuration::from_secs(90);

/// State of a gang.
#[derive(Debug, Default)]
pub(super) struct GangMemory {
    members: Vec<Member>,
    /// Time at which the members last changed.
    changed: Option<Timestamp>,
    /// Number of pods without a key, if it was determined since.
    without_key: Option<usize>,
    /// True if the missing object was reported.
    reported: bool,
}

/// Time after the last change at which a gang with missing pods is searched for pods without a key: operators create pods one
/// after another.
const SEARCH_DELAY: SignedDuration = SignedDuration::from_secs(3);

/// The pods of a gang, and when they last changed.
#[derive(Clone, Debug)]
pub(super) struct ObservedGang {
    pub(super) members: Vec<Member>,
    pub(super) changed: Timestamp,
    /// Time at which to search for pods without a key; `None` if that was done since the last change.
    pub(super) search_at: Option<Timestamp>,
}

impl GangMemory {
    /// Records the members.
    pub(super) fn observe(&mut self, members: Vec<Member>, now: Timestamp) -> ObservedGang {
        if self.changed.is_none() || self.members != members {
            self.changed = Some(now);
            self.members.clone_from(&members);
            self.without_key = None;
        }
        let changed = self.changed.unwrap_or(now);
        let search_at = self.without_key.is_none().then(|| changed.saturating_add(SEARCH_DELAY).unwrap_or(now));
        let others = Member { keyed: false, stage: Stage::Pending, terms: Arc::default() };
        let mut members = members;
        members.resize(members.len() + self.without_key.unwrap_or_default(), others);
        ObservedGang { members, changed, search_at }
    }

    /// Records the number of pods without a key.
    pub(super) fn record_without_key(&mut self, pods: usize) {
        self.without_key = Some(pods);
    }

    /// Records that the missing object is reported. Returns false if it was before.
    pub(super) fn report_missing(&mut self) -> bool {
        !std::mem::replace(&mut self.reported, true)
    }
}

impl ObservedGang {
    /// Returns the time from which the missing object is reported; `None` if no pod waits for one.
    pub(super) fn missing_deadline(&self, group: GroupState) -> Option<Timestamp> {
        let waits = group == GroupState::Missing
            && self.members.iter().any(|member| member.keyed && member.stage == Stage::Pending);
        waits.then(|| self.changed.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_last_change_is_remembered() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let member = |stage| Member { keyed: true, stage, terms: Arc::default() };
        let mut memory = GangMemory::default();
        assert_eq!(memory.observe(vec![member(Stage::Pending)], at(1)).changed, at(1));
        assert_eq!(memory.observe(vec![member(Stage::Pending)], at(2)).changed, at(1), "unchanged");
        let placed = memory.observe(vec![member(Stage::Placed)], at(3));
        assert_eq!(placed.changed, at(3));
        assert_eq!(placed.missing_deadline(GroupState::Missing), None, "no pod waits");
        let waiting = memory.observe(vec![member(Stage::Pending)], at(4));
        assert_eq!(waiting.missing_deadline(GroupState::Missing), Some(at(94)));
        assert_eq!(waiting.missing_deadline(GroupState::Foreign), None);
        assert!(memory.report_missing() && !memory.report_missing());
        assert_eq!(waiting.search_at, Some(at(7)));
        memory.record_without_key(1);
        let searched = memory.observe(vec![member(Stage::Pending)], at(8));
        assert_eq!((searched.search_at, searched.changed), (None, at(4)));
        assert_eq!(searched.members.iter().filter(|member| !member.keyed).count(), 1);
        assert_eq!(memory.observe(vec![member(Stage::Placed)], at(9)).members.len(), 1, "to be searched again");
    }
}
