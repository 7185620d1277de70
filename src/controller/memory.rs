//! What this process knows of each pod beside the pod: what was tried and told, and how it counts in the metrics.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::telemetry::Metrics;
use trainmesh_core::lifecycle::{Attempt, Decision, History, Skip, Step, Target, Why};

/// The memory of all pods, by uid. Losing it is harmless, as at the start of a process.
///
/// Each pod has its own lock. That of the map is held to look one up, never during a decision: how long that takes is up
/// to the pod's author.
pub(super) struct Memory {
    pods: Mutex<HashMap<Box<str>, Arc<Mutex<Entry>>>>,
    metrics: Arc<Metrics>,
}

/// The memory of one pod.
#[derive(Default)]
struct Entry {
    history: History,
    /// When something was decided about it last.
    decided: Timestamp,
    /// As which it counts.
    state: Option<&'static str>,
    /// The reason that was counted last.
    skipped: Option<Skip>,
    /// Whether the webhook's work on it was looked at.
    looked_at: bool,
    /// Whether it was removed from the map: it does not count any more.
    forgotten: bool,
}

impl Memory {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { pods: Mutex::default(), metrics }
    }

    /// Decides about the pod `uid` and notes it in one go, so that of two who ask at the same time only one is told to
    /// act or to tell. `claim` says until when an action counts as under way; without it nothing is begun.
    pub(super) fn decide(
        &self,
        uid: &str,
        now: Timestamp,
        claim: Option<Timestamp>,
        decide: impl FnOnce(&History) -> Decision,
    ) -> Decision {
        let entry = Arc::clone(self.pods().entry(uid.into()).or_default());
        let entry = &mut *lock(&entry);
        entry.decided = now;
        let decision = decide(&entry.history);
        match (&decision, claim) {
            (Decision::End { .. }, Some(until)) => entry.history.begin(until),
            (Decision::Report(report), _) => entry.history.tell(report),
            _ => {}
        }
        if !entry.forgotten {
            self.count(entry, &decision);
        }
        decision
    }

    /// Notes what came of an action.
    pub(super) fn record(&self, uid: &str, target: &Target, step: &Step, attempt: Attempt, now: Timestamp) {
        // A pod that is gone by now needs no memory.
        if let Some(entry) = self.find(uid) {
            lock(&entry).history.record(target, step, attempt, fastrand::f64(), now);
        }
    }

    /// Whether the webhook's work on the pod is still to be looked at.
    pub(super) fn looks_due(&self, uid: &str) -> bool {
        self.find(uid).is_some_and(|entry| !lock(&entry).looked_at)
    }

    /// Notes that it was; whether that is new.
    pub(super) fn looked_at(&self, uid: &str) -> bool {
        self.find(uid).is_some_and(|entry| !std::mem::replace(&mut lock(&entry).looked_at, true))
    }

    /// Forgets a pod that is gone.
    pub(super) fn forget(&self, uid: &str) {
        let removed = self.pods().remove(uid);
        if let Some(entry) = removed {
            self.discard(&mut lock(&entry));
        }
    }

    /// Forgets the pods about which nothing was decided since `then`: they went while nobody watched.
    pub(super) fn forget_idle(&self, then: Timestamp) {
        self.pods().retain(|_, entry| {
            // One that is locked is being decided about.
            let Ok(mut entry) = entry.try_lock() else { return true };
            let stays = entry.decided >= then;
            if !stays {
                self.discard(&mut entry);
            }
            stays
        });
    }

    fn discard(&self, entry: &mut Entry) {
        entry.forgotten = true;
        self.metrics.lifecycle.state_changed(entry.state.take(), None);
    }

    fn count(&self, entry: &mut Entry, decision: &Decision) {
        if let Some(state) = state(decision) {
            self.metrics.lifecycle.state_changed(entry.state, Some(state));
            entry.state = Some(state);
        }
        let skip = if let Decision::Skip(skip) = decision { Some(*skip) } else { None };
        if let Some(skip) = skip.filter(|skip| entry.skipped != Some(*skip)) {
            self.metrics.lifecycle.skipped(skip.code());
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

/// As what a pod counts; what is told about it changes nothing.
fn state(decision: &Decision) -> Option<&'static str> {
    Some(match decision {
        Decision::Wait { why: Why::GivenUp, .. } => "given-up",
        Decision::Wait { why: Why::InFlight | Why::Ending | Why::BackingOff, .. } | Decision::End { .. } => "ending",
        Decision::Wait { .. } => "waiting",
        Decision::Skip(Skip::Ended | Skip::Finished) => "ended",
        Decision::Skip(_) => "skipped",
        Decision::Report(_) => return None,
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

    fn end() -> Decision {
        let action = trainmesh_core::lifecycle::Action::Exec { argv: Vec::new() };
        Decision::End {
            step: Step { method: trainmesh_core::lifecycle::Method::EnvoyAdmin, action, patience: Duration::ZERO },
            target: Target { role: Role::Proxy, container: "a".into(), id: "1".into(), payload_restarts: 0 },
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
    fn a_pod_counts_once() {
        let metrics = Arc::new(Metrics::default());
        let memory = Memory::new(Arc::clone(&metrics));
        let running = Decision::Wait { until: None, why: Why::PayloadRunning };
        for decision in [running, Decision::Skip(Skip::Ended), Decision::Skip(Skip::Ended)] {
            memory.decide("1", second(9), None, |_| decision);
        }
        memory.decide("2", second(1), None, |_| Decision::Skip(Skip::HostNetwork));
        let has = |line: &str| metrics.encode().lines().any(|found| found == line);
        assert!(has("trainmesh_pods{state=\"waiting\"} 0"));
        assert!(has("trainmesh_pods{state=\"ended\"} 1"));
        assert!(has("trainmesh_pods{state=\"skipped\"} 1"));
        assert!(has("trainmesh_skips_total{reason=\"Ended\"} 1"));
        memory.forget_idle(second(9));
        assert!(has("trainmesh_pods{state=\"skipped\"} 0"), "gone while nobody watched");
        memory.forget("1");
        assert!(has("trainmesh_pods{state=\"ended\"} 0"));
    }

    #[test]
    fn a_decision_about_one_pod_holds_up_no_other() {
        let memory = Arc::new(Memory::new(Arc::default()));
        let other = Arc::clone(&memory);
        memory.decide("1", second(0), None, |_| {
            let other = std::thread::spawn(move || {
                other.decide("2", second(0), None, |_| Decision::Skip(Skip::Ended));
                other.forget("2");
            });
            wait_until(|| other.is_finished());
            Decision::Skip(Skip::Ended)
        });
    }

    #[test]
    fn of_two_that_decide_at_the_same_time_only_one_acts() {
        let memory = Memory::new(Arc::default());
        let acts = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    memory.decide("1", second(0), Some(second(9)), |history| {
                        if *history != History::default() {
                            return Decision::Wait { until: None, why: Why::InFlight };
                        }
                        acts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        end()
                    });
                });
            }
        });
        assert_eq!(acts.into_inner(), 1);
    }

    #[test]
    fn a_pod_that_goes_during_a_decision_does_not_count() {
        let metrics = Arc::new(Metrics::default());
        let memory = Memory::new(Arc::clone(&metrics));
        std::thread::scope(|threads| {
            memory.decide("1", second(0), None, |_| {
                threads.spawn(|| memory.forget("1"));
                wait_until(|| memory.pods().is_empty());
                Decision::Skip(Skip::Ended)
            });
        });
        let encoded = metrics.encode();
        assert!(encoded.lines().all(|line| !line.starts_with("trainmesh_pods{") || line.ends_with(" 0")), "{encoded}");
    }

    #[test]
    fn a_pod_is_looked_at_once() {
        let memory = Memory::new(Arc::default());
        assert!(!memory.looks_due("1"), "nobody knows it");
        memory.decide("1", second(0), None, |_| Decision::Skip(Skip::Ended));
        assert!(memory.looks_due("1"));
        assert!(memory.looked_at("1"));
        assert!(!memory.looked_at("1") && !memory.looks_due("1"));
    }
}
