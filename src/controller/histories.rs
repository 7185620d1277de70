//! Per-pod state that is not in the pod: its history of actions and findings, and its state in the metrics.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::telemetry::Metrics;
use trainmesh_core::lifecycle::{
    Attempt, AttemptOutcome, Decision, History, SkipReason, TerminationTarget, WaitReason,
};

/// Histories of all pods, by uid. Losing them, as on a restart, is harmless.
///
/// Each pod has its own lock. The lock of the map is held for lookups only, never during a decision, whose duration
/// depends on the pod's content.
pub(super) struct PodHistories {
    pods: Mutex<HashMap<Box<str>, Arc<Mutex<Entry>>>>,
    metrics: Arc<Metrics>,
}

/// State of one pod.
#[derive(Default)]
struct Entry {
    history: History,
    /// Time of the last decision.
    decided_at: Timestamp,
    /// State in which the pod is counted.
    state: Option<&'static str>,
    /// The reason that was counted last.
    skipped: Option<SkipReason>,
    /// Steps that are done.
    done: [bool; 2],
    /// Set once the entry is removed from the map and no longer counted.
    removed: bool,
}

/// A step that is taken once per pod.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// The check for missed rules.
    WebhookCheck,
    /// The event about refused rules.
    RefusalEvent,
}

