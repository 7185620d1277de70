//! Failed writes: when they are repeated, so that those of one tenant do not delay others.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::members::GangKey;

/// Delay before a failed write is repeated. It doubles with each failure.
const MIN_DELAY: SignedDuration = SignedDuration::from_secs(5);
/// Maximum delay.
const MAX_DELAY: SignedDuration = SignedDuration::from_secs(60);
/// Maximum number of writes of a namespace without failed writes before others have their turn.
const MAX_NEW: usize = 64;
/// Delay before the next ones. The watch delivers the objects of the first ones meanwhile.
const PAUSE: SignedDuration = SignedDuration::from_millis(250);
/// Maximum number of concurrent writes of a namespace with failed writes, and of all these namespaces.
const CONCURRENCY: (usize, usize) = (4, 16);

/// Failed writes, and those in the background.
#[derive(Debug, Default)]
pub(super) struct Retries {
    failures: HashMap<GangKey, Failure>,
    /// Gangs whose writes are in progress in the background.
    in_progress: HashSet<GangKey>,
    /// Namespace that had the last turn in the background.
    last: String,
}

#[derive(Clone, Copy, Debug)]
struct Failure {
    delay: SignedDuration,
    retry_at: Timestamp,
}

/// Writes to carry out.
#[derive(Debug, Default)]
pub(super) struct Selection<T> {
    /// Those of namespaces without failed writes.
    pub(super) first: Vec<T>,
    /// Those of namespaces with failed writes. No other write waits for them.
    pub(super) background: Vec<T>,
    /// Time at which to select again, if no write in the background completes before.
    pub(super) next: Option<Timestamp>,
}

impl Retries {
    /// Selects from all required writes. Each namespace with failed writes has a turn for a few of them: new ones first, then
    /// those that have waited the longest.
    pub(super) fn select<T>(
        &mut self,
        writes: Vec<T>,
        key_of: impl Fn(&T) -> &GangKey,
        now: Timestamp,
    ) -> Selection<T> {
        let mut first = Vec::new();
        let mut next: Option<Timestamp> = None;
        let mut wait_until = |time| next = next.into_iter().chain([time]).min();
        let mut waiting: BTreeMap<String, Vec<(Option<Timestamp>, T)>> = BTreeMap::new();
        let failing: HashSet<&str> =
            self.failures.keys().chain(&self.in_progress).map(|key| key.namespace.as_str()).collect();
        let mut new: HashMap<String, usize> = HashMap::new();
        for write in writes {
            let key = key_of(&write);
            if !failing.contains(key.namespace.as_str()) {
                let count = new.entry(key.namespace.clone()).or_default();
                *count += 1;
                if *count <= MAX_NEW {
                    first.push(write);
                } else {
                    wait_until(now.saturating_add(PAUSE).unwrap_or(now));
                }
            } else if !self.in_progress.contains(key) {
                match self.failures.get(key).map(|failure| failure.retry_at) {
                    Some(retry_at) if retry_at > now => wait_until(retry_at),
                    retry_at => waiting.entry(key.namespace.clone()).or_default().push((retry_at, write)),
                }
            }
        }
        // The namespaces after the last one first, then the others.
        let mut turns: Vec<_> = waiting.into_iter().collect();
        let after = turns.partition_point(|(namespace, _)| *namespace <= self.last);
        turns.rotate_left(after);
        let mut background = Vec::new();
        for (namespace, mut writes) in turns {
            let of_namespace = self.in_progress.iter().filter(|key| key.namespace == namespace).count();
            let available =
                CONCURRENCY.0.saturating_sub(of_namespace).min(CONCURRENCY.1.saturating_sub(self.in_progress.len()));
            if available == 0 {
                continue;
            }
            writes.sort_by_key(|(retry_at, _)| *retry_at);
            for (_, write) in writes.into_iter().take(available) {
                self.in_progress.insert(key_of(&write).clone());
                background.push(write);
            }
            self.last = namespace;
        }
        Selection { first, background, next }
    }

    /// Records that a write was carried out, or is no longer required.
    pub(super) fn record_success(&mut self, key: &GangKey) {
        self.in_progress.remove(key);
        self.failures.remove(key);
    }

    /// Records a failed write, and returns when it is repeated.
    pub(super) fn record_failure(&mut self, key: &GangKey, now: Timestamp) -> Timestamp {
        self.in_progress.remove(key);
        let delay = self.failures.get(key).map_or(MIN_DELAY, |failure| MAX_DELAY.min(failure.delay * 2));
        let retry_at = now.saturating_add(delay).unwrap_or(Timestamp::MAX);
        self.failures.insert(key.clone(), Failure { delay, retry_at });
        retry_at
    }

