//! Slots of one node and the health of its kubelet.

use std::time::{Duration, Instant};

use super::limits::{BUSY, MAX_PER_NODE, MAX_SLOW_PER_NODE, MIN_PER_NODE, QUICK};
use super::namespace::Class;

/// Time for which an unresponsive node is paused at first; doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Upper bound: a recovered node is detected within a minute.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// A node with queued pods or running actions.
#[derive(Debug)]
pub(super) struct Node {
    /// Running actions.
    pub(super) running: usize,
    /// Those in namespaces that are not proven.
    pub(super) unproven: usize,
    /// Those in slow namespaces.
    pub(super) slow: usize,
    /// Maximum number of running actions.
    limit: usize,
    /// Consecutive calls that did not reach the node.
    failures: u32,
    /// Time at which the next probe is due.
    due: Instant,
    /// Set while a probe is in flight.
    probing: bool,
}

/// Health of a node's kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It responded to the last call.
    Reachable,
    /// It did not respond, and a probe may be sent.
    ProbeDue,
    /// It did not respond, and is paused for this time.
    Paused(Duration),
}

impl Node {
    pub(super) fn new(now: Instant) -> Self {
        Self { running: 0, unproven: 0, slow: 0, limit: MIN_PER_NODE, failures: 0, due: now, probing: false }
    }

    /// Returns true if an action of this class could run.
    pub(super) fn has_slot(&self, class: Class) -> bool {
        self.running < self.limit
            && (class == Class::Proven || self.unproven < self.limit / 2)
            && (class != Class::Slow || self.slow < MAX_SLOW_PER_NODE)
    }

    /// Returns the maximum number of running actions.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Records an action that completed after `elapsed`, which shows how busy the node is.
    pub(super) fn record_duration(&mut self, elapsed: Duration) {
        if elapsed <= QUICK {
            self.limit = (self.limit + 1).min(MAX_PER_NODE);
        } else if elapsed >= BUSY {
            self.limit = (self.limit - 1).max(MIN_PER_NODE);
        }
    }

    pub(super) fn health(&self, now: Instant) -> Health {
        match self.failures {
            0 => Health::Reachable,
            _ if now < self.due => Health::Paused(self.due - now),
            _ => Health::ProbeDue,
        }
    }

    /// Records the start of a probe, whose result the other pods await.
    pub(super) fn start_probe(&mut self, now: Instant) {
        self.probing = true;
        self.due = now + pause(self.failures);
    }

    /// Records a call that did not reach the node. Concurrent failures count once. Returns the number of consecutive
    /// failures if this one counts.
    pub(super) fn record_failure(&mut self, now: Instant) -> Option<u32> {
        if self.failures > 0 && !self.probing {
            return None;
        }
        self.failures += 1;
        self.probing = false;
        self.due = now + pause(self.failures);
        Some(self.failures)
    }

    /// Records a call that reached the node; returns true if the node was unresponsive before.
    pub(super) fn record_response(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }

    /// Returns true if the entry can be removed.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && self.failures == 0
    }
}

fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_duration_of_actions() {
        let mut node = Node::new(Instant::now());
        let mut after = |count: usize, duration: Duration| {
            (0..count).for_each(|_| node.record_duration(duration));
            node.limit()
        };
        let instant = Duration::from_millis(1);
        assert_eq!(after(3, QUICK), MIN_PER_NODE + 3);
        assert_eq!(after(3, QUICK + instant), MIN_PER_NODE + 3);
        assert_eq!(after(3, BUSY.saturating_sub(instant)), MIN_PER_NODE + 3);
        assert_eq!(after(2, BUSY), MIN_PER_NODE + 1);
        assert_eq!(after(5, BUSY), MIN_PER_NODE);
        assert_eq!(after(100, instant), MAX_PER_NODE);
    }

    #[test]
    fn slots_are_reserved_for_better_classes() {
        let mut node = Node::new(Instant::now());
        let mut check = |running: usize, unproven: usize, slow: usize, expected: [bool; 3]| {
            (node.running, node.unproven, node.slow) = (running, unproven, slow);
            let found = [Class::Slow, Class::New, Class::Proven].map(|class| node.has_slot(class));
            assert_eq!(found, expected, "{running} running, {unproven} unproven, {slow} slow");
        };
        check(1, 1, 1, [true, true, true]);
        check(MAX_SLOW_PER_NODE, MAX_SLOW_PER_NODE, MAX_SLOW_PER_NODE, [false, true, true]);
        check(MIN_PER_NODE / 2, MIN_PER_NODE / 2, 0, [false, false, true]);
        check(MIN_PER_NODE, 0, 0, [false, false, false]);
    }

    #[test]
    fn an_unresponsive_node_is_paused_with_exponential_backoff() {
        let mut now = Instant::now();
        let mut node = Node::new(now);
        for (round, expected) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            assert!(node.record_failure(now).is_some());
            assert_eq!(node.record_failure(now), None, "a concurrent failure counts once");
            assert_eq!(node.health(now), Health::Paused(Duration::from_secs(expected)), "round {round}");
            now += Duration::from_secs(expected);
            assert_eq!(node.health(now), Health::ProbeDue);
            node.start_probe(now);
            assert!(matches!(node.health(now), Health::Paused(_)), "other pods wait for the probe");
            now += Duration::from_millis(10);
        }
        assert!(node.record_response() && !node.record_response());
        assert_eq!(node.health(now), Health::Reachable);
    }
}