impl PodHistories {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { pods: Mutex::default(), metrics }
    }

    /// Decides about the pod `uid` and records the decision atomically, so that only one of several concurrent callers
    /// acts or publishes a finding. `in_flight_until` is the time until which an action counts as in flight; with
    /// `None`, no start is recorded.
    pub(super) fn decide(
        &self,
        uid: &str,
        now: Timestamp,
        in_flight_until: Option<Timestamp>,
        decide: impl FnOnce(&History) -> Decision,
    ) -> Decision {
        let entry = Arc::clone(self.pods().entry(uid.into()).or_default());
        let entry = &mut *lock(&entry);
        entry.decided_at = now;
        let decision = decide(&entry.history);
        match (&decision, in_flight_until) {
            (Decision::Terminate { .. }, Some(until)) => entry.history.begin(until),
            (Decision::Publish(finding), _) => entry.history.record_finding(finding),
            _ => {}
        }
        if !entry.removed {
            self.count(entry, &decision);
        }
        decision
    }

    /// Records the outcome of an action.
    pub(super) fn record(
        &self,
        uid: &str,
        target: &TerminationTarget,
        attempt: &Attempt,
        outcome: AttemptOutcome,
        now: Timestamp,
    ) {
        // A deleted pod has no entry.
        if let Some(entry) = self.find(uid) {
            lock(&entry).history.record(target, attempt, outcome, fastrand::f64(), now);
        }
    }

    /// Returns true if `step` has not been taken for the pod.
    pub(super) fn is_due(&self, uid: &str, step: Step) -> bool {
        self.find(uid).is_some_and(|entry| !lock(&entry).done[step as usize])
    }

    /// Marks `step` as taken for the pod; returns false if it already was.
    pub(super) fn mark_done(&self, uid: &str, step: Step) -> bool {
        self.find(uid).is_some_and(|entry| !std::mem::replace(&mut lock(&entry).done[step as usize], true))
    }

    /// Removes a deleted pod.
    pub(super) fn remove(&self, uid: &str) {
        let removed = self.pods().remove(uid);
        if let Some(entry) = removed {
            self.discard(&mut lock(&entry));
        }
    }

    /// Removes the pods without a decision since `cutoff`: they were deleted while no watch was open.
    pub(super) fn remove_idle(&self, cutoff: Timestamp) {
        self.pods().retain(|_, entry| {
            // A locked entry is in use.
            let Ok(mut entry) = entry.try_lock() else { return true };
            let is_recent = entry.decided_at >= cutoff;
            if !is_recent {
                self.discard(&mut entry);
            }
            is_recent
        });
    }

    fn discard(&self, entry: &mut Entry) {
        entry.removed = true;
        self.metrics.lifecycle.move_pod(entry.state.take(), None);
    }

    fn count(&self, entry: &mut Entry, decision: &Decision) {
        if let Some(state) = state(decision) {
            self.metrics.lifecycle.move_pod(entry.state, Some(state));
            entry.state = Some(state);
        }
        let skip = if let Decision::Skip(skip) = decision { Some(*skip) } else { None };
        if let Some(skip) = skip.filter(|skip| entry.skipped != Some(*skip)) {
            self.metrics.lifecycle.record_skip(skip.code());
        }
        entry.skipped = skip;
    }

    fn find(&self, uid: &str) -> Option<Arc<Mutex<Entry>>> {
        self.pods().get(uid).map(Arc::clone)
    }

    fn pods(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Mutex<Entry>>>> {
        lock(&self.pods)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the state in which a pod is counted; `None` for a finding, which does not change it.
fn state(decision: &Decision) -> Option<&'static str> {
    Some(match decision {
        Decision::Wait { reason: WaitReason::GivenUp, .. } => "given-up",
        Decision::Wait { reason: WaitReason::InFlight | WaitReason::Ending | WaitReason::BackingOff, .. }
        | Decision::Terminate { .. } => "ending",
        Decision::Wait { .. } => "waiting",
        Decision::Skip(SkipReason::Ended | SkipReason::Finished) => "ended",
        Decision::Skip(_) => "skipped",
        Decision::Publish(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use trainmesh_core::lifecycle::Role;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn terminate() -> Decision {
        let action = trainmesh_core::lifecycle::Action::Exec { argv: Vec::new() };
        Decision::Terminate {
            attempt: Attempt {
                method: trainmesh_core::lifecycle::Method::EnvoyAdmin,
                action,
                exit_timeout: Duration::ZERO,
            },
            target: TerminationTarget {
                role: Role::Proxy,
                container: "a".into(),
                id: "1".into(),
                main_restarts: Box::default(),
            },
        }
    }

    fn wait_until(condition: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !condition() {
            assert!(Instant::now() < deadline, "not within 30 s");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_pod_is_counted_once() {
        let metrics = Arc::new(Metrics::default());
        let histories = PodHistories::new(Arc::clone(&metrics));
        let running = Decision::Wait { until: None, reason: WaitReason::PayloadRunning };
        for decision in [running, Decision::Skip(SkipReason::Ended), Decision::Skip(SkipReason::Ended)] {
            histories.decide("1", second(9), None, |_| decision);
        }
        histories.decide("2", second(1), None, |_| Decision::Skip(SkipReason::HostNetwork));
        let has = |line: &str| metrics.encode().lines().any(|found| found == line);
        assert!(has("trainmesh_pods{state=\"waiting\"} 0"));
        assert!(has("trainmesh_pods{state=\"ended\"} 1"));
        assert!(has("trainmesh_pods{state=\"skipped\"} 1"));
        assert!(has("trainmesh_skips_total{reason=\"Ended\"} 1"));
        histories.remove_idle(second(9));
        assert!(has("trainmesh_pods{state=\"skipped\"} 0"), "deleted while no watch was open");
        histories.remove("1");
        assert!(has("trainmesh_pods{state=\"ended\"} 0"));
    }

    #[test]
    fn a_decision_about_one_pod_blocks_no_other() {
        let histories = Arc::new(PodHistories::new(Arc::default()));
        let other = Arc::clone(&histories);
        histories.decide("1", second(0), None, |_| {
            let other = std::thread::spawn(move || {
                other.decide("2", second(0), None, |_| Decision::Skip(SkipReason::Ended));
                other.remove("2");
            });
            wait_until(|| other.is_finished());
            Decision::Skip(SkipReason::Ended)
        });
    }

    #[test]
    fn only_one_of_concurrent_decisions_acts() {
        let histories = PodHistories::new(Arc::default());
        let actions = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    histories.decide("1", second(0), Some(second(9)), |history| {
                        if *history != History::default() {
                            return Decision::Wait { until: None, reason: WaitReason::InFlight };
                        }
                        actions.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        terminate()
                    });
                });
            }
        });
        assert_eq!(actions.into_inner(), 1);
    }

    #[test]
    fn a_pod_deleted_during_a_decision_is_not_counted() {
        let metrics = Arc::new(Metrics::default());
        let histories = PodHistories::new(Arc::clone(&metrics));
        std::thread::scope(|threads| {
            histories.decide("1", second(0), None, |_| {
                threads.spawn(|| histories.remove("1"));
                wait_until(|| histories.pods().is_empty());
                Decision::Skip(SkipReason::Ended)
            });
        });
        let encoded = metrics.encode();
        assert!(encoded.lines().all(|line| !line.starts_with("trainmesh_pods{") || line.ends_with(" 0")), "{encoded}");
    }

    #[test]
    fn each_step_is_taken_once() {
        let histories = PodHistories::new(Arc::default());
        assert!(!histories.is_due("1", Step::WebhookCheck), "unknown pod");
        histories.decide("1", second(0), None, |_| Decision::Skip(SkipReason::Ended));
        for step in [Step::WebhookCheck, Step::RefusalEvent] {
            assert!(histories.is_due("1", step));
            assert!(histories.mark_done("1", step));
            assert!(!histories.mark_done("1", step) && !histories.is_due("1", step));
        }
    }
}
