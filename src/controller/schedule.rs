//! Order in which a scanner reads namespaces, one at a time, each at most as often as its state requires.
//!
//! Of the namespaces that are due, the one with the oldest scan is next, and one that appears is behind those that wait already. A
//! scan has a time limit. After one that exceeds it, the namespace pauses, and the next one may take longer: up to 4 minutes, for
//! which the others wait.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, timeout};

/// Interval between two scans; each reads one namespace.
pub(super) const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum age of a namespace's last scan if its state has changed since: the pods of a job are created one after another.
pub(super) const CHANGED_INTERVAL: Duration = Duration::from_secs(20);
/// Time limit of a scan: the pods of the largest jobs are read in some seconds.
const SCAN_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause of a namespace after a scan that exceeded the time limit.
const SLOW_PAUSE: Duration = Duration::from_mins(5);
/// Maximum number of times that limit and pause are doubled.
const MAX_DOUBLINGS: u32 = 3;
/// Time for which the last scan of a namespace that has nothing to scan is kept: the duration of a turn of some 360 namespaces.
const RETENTION: Duration = Duration::from_mins(30);

/// Scans of namespaces, each with the state `S` that it was based on.
pub(super) struct ScanSchedule<S> {
    last: HashMap<String, Scan<S>>,
}

/// A scan of a namespace.
pub(super) struct Scan<S> {
    /// Time of the scan, or at which the namespace appeared.
    at: Instant,
    /// State of the namespace; `None` if it has not been scanned, or had nothing to scan since.
    state: Option<S>,
    /// True if the scan before had the same state.
    is_repeated: bool,
    /// True if the namespace was not scanned.
    is_new: bool,
    /// Number of successive scans that exceeded the time limit of the first one.
    slow: u32,
    /// Time since which there is nothing to scan.
    absent: Option<Instant>,
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
            if namespaces.contains_key(namespace) {
                scan.absent = None;
                return true;
            }
            scan.state = None;
            now.saturating_duration_since(*scan.absent.get_or_insert(now)) < RETENTION
        });
        for namespace in namespaces.keys() {
            self.last.entry(namespace.clone()).or_insert_with(|| Scan::appeared(now));
        }
        let age = |namespace: &str, state: &S| {
            let last = self.last.get(namespace)?;
            let minimum = match &last.state {
                _ if last.is_new => Duration::ZERO,
                Some(known) if known == state => interval(namespace, last),
                _ => CHANGED_INTERVAL,
            };
            let age = now.saturating_duration_since(last.at);
            (age >= minimum.max(last.pause())).then_some(age)
        };
        let due = namespaces.iter().filter_map(|(name, state)| Some((age(name, state)?, name)));
        due.max().map(|(_, name)| name.clone())
    }

    /// Returns the time limit of the next scan of `namespace`.
    pub(super) fn limit(&self, namespace: &str) -> Duration {
        SCAN_TIMEOUT * 2_u32.pow(self.last.get(namespace).map_or(0, |last| last.slow))
    }

    /// Records a scan of `namespace` that took `duration`, with its state; `None` if it failed and should be repeated.
    pub(super) fn record(&mut self, namespace: &str, state: Option<S>, duration: Duration, now: Instant) {
        let last = self.last.get(namespace);
        let is_repeated = state.is_some() && last.is_some_and(|last| last.state == state);
        let slow = match last.map_or(0, |last| last.slow) {
            _ if duration < SCAN_TIMEOUT => 0,
            slow if state.is_some() => slow,
            slow => (slow + 1).min(MAX_DOUBLINGS),
        };
        self.last.insert(namespace.to_owned(), Scan { at: now, state, is_repeated, is_new: false, slow, absent: None });
    }
}

impl<S> Scan<S> {
    /// Creates the entry of a namespace that appears `now`.
    fn appeared(now: Instant) -> Self {
        Self { at: now, state: None, is_repeated: false, is_new: true, slow: 0, absent: None }
    }

    /// Returns true if the scan before had the same state.
    pub(super) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Returns the minimum age of the scan because of the time that it took.
    fn pause(&self) -> Duration {
        if self.slow == 0 { Duration::ZERO } else { SLOW_PAUSE * 2_u32.pow(self.slow - 1) }
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
            self.schedule.record(&due, Some(namespaces[&due]), Duration::ZERO, self.now);
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
        scheduled.schedule.record("a", Some(1), Duration::ZERO, scheduled.now);
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
        assert_eq!(scheduled.scan(&[], Duration::ZERO), None);
        assert_eq!(scheduled.scan(&[], RETENTION), None);
        assert!(scheduled.schedule.last.is_empty(), "nothing is kept");
    }

