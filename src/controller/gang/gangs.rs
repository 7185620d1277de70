//! State that the controller keeps of a gang. It may lose it at any time: then missing pods are expected a little longer, but
//! not indefinitely if this happens repeatedly.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use trainmesh_core::gang::object::{GroupState, Member, Stage};

/// Time for which pods wait for their object without a finding. The controller creates it within seconds, or, if not all
/// pods appear, after a minute.
const PATIENCE: SignedDuration = SignedDuration::from_secs(90);

/// Greatest age of the last change of a gang that a new leader sees for the first time. Missing pods remain expected for the
/// rest of the minute: one may be replaced just then, and the job is not known yet.
const MAX_AGE: SignedDuration = SignedDuration::from_secs(30);

/// Times after the last change was observed at which a gang with missing pods is searched for pods without a key. Operators create
/// pods one after another, and the apiserver waits for a webhook that does not respond for 5 seconds, or up to 30.
const SEARCH_DELAYS: [SignedDuration; 3] =
    [SignedDuration::from_secs(3), SignedDuration::from_secs(10), SignedDuration::from_secs(35)];

/// State of a gang.
#[derive(Debug, Default)]
pub(super) struct GangMemory {
    members: Vec<Member>,
    /// Time at which the members last changed, and at which this was observed.
    changed: Option<(Timestamp, Timestamp)>,
    /// Number of pods without a key that were found since.
    without_key: usize,
    /// Number of searches for them since.
    searches: usize,
    /// True if the missing object was reported.
    reported: bool,
}

/// The pods of a gang, and when they last changed.
#[derive(Clone, Debug)]
pub(super) struct ObservedGang {
    pub(super) members: Vec<Member>,
    pub(super) changed: Timestamp,
    /// Time of the next search for pods without a key; `None` after the last one.
    pub(super) search_at: Option<Timestamp>,
}

impl GangMemory {
    /// Records the members, the newest of which was created at `newest`.
    pub(super) fn observe(&mut self, members: Vec<Member>, newest: Option<Timestamp>, now: Timestamp) -> ObservedGang {
        let (changed, observed) = match self.changed {
            Some(known) if self.members == members => known,
            known => {
                // Not the time of this process's start: a controller that restarts repeatedly would never release a gang.
                let first_seen = || {
                    let oldest = now.saturating_sub(MAX_AGE).unwrap_or(now);
                    newest.map_or(now, |newest| newest.clamp(oldest, now))
                };
                self.members.clone_from(&members);
                (self.without_key, self.searches) = (0, 0);
                *self.changed.insert((known.map_or_else(first_seen, |_| now), now))
            }
        };
        let delay = SEARCH_DELAYS.get(self.searches);
        let search_at = delay.map(|delay| observed.saturating_add(*delay).unwrap_or(now));
        let others = Member { keyed: false, stage: Stage::Pending, terms: Arc::default() };
        let mut members = members;
        members.resize(members.len() + self.without_key, others);
        ObservedGang { members, changed, search_at }
    }

    /// Records the number of pods without a key that a search has found.
    pub(super) fn record_without_key(&mut self, pods: usize) {
        self.without_key = pods;
        self.searches += 1;
    }

    /// Records that the missing object is reported. Returns false if it was before.
    pub(super) fn report_missing(&mut self) -> bool {
        !std::mem::replace(&mut self.reported, true)
    }
}

impl ObservedGang {
    /// Returns true if a pod waits for a node, and its object exists.
    pub(super) fn waits_for_nodes(&self, group: GroupState) -> bool {
        matches!(group, GroupState::Own { deleting: false, .. }) && self.any_pending()
    }

    /// Returns the time from which the missing object is reported; `None` if no pod waits for one.
    pub(super) fn missing_deadline(&self, group: GroupState) -> Option<Timestamp> {
        let waits = group == GroupState::Missing && self.any_pending();
        waits.then(|| self.changed.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX))
    }

    fn any_pending(&self) -> bool {
        self.members.iter().any(|member| member.keyed && member.stage == Stage::Pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_new_leader_counts_from_the_creation_of_the_newest_pod() {
        let members = [Member { keyed: true, stage: Stage::Pending, terms: Arc::default() }];
        for (newest, changed) in [(None, 100), (Some(95), 95), (Some(10), 70), (Some(105), 100)] {
            let mut memory = GangMemory::default();
            let observed = memory.observe(members.to_vec(), newest.map(at), at(100));
            assert_eq!((observed.changed, observed.search_at), (at(changed), Some(at(103))), "{newest:?}");
            let later = memory.observe(members.to_vec(), newest.map(at), at(102));
            assert_eq!(later.changed, at(changed), "{newest:?}");
            assert_eq!(memory.observe(Vec::new(), newest.map(at), at(104)).changed, at(104), "{newest:?}");
        }
    }

    #[test]
    fn the_time_of_the_last_change_is_remembered() {
        let member = |stage| Member { keyed: true, stage, terms: Arc::default() };
        let mut memory = GangMemory::default();
        assert_eq!(memory.observe(vec![member(Stage::Pending)], None, at(1)).changed, at(1));
        assert_eq!(memory.observe(vec![member(Stage::Pending)], None, at(2)).changed, at(1), "unchanged");
        let placed = memory.observe(vec![member(Stage::Placed)], None, at(3));
        assert_eq!(placed.changed, at(3));
        assert_eq!(placed.missing_deadline(GroupState::Missing), None, "no pod waits");
        let waiting = memory.observe(vec![member(Stage::Pending)], None, at(4));
        assert_eq!(waiting.missing_deadline(GroupState::Missing), Some(at(94)));
        assert_eq!(waiting.missing_deadline(GroupState::Foreign), None);
        assert!(memory.report_missing() && !memory.report_missing());
        assert_eq!(waiting.search_at, Some(at(7)));
        // A pod that the webhook missed may appear after the first search.
        for (found, next) in [(0, Some(at(14))), (1, Some(at(39))), (1, None)] {
            memory.record_without_key(found);
            let searched = memory.observe(vec![member(Stage::Pending)], None, at(8));
            assert_eq!((searched.search_at, searched.changed), (next, at(4)));
            assert_eq!(searched.members.iter().filter(|member| !member.keyed).count(), found);
        }
        assert_eq!(memory.observe(vec![member(Stage::Placed)], None, at(9)).members.len(), 1, "to be searched again");
    }
}
