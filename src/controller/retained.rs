//! Gangs without active pods that keep their modes for a short time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trainmesh_core::gang::mode_pins::ModePins;
use trainmesh_core::gang::{GangId, ScheduledPod};

/// Time for which a gang without active pods keeps its modes. Operators that restart a job delete all of its pods and create
/// others within a second. Each webhook replica learns of a removal at another moment, so that these pods could get the
/// keys of two schedulers.
const RETENTION: Duration = Duration::from_secs(30);

/// The pinned gangs without active pods, with the time until which each is retained; `None` once that has passed. Their
/// number is that of the pins, which is bounded.
#[derive(Debug, Default)]
pub(super) struct RetainedGangs(BTreeMap<GangId, Option<Instant>>);

impl RetainedGangs {
    /// Records the gangs of `stored` without `active` pods. Those that a previous leader stored are retained from the first
    /// update on.
    pub(super) fn update(&mut self, stored: &ModePins, active: &BTreeMap<GangId, Vec<ScheduledPod>>, now: Instant) {
        let ended = stored.gangs().filter(|gang| !active.contains_key(*gang));
        let removals = ended.map(|gang| {
            let removal = self.0.get(gang).copied().unwrap_or(Some(now + RETENTION));
            (gang.clone(), removal.filter(|removal| now < *removal))
        });
        self.0 = removals.collect();
    }

    /// Returns true if `gang` keeps its modes.
    pub(super) fn contains(&self, gang: &GangId) -> bool {
        self.0.get(gang).is_some_and(Option::is_some)
    }

    /// Returns when the next gang is to be removed.
    pub(super) fn next_removal(&self) -> Option<Instant> {
        self.0.values().copied().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainmesh_core::gang::GangMode;

    fn gang(id: &str) -> GangId {
        GangId { namespace: "team-a".to_owned(), id: id.to_owned() }
    }

    /// Returns gangs of these names, each with a pod.
    fn active(names: &[&str]) -> BTreeMap<GangId, Vec<ScheduledPod>> {
        let pod = ScheduledPod { created: 1, attempt: 0, role: "worker".into(), mode: Some(GangMode::Native) };
        names.iter().map(|name| (gang(name), vec![pod.clone()])).collect()
    }

    #[test]
    fn a_gang_is_retained_for_a_while_after_its_last_pod() {
        let (stored, _) = ModePins::default().reconcile(&active(&["a", "b"]), |_| false);
        let (mut retained, start) = (RetainedGangs::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut check = |seconds, names: &[&str], expected: [bool; 2], next: Option<u64>| {
            let now = after(seconds);
            retained.update(&stored, &active(names), now);
            assert_eq!(["a", "b"].map(|name| retained.contains(&gang(name))), expected, "after {seconds} s");
            assert_eq!(retained.next_removal(), next.map(after), "after {seconds} s");
        };
        check(0, &["a", "b"], [false, false], None);
        // The time is counted from the first update without the gang.
        check(10, &["b"], [true, false], Some(40));
        check(20, &[], [true, true], Some(40));
        check(39, &[], [true, true], Some(40));
        check(40, &[], [false, true], Some(50));
        // Restarted, and ended again.
        check(45, &["b"], [false, false], None);
        check(46, &[], [false, true], Some(76));
    }

    #[test]
    fn gangs_that_are_not_pinned_are_not_retained() {
        let mut retained = RetainedGangs::default();
        let now = Instant::now();
        retained.update(&ModePins::default(), &active(&["a"]), now);
        retained.update(&ModePins::default(), &active(&[]), now);
        assert_eq!((retained.contains(&gang("a")), retained.next_removal()), (false, None));
    }
}
