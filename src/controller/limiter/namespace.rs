//! Quota of a namespace, which depends on the duration of its previous actions.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::limits::MAX_ACTIONS;

/// Time for which a namespace counts as slow after a slow action; doubles with each further one. Long compared with the
/// timeout of an action (10 s), so that slow actions hold a slot for a small fraction of the time.
const FIRST_PENALTY: Duration = Duration::from_secs(30);
/// Upper bound: a namespace whose pods have been fixed recovers within minutes.
const MAX_PENALTY: Duration = Duration::from_mins(10);
/// Time for which the entry of an idle namespace is kept: the jobs of a team tend to complete within the same hour.
const RETENTION: Duration = Duration::from_hours(1);

/// A namespace with queued pods, running actions, or actions within the last hour.
#[derive(Debug)]
pub(super) struct Namespace<T> {
    /// Queued pods, each with its node.
    pub(super) queue: VecDeque<(Box<str>, T)>,
    /// Turns and actions per node.
    per_node: HashMap<Box<str>, usize>,
    /// Turns and actions in total.
    taken: usize,
    /// Set once an action has completed in time.
    proven: bool,
    /// Number of slow actions; concurrent ones count once.
    slow_actions: u32,
    /// Time of the last counted slow action.
    last_slow_action: Option<Instant>,
    /// Time until which the namespace counts as slow.
    slow_until: Option<Instant>,
    last_used: Instant,
}

/// Class of a namespace by its previous actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// An action has completed in time.
    Proven,
    /// No action has completed yet.
    New,
    /// An action was slow recently.
    Slow,
}

impl Class {
    /// Returns the maximum number of concurrent actions of one namespace.
    fn quota(self) -> usize {
        match self {
            // Half of the slots.
            Self::Proven => MAX_ACTIONS / 2,
            // The first action takes 100 ms, or shows that the namespace is slow.
            Self::New => 8,
            // Enough to detect a recovery.
            Self::Slow => 2,
        }
    }

    /// Returns the maximum number of concurrent actions of one namespace on a node with this limit.
    fn node_quota(self, limit: usize) -> usize {
        match self {
            Self::Proven => limit / 2,
            // Several namespaces with slow actions on one node are needed to delay another new one, once.
            Self::New => limit / 4,
            Self::Slow => 1,
        }
    }
}

impl<T> Namespace<T> {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            queue: VecDeque::new(),
            per_node: HashMap::new(),
            taken: 0,
            proven: false,
            slow_actions: 0,
            last_slow_action: None,
            slow_until: None,
            last_used: now,
        }
    }

    pub(super) fn class(&self, now: Instant) -> Class {
        match self.slow_until {
            Some(until) if now < until => Class::Slow,
            _ if self.proven => Class::Proven,
            _ => Class::New,
        }
    }

    /// Returns true if the quota allows another action on some node.
    pub(super) fn has_capacity(&self, now: Instant) -> bool {
        self.taken < self.class(now).quota()
    }

    /// Returns true if the quota allows another action on this node, which has this limit.
    pub(super) fn has_capacity_on(&self, node: &str, limit: usize, now: Instant) -> bool {
        self.per_node.get(node).copied().unwrap_or_default() < self.class(now).node_quota(limit)
    }

    /// Charges the quota for a turn on `node` and the action that may follow it.
    pub(super) fn charge(&mut self, node: &str, now: Instant) {
        self.last_used = now;
        self.taken += 1;
        *self.per_node.entry(node.into()).or_default() += 1;
    }

    /// Reverts [`Self::charge`].
    pub(super) fn refund(&mut self, node: &str) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(taken) = self.per_node.get_mut(node) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                self.per_node.remove(node);
            }
        }
    }

    /// Records an action that completed in time.
    pub(super) fn record_timely(&mut self, now: Instant) {
        self.last_used = now;
        self.proven = true;
    }

    /// Records a slow action that took `elapsed`. Concurrent ones count once.
    pub(super) fn record_slow(&mut self, elapsed: Duration, now: Instant) {
        self.last_used = now;
        self.proven = false;
        let recovered = self.slow_until.is_some_and(|until| now >= until + penalty(self.slow_actions));
        if recovered {
            self.slow_actions = 0;
        }
        if self.last_slow_action.is_none_or(|last| last + elapsed <= now) {
            self.slow_actions += 1;
            self.last_slow_action = Some(now);
        }
        self.slow_until = Some(now + penalty(self.slow_actions));
    }

    /// Returns true if the entry can be removed.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.queue.is_empty() && self.taken == 0 && now.saturating_duration_since(self.last_used) > RETENTION
    }
}

fn penalty(slow_actions: u32) -> Duration {
    FIRST_PENALTY.saturating_mul(1 << slow_actions.saturating_sub(1).min(16)).min(MAX_PENALTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_class_follows_the_actions() {
        let start = Instant::now();
        let mut namespace = Namespace::<()>::new(start);
        assert_eq!(namespace.class(start), Class::New);
        namespace.record_timely(start);
        assert_eq!(namespace.class(start), Class::Proven);
        namespace.record_slow(TIMEOUT, start);
        assert_eq!(namespace.class(start), Class::Slow);
        namespace.record_timely(start + seconds(1));
        assert_eq!(namespace.class(start + seconds(29)), Class::Slow, "one timely action does not shorten it");
        assert_eq!(namespace.class(start + seconds(30)), Class::Proven);
    }

    #[test]
    fn penalties_double_and_are_reset() {
        let mut now = Instant::now();
        let mut namespace = Namespace::<()>::new(now);
        for expected in [30, 60, 120, 240, 480, 600, 600] {
            // Four concurrent actions.
            for _ in 0..4 {
                namespace.record_slow(TIMEOUT, now);
            }
            assert_eq!(namespace.slow_until, Some(now + seconds(expected)));
            now += seconds(expected);
        }
        now += MAX_PENALTY;
        namespace.record_slow(TIMEOUT, now);
        assert_eq!(namespace.slow_until, Some(now + FIRST_PENALTY), "reset after a long time without a slow action");
    }

    #[test]
    fn charges_are_refunded() {
        let now = Instant::now();
        let mut namespace = Namespace::<()>::new(now);
        namespace.charge("a", now);
        assert!(namespace.has_capacity_on("a", 8, now));
        namespace.charge("a", now);
        assert!(
            !namespace.has_capacity_on("a", 8, now) && namespace.has_capacity_on("b", 8, now),
            "a quarter of each node at first"
        );
        namespace.refund("a");
        assert!(!namespace.is_expired(now + 2 * RETENTION));
        namespace.refund("a");
        assert!(namespace.has_capacity_on("a", 8, now) && namespace.has_capacity(now) && namespace.per_node.is_empty());
        assert!(!namespace.is_expired(now + RETENTION) && namespace.is_expired(now + 2 * RETENTION));
    }
}
