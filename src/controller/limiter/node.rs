//! The places on one node, and whether its kubelet answers.

use std::time::{Duration, Instant};

/// How long a node that did not answer is left alone at first; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// No longer: a node that is back is found within a minute.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A node with pods that wait or are acted on.
#[derive(Debug)]
pub(super) struct Node {
    /// Actions that run on it.
    pub(super) running: usize,
    /// Those of them that belong to namespaces without a proven record.
    pub(super) unproven: usize,
    /// Those of them that belong to slow namespaces.
    pub(super) slow: usize,
    /// Calls in a row that did not reach it.
    failures: u32,
    /// When the next probe is due.
    due: Instant,
    /// Whether one is under way.
    probed: bool,
}

/// Whether a node can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It answered the last call.
    Answers,
    /// It did not, and one call may find out whether it does now.
    ProbeDue,
    /// It did not, and is left alone for so long.
    Paused(Duration),
}

impl Node {
    pub(super) fn new(now: Instant) -> Self {
        Self { running: 0, unproven: 0, slow: 0, failures: 0, due: now, probed: false }
    }

    pub(super) fn health(&self, now: Instant) -> Health {
        match self.failures {
            0 => Health::Answers,
            _ if now < self.due => Health::Paused(self.due - now),
            _ => Health::ProbeDue,
        }
    }

    /// Notes that a probe is under way: the others wait for what comes of it.
    pub(super) fn probe(&mut self, now: Instant) {
        self.probed = true;
        self.due = now + pause(self.failures);
    }

    /// Notes that a call did not reach the node. Calls that were under way together failed together, and count once.
    /// Returns the failures in a row where this one counts.
    pub(super) fn failed(&mut self, now: Instant) -> Option<u32> {
        if self.failures > 0 && !self.probed {
            return None;
        }
        self.failures += 1;
        self.probed = false;
        self.due = now + pause(self.failures);
        Some(self.failures)
    }

    /// Notes that a call reached the node; whether that is news.
    pub(super) fn answered(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && self.failures == 0
    }
}

fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_does_not_answer_is_left_alone_for_a_doubling_time() {
        let mut now = Instant::now();
        let mut node = Node::new(now);
        for (round, expected) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            assert!(node.failed(now).is_some());
            assert_eq!(node.failed(now), None, "failed together with the first");
            assert_eq!(node.health(now), Health::Paused(Duration::from_secs(expected)), "round {round}");
            now += Duration::from_secs(expected);
            assert_eq!(node.health(now), Health::ProbeDue);
            node.probe(now);
            assert!(matches!(node.health(now), Health::Paused(_)), "the others wait for it");
            now += Duration::from_millis(10);
        }
        assert!(node.answered() && !node.answered());
        assert_eq!(node.health(now), Health::Answers);
    }
}