    /// Records that no write is required for a gang. One in progress keeps its state until it completes.
    pub(super) fn record_none_required(&mut self, key: &GangKey) {
        if !self.in_progress.contains(key) {
            self.failures.remove(key);
        }
    }

    /// Removes the failures of gangs for which `is_known` returns false.
    pub(super) fn retain(&mut self, is_known: impl Fn(&GangKey) -> bool) {
        self.failures.retain(|key, _| is_known(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainmesh_core::gang::GangMode;

    fn key(namespace: &str, index: usize) -> GangKey {
        GangKey { namespace: namespace.to_owned(), mode: GangMode::Volcano, name: format!("gang-{index:04}") }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn select(retries: &mut Retries, keys: &[GangKey], second: i64) -> (Vec<GangKey>, Vec<GangKey>, Option<i64>) {
        let selection = retries.select(keys.to_vec(), |key| key, at(second));
        (selection.first, selection.background, selection.next.map(Timestamp::as_second))
    }

    #[test]
    fn a_failed_write_is_repeated_after_a_delay_that_doubles_up_to_a_minute() {
        let (mut retries, gang) = (Retries::default(), [key("team-a", 0)]);
        assert_eq!(select(&mut retries, &gang, 0), (gang.to_vec(), vec![], None));
        let mut now = 0;
        for delay in [5, 10, 20, 40, 60, 60] {
            assert_eq!(retries.record_failure(&gang[0], at(now)), at(now + delay));
            assert_eq!(select(&mut retries, &gang, now + delay - 1), (vec![], vec![], Some(now + delay)));
            now += delay;
            assert_eq!(select(&mut retries, &gang, now), (vec![], gang.to_vec(), None));
            assert_eq!(select(&mut retries, &gang, now), (vec![], vec![], None), "in progress");
        }
        retries.record_success(&gang[0]);
        assert_eq!(select(&mut retries, &gang, now), (gang.to_vec(), vec![], None));
    }

    #[test]
    fn gangs_that_need_no_write_have_no_failures() {
        let (mut retries, gang) = (Retries::default(), [key("team-a", 0)]);
        retries.record_failure(&gang[0], at(0));
        retries.record_none_required(&gang[0]);
        assert_eq!(select(&mut retries, &gang, 0).0, gang);
        retries.record_failure(&gang[0], at(0));
        retries.retain(|_| false);
        assert_eq!(select(&mut retries, &gang, 0).0, gang);
    }

    #[test]
    fn failed_writes_of_a_namespace_do_not_delay_others() {
        let mut retries = Retries::default();
        let mut keys: Vec<GangKey> = (0..1_000).map(|index| key("team-a", index)).collect();
        keys.extend([key("team-b", 0), key("team-c", 0), key("team-c", 1)]);
        let (first, background, next) = select(&mut retries, &keys, 0);
        assert_eq!((first.len(), background.len(), next), (MAX_NEW + 3, 0, Some(0)));
        for gang in first.iter().filter(|gang| gang.namespace == "team-a") {
            retries.record_failure(gang, at(0));
        }
        retries.record_failure(&key("team-c", 0), at(0));
        let (first, background, next) = select(&mut retries, &keys, 5);
        assert_eq!((first, next), (vec![key("team-b", 0)], None));
        // Gangs without a failure come first.
        let new = (MAX_NEW..MAX_NEW + CONCURRENCY.0).map(|index| key("team-a", index));
        let expected: Vec<GangKey> = new.chain([key("team-c", 1), key("team-c", 0)]).collect();
        assert_eq!(background, expected);
    }

    #[test]
    fn namespaces_with_failed_writes_have_turns() {
        let mut retries = Retries::default();
        let keys: Vec<GangKey> =
            (0..6).flat_map(|team| (0..50).map(move |index| key(&format!("team-{team}"), index))).collect();
        for gang in &keys {
            retries.record_failure(gang, at(0));
        }
        let mut served: Vec<Vec<String>> = Vec::new();
        for _ in 0..3 {
            let (_, background, _) = select(&mut retries, &keys, 5);
            assert_eq!(background.len(), CONCURRENCY.1);
            let mut teams: Vec<String> = background.iter().map(|gang| gang.namespace.clone()).collect();
            teams.dedup();
            served.push(teams);
            for gang in &background {
                retries.record_failure(gang, at(5));
            }
        }
        let teams = |teams: [usize; 4]| teams.map(|team| format!("team-{team}")).to_vec();
        assert_eq!(served, [teams([0, 1, 2, 3]), teams([4, 5, 0, 1]), teams([2, 3, 4, 5])]);
    }
}
