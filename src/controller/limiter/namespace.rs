//! What one namespace may take, by how its actions went so far.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::limits::{ACTIONS, PER_NODE};

/// How long a namespace counts as slow after an action of its took long; it doubles with each further one. Long against
/// the time-out of an action (10 s), so that slow actions hold a place for a small part of the time only.
const FIRST_PENALTY: Duration = Duration::from_secs(30);
/// No longer: a team that has repaired its pods is not held up for the rest of the day.
const LONGEST_PENALTY: Duration = Duration::from_mins(10);
/// How long an idle namespace is remembered: jobs of one team end within the hour.
const MEMORY: Duration = Duration::from_hours(1);

/// A namespace with pods that wait, are acted on, or were within the last hour.
#[derive(Debug)]
pub(super) struct Namespace<T> {
    /// Its pods in line, each with its node.
    pub(super) line: VecDeque<(Box<str>, T)>,
    /// Its turns and actions on each node.
    on_nodes: HashMap<Box<str>, usize>,
    /// All of its turns and actions.
    taken: usize,
    /// Whether an action of its ended in good time.
    proven: bool,
    /// Actions that took long, those that ran together counted once.
    offences: u32,
    /// When the last of them was counted.
    last_offence: Option<Instant>,
    /// Until when it counts as slow.
    slow_until: Option<Instant>,
    used: Instant,
}

/// How the actions of a namespace went so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// An action ended in good time.
    Proven,
    /// None has ended yet.
    New,
    /// One took long a short time ago.
    Slow,
}

impl Class {
    /// Actions at once of one namespace: in all, and on one node.
    fn share(self) -> (usize, usize) {
        match self {
            // Half of the places.
            Self::Proven => (ACTIONS / 2, PER_NODE / 2),
            // Its first action takes a tenth of a second, or shows that the namespace is slow.
            Self::New => (8, 1),
            // Enough to see that it has become better.
            Self::Slow => (2, 1),
        }
    }
}

impl<T> Namespace<T> {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            line: VecDeque::new(),
            on_nodes: HashMap::new(),
            taken: 0,
            proven: false,
            offences: 0,
            last_offence: None,
            slow_until: None,
            used: now,
        }
    }

    pub(super) fn class(&self, now: Instant) -> Class {
        match self.slow_until {
            Some(until) if now < until => Class::Slow,
            _ if self.proven => Class::Proven,
            _ => Class::New,
        }
    }

    /// Whether its share has room for one more action on some node.
    pub(super) fn has_share(&self, now: Instant) -> bool {
        self.taken < self.class(now).share().0
    }

    /// Whether its share of this node has room for one more action.
    pub(super) fn has_share_of(&self, node: &str, now: Instant) -> bool {
        self.on_nodes.get(node).copied().unwrap_or_default() < self.class(now).share().1
    }

    /// Charges a turn, which an action may follow, on `node`.
    pub(super) fn take(&mut self, node: &str, now: Instant) {
        self.used = now;
        self.taken += 1;
        *self.on_nodes.entry(node.into()).or_default() += 1;
    }

    /// Takes back what [`Self::take`] charged.
    pub(super) fn give_back(&mut self, node: &str) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(taken) = self.on_nodes.get_mut(node) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                self.on_nodes.remove(node);
            }
        }
    }

    /// Notes an action that ended in good time.
    pub(super) fn ended(&mut self, now: Instant) {
        self.used = now;
        self.proven = true;
    }

    /// Notes an action that took long, of `lasted`. Actions that ran together count once.
    pub(super) fn took_long(&mut self, lasted: Duration, now: Instant) {
        self.used = now;
        self.proven = false;
        let clean = self.slow_until.is_some_and(|until| now >= until + penalty(self.offences));
        if clean {
            self.offences = 0;
        }
        if self.last_offence.is_none_or(|last| last + lasted <= now) {
            self.offences += 1;
            self.last_offence = Some(now);
        }
        self.slow_until = Some(now + penalty(self.offences));
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_forgotten(&self, now: Instant) -> bool {
        self.line.is_empty() && self.taken == 0 && now.saturating_duration_since(self.used) > MEMORY
    }
}

fn penalty(offences: u32) -> Duration {
    FIRST_PENALTY.saturating_mul(1 << offences.saturating_sub(1).min(16)).min(LONGEST_PENALTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_namespace_shows_how_it_is() {
        let start = Instant::now();
        let mut namespace = Namespace::<()>::new(start);
        assert_eq!(namespace.class(start), Class::New);
        namespace.ended(start);
        assert_eq!(namespace.class(start), Class::Proven);
        namespace.took_long(TIMEOUT, start);
        assert_eq!(namespace.class(start), Class::Slow);
        namespace.ended(start + seconds(1));
        assert_eq!(namespace.class(start + seconds(29)), Class::Slow, "one good action does not shorten it");
        assert_eq!(namespace.class(start + seconds(30)), Class::Proven);
    }

    #[test]
    fn penalties_double_and_are_forgotten() {
        let mut now = Instant::now();
        let mut namespace = Namespace::<()>::new(now);
        for expected in [30, 60, 120, 240, 480, 600, 600] {
            // Four actions that ran together.
            for _ in 0..4 {
                namespace.took_long(TIMEOUT, now);
            }
            assert_eq!(namespace.slow_until, Some(now + seconds(expected)));
            now += seconds(expected);
        }
        now += LONGEST_PENALTY;
        namespace.took_long(TIMEOUT, now);
        assert_eq!(namespace.slow_until, Some(now + FIRST_PENALTY), "as good as new after as long without any");
    }

    #[test]
    fn what_is_taken_comes_back() {
        let now = Instant::now();
        let mut namespace = Namespace::<()>::new(now);
        namespace.take("a", now);
        assert!(!namespace.has_share_of("a", now) && namespace.has_share_of("b", now), "one on a node at first");
        assert!(!namespace.is_forgotten(now + 2 * MEMORY));
        namespace.give_back("a");
        assert!(namespace.has_share_of("a", now) && namespace.has_share(now) && namespace.on_nodes.is_empty());
        assert!(!namespace.is_forgotten(now + MEMORY) && namespace.is_forgotten(now + 2 * MEMORY));
    }
}