    /// Returns how often each of the namespaces was scanned, whose states always change. They are `present` at some ticks.
    fn turns(ticks: usize, names: &[String], present: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut scheduled = Scheduled::new();
        let mut turns = vec![0; names.len()];
        for tick in 0..ticks {
            let state = u32::try_from(tick).unwrap();
            let present = names.iter().enumerate().filter(|(index, _)| present(*index, tick));
            let states: Vec<(&str, u32)> = present.map(|(_, name)| (name.as_str(), state)).collect();
            let scanned = scheduled.scan(&states, SCAN_INTERVAL).unwrap();
            turns[names.iter().position(|name| *name == scanned).unwrap()] += 1;
        }
        turns
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("team-{index}")).collect()
    }

    /// A turn of 101 namespaces takes longer than eight minutes.
    #[test]
    fn a_namespace_that_comes_and_goes_gets_no_more_turns() {
        let turns = turns(1_000, &names(101), |index, tick| index < 100 || tick.is_multiple_of(2));
        let most = turns[..100].iter().max().unwrap();
        assert!(turns[100] <= most + 1, "{} turns, and others {most}", turns[100]);
    }

    /// 120 of 180 namespaces have something to scan for two of each ten minutes.
    #[test]
    fn namespaces_that_come_and_go_take_no_turns_of_others() {
        let turns = turns(2_400, &names(180), |index, tick| index < 60 || (tick + index) % 120 < 24);
        let (least, most) = (turns[..60].iter().min().unwrap(), turns[60..].iter().max().unwrap());
        assert!(least >= most, "{least} turns, and others {most}");
    }

    #[test]
    fn a_namespace_that_appears_waits_behind_others() {
        let mut scheduled = Scheduled::new();
        let first = [("a", 1), ("b", 1)];
        assert_eq!(scheduled.scan(&first, Duration::ZERO).as_deref(), Some("b"));
        assert_eq!(scheduled.scan(&[("a", 1), ("b", 1), ("z", 1)], SCAN_INTERVAL).as_deref(), Some("a"));
        assert_eq!(scheduled.scan(&[("a", 1), ("b", 1), ("z", 1)], Duration::ZERO).as_deref(), Some("z"));
    }

    #[test]
    fn a_slow_namespace_pauses_and_gets_more_time() {
        let (mut schedule, start) = (ScanSchedule::default(), Instant::now());
        let namespaces = namespaces(&[("a", 1)]);
        let seconds = Duration::from_secs;
        for (limit, pause) in [(30, 300), (60, 600), (120, 1200), (240, 1200)] {
            assert_eq!(schedule.limit("a"), seconds(limit));
            schedule.record("a", None, seconds(limit), start);
            let mut is_due = |after: u64| schedule.due(&namespaces, |_, _| STABLE, start + seconds(after)).is_some();
            assert_eq!([is_due(pause - 1), is_due(pause)], [false, true], "after {limit} s");
        }
        schedule.record("a", Some(1), seconds(200), start);
        assert_eq!(schedule.limit("a"), seconds(240), "the next one is slow, too");
        assert_eq!(schedule.due(&namespaces, |_, _| Duration::ZERO, start + seconds(1199)), None);
        schedule.record("a", Some(1), seconds(29), start);
        assert_eq!(schedule.limit("a"), SCAN_TIMEOUT);
        assert!(schedule.due(&namespaces, |_, _| Duration::ZERO, start).is_some());
    }

    #[test]
    fn a_failed_scan_is_repeated() {
        let mut scheduled = Scheduled::new();
        let states = [("a", 1)];
        scheduled.scan(&states, SCAN_INTERVAL);
        scheduled.schedule.record("a", None, Duration::ZERO, scheduled.now);
        assert_eq!(scheduled.scan(&states, CHANGED_INTERVAL).as_deref(), Some("a"), "nothing has changed");
    }

    #[tokio::test]
    async fn a_scan_has_a_time_limit() {
        assert_eq!(limited(SCAN_TIMEOUT, std::future::ready(1)).await, Ok(1));
        assert_eq!(limited(Duration::ZERO, std::future::pending::<()>()).await, Err(ScanTimedOut(Duration::ZERO)));
    }
}
