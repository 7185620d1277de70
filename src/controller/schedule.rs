//! Order in which a scanner reads namespaces, one at a time: those that changed recently first, and each at most as often as its
//! state requires.
//!
//! No namespace delays others by more than its turn: the one with the oldest scan is next, a scan has a deadline, and a
//! namespace that leaves and returns keeps the time of its last scan.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, timeout};

/// Interval between two scans; each reads one namespace.
pub(super) const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum age of a namespace's last scan if its state has changed since: the pods of a job are created one after another.
pub(super) const CHANGED_INTERVAL: Duration = Duration::from_secs(20);
/// Time limit of a scan: the pods of the largest jobs are read in some seconds.
pub(super) const SCAN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which the last scan of a namespace that has nothing to scan is kept.
const RETENTION: Duration = Duration::from_mins(5);

/// Scans of namespaces, each with the state `S` that it was based on.
pub(super) struct ScanSchedule<S> {
    last: HashMap<String, Scan<S>>,
}

/// A scan of a namespace.
pub(super) struct Scan<S> {
    at: Instant,
    /// State of the namespace; `None` if it had nothing to scan since.
    state: Option<S>,
    /// True if the scan before had the same state.
    is_repeated: bool,
}

/// A scan took longer than this time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("reading the pods took longer than {0:?}")]
pub(super) struct ScanTimedOut(Duration);

impl<S> Default for ScanSchedule<S> {
    fn default() -> Self {
        Self { last: HashMap::new() }
    }
}

impl<S: PartialEq> ScanSchedule<S> {
    /// Returns the namespace to scan `now`: of those that are due, the one with the oldest scan. `interval` is the minimum age
    /// of a last scan with the same state as now.
    pub(super) fn due(
        &mut self,
        namespaces: &BTreeMap<String, S>,
        interval: impl Fn(&str, &Scan<S>) -> Duration,
        now: Instant,
    ) -> Option<String> {
        self.last.retain(|namespace, scan| {
            let is_present = namespaces.contains_key(namespace);
            if !is_present {
                scan.state = None;
            }
            is_present || now.saturating_duration_since(scan.at) < RETENTION
        });
        let age = |namespace: &str, state: &S| {
            let Some(last) = self.last.get(namespace) else { return Some(Duration::MAX) };
            let is_same = last.state.as_ref() == Some(state);
            let age = now.saturating_duration_since(last.at);
            (age >= if is_same { interval(namespace, last) } else { CHANGED_INTERVAL }).then_some(age)
        };
        let due = namespaces.iter().filter_map(|(name, state)| Some((age(name, state)?, name)));
        due.max().map(|(_, name)| name.clone())
    }

    /// Records a scan of `namespace` with this state.
    pub(super) fn record(&mut self, namespace: &str, state: S, now: Instant) {
        let is_repeated = self.last.get(namespace).is_some_and(|last| last.state.as_ref() == Some(&state));
        self.last.insert(namespace.to_owned(), Scan { at: now, state: Some(state), is_repeated });
    }
}

impl<S> Scan<S> {
    /// Returns true if the scan before had the same state.
    pub(super) fn is_repeated(&self) -> bool {
        self.is_repeated
    }
}

/// Awaits the requests of a scan, up to a time limit.
pub(super) async fn limited<T>(limit: Duration, scan: impl Future<Output = T>) -> Result<T, ScanTimedOut> {
    timeout(limit, scan).await.map_err(|_| ScanTimedOut(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STABLE: Duration = Duration::from_mins(10);

    fn namespaces(states: &[(&str, u32)]) -> BTreeMap<String, u32> {
        states.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect()
    }

    /// A schedule with its time.
    struct Scheduled {
        schedule: ScanSchedule<u32>,
        now: Instant,
    }

    impl Scheduled {
        fn new() -> Self {
            Self { schedule: ScanSchedule::default(), now: Instant::now() }
        }

        /// Returns the namespace that is scanned after `time`.
        fn scan(&mut self, states: &[(&str, u32)], time: Duration) -> Option<String> {
            self.now += time;
            let namespaces = namespaces(states);
            let due = self.schedule.due(&namespaces, |_, _| STABLE, self.now)?;
            self.schedule.record(&due, namespaces[&due], self.now);
            Some(due)
        }
    }

    #[test]
    fn namespaces_are_scanned_in_turn() {
        let mut scheduled = Scheduled::new();
        let states = [("a", 1), ("b", 1)];
        let first = [(); 2].map(|()| scheduled.scan(&states, SCAN_INTERVAL).unwrap());
        assert_eq!(first, ["b", "a"]);
        assert_eq!(scheduled.scan(&states, CHANGED_INTERVAL), None, "nothing has changed");
        assert_eq!(scheduled.scan(&[("a", 2), ("b", 1)], SCAN_INTERVAL).as_deref(), Some("a"), "it has changed");
        assert_eq!(scheduled.scan(&states, STABLE).as_deref(), Some("b"), "oldest scan");
    }

    #[test]
    fn the_interval_depends_on_the_last_scan() {
        let mut scheduled = Scheduled::new();
        let states = [("a", 1)];
        scheduled.scan(&states, SCAN_INTERVAL);
        let after = |scheduled: &mut Scheduled| {
            let interval = |_: &str, last: &Scan<u32>| if last.is_repeated() { STABLE } else { CHANGED_INTERVAL };
            scheduled.schedule.due(&namespaces(&states), interval, scheduled.now + CHANGED_INTERVAL)
        };
        assert_eq!(after(&mut scheduled).as_deref(), Some("a"), "the pods may still be created");
        scheduled.schedule.record("a", 1, scheduled.now);
        assert_eq!(after(&mut scheduled), None, "the same state twice");
    }

    /// A pod that fails and disappears again and again does not make its namespace the first one each time.
    #[test]
    fn a_namespace_that_returns_waits_for_its_turn() {
        let mut scheduled = Scheduled::new();
        let mut scanned = Vec::new();
        for round in 0..6 {
            // Others change all the time, too.
            scanned.extend(scheduled.scan(&[("a", round), ("b", round), ("z", round)], SCAN_INTERVAL));
            scheduled.scan(&[], Duration::ZERO);
        }
        assert_eq!(scanned, ["z", "b", "a", "z", "b"], "one of six turns is not due");
        assert_eq!(scheduled.scan(&[("z", 9)], Duration::ZERO), None);
        assert_eq!(scheduled.scan(&[], RETENTION), None);
        assert!(scheduled.schedule.last.is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn a_scan_has_a_time_limit() {
        assert_eq!(limited(SCAN_TIMEOUT, std::future::ready(1)).await, Ok(1));
        assert_eq!(limited(Duration::ZERO, std::future::pending::<()>()).await, Err(ScanTimedOut(Duration::ZERO)));
    }
}
