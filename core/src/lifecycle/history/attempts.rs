//! Attempts on one container, and when the next one is due.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::lifecycle::{Attempt, AttemptOutcome, AttemptResult, Method, Role, TerminationTarget};

/// Backoff after the first round of methods; it doubles with each round.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// The longest backoff: a granted permission or a recovered node takes effect within a minute.
const MAX_BACKOFF: Duration = Duration::from_mins(1);
/// Backoff after the deadline, so that thousands of such pods put no load on the apiserver.
const GIVEN_UP_BACKOFF: Duration = Duration::from_hours(1);
/// Number of consecutive attempts that do not reach the container after which the node counts as unreachable.
const UNREACHABLE_THRESHOLD: u32 = 5;
/// Number of rounds after which the deadline counts as exceeded: a problem that persists for so long is not transient.
const MAX_ROUNDS: u32 = 10;
/// Time after which a failure is reported, whatever the number of rounds.
const ATTEMPTS_DEADLINE: SignedDuration = SignedDuration::from_mins(15);

/// The attempts on one container.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::lifecycle) struct ContainerAttempts {
    container: Box<str>,
    role: Role,
    /// ID of the instance of the last attempt.
    id: Box<str>,
    /// Number of instances with an attempt.
    instances: u32,
    /// Methods tried in this round.
    tried: Vec<Method>,
    /// Number of rounds before this one.
    completed_rounds: u32,
    /// Number of consecutive attempts that did not reach the container.
    unreached: u32,
    /// Number of attempts that timed out. The next attempt backs off, because each of them occupied a permit that other
    /// pods wait for.
    timeouts: u32,
    /// Time of the first attempt, or of the first one after the node was unreachable.
    first_at: Timestamp,
    /// When to evaluate or to repeat the last attempt.
    next_at: Timestamp,
    /// Spreads the retries of pods that completed together.
    jitter: f64,
    /// The last method that may have terminated this instance.
    last_effective_method: Option<Method>,
    last: (Method, AttemptOutcome),
}

/// When the next attempt on a container is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lifecycle) enum NextAttempt {
    /// The method with this index is due.
    Due(usize),
    /// Waiting for the container to exit.
    Terminating(Timestamp),
    /// The next attempt is due later.
    BackingOff(Timestamp),
    /// The deadline is exceeded; the next round is due later.
    GivenUp(Timestamp),
}

impl ContainerAttempts {
    pub(super) fn new(target: &TerminationTarget, method: Method, now: Timestamp) -> Self {
        Self {
            container: target.container.clone(),
            role: target.role,
            id: target.id.clone(),
            instances: 1,
            tried: Vec::new(),
            completed_rounds: 0,
            unreached: 0,
            timeouts: 0,
            first_at: now,
            next_at: now,
            jitter: 0.0,
            last_effective_method: None,
            last: (method, AttemptOutcome { result: AttemptResult::Failed, detail: String::new() }),
        }
    }

    /// Selects the instance `id`. A new instance counts as a round, so that a container that is restarted repeatedly is
    /// terminated ever more rarely. The methods tried in the current round are kept, so that the next attempt does
    /// not repeat the method after which the kubelet restarted the container.
    pub(super) fn select_instance(&mut self, id: &str) {
        if *self.id != *id {
            self.id = id.into();
            self.instances += 1;
            self.completed_rounds += 1;
            self.last_effective_method = None;
        }
    }

    /// Records the outcome of `attempt`.
    pub(super) fn record(&mut self, attempt: &Attempt, outcome: AttemptOutcome, jitter: f64, now: Timestamp) {
        let result = outcome.result;
        self.jitter = jitter;
        if result.may_have_terminated() {
            self.last_effective_method = Some(attempt.method);
        }
        if !result.is_conclusive() {
            self.unreached += 1;
        } else if std::mem::take(&mut self.unreached) >= UNREACHABLE_THRESHOLD {
            // The node is back: attempts made while it was unreachable do not count.
            self.first_at = now;
            self.completed_rounds = 0;
            self.tried.clear();
        }
        self.mark_tried(attempt.method, result);
        let wait = match result {
            AttemptResult::Sent => attempt.exit_timeout,
            AttemptResult::PodGone => MAX_BACKOFF,
            AttemptResult::Unreachable | AttemptResult::ContainerGone => backoff(self.unreached - 1, jitter),
            AttemptResult::TimedOut => {
                self.timeouts += 1;
                backoff(self.timeouts - 1, jitter)
            }
            _ => Duration::ZERO,
        };
        self.next_at = now + wait;
        self.last = (attempt.method, outcome);
    }

    /// Marks `method` as tried, in a new round if this one contains it already. A missing permission affects all
    /// methods that use the same subresource.
    fn mark_tried(&mut self, method: Method, result: AttemptResult) {
        if self.tried.contains(&method) {
            self.tried.clear();
            self.completed_rounds += 1;
        }
        self.tried.push(method);
        if result == AttemptResult::Forbidden {
            let same_permission = Method::ALL.into_iter().filter(|other| other.subresource() == method.subresource());
            self.tried.extend(same_permission.filter(|other| *other != method));
        }
    }

    /// Returns when the next attempt on the running instance `id` is due, with `methods` in order of preference.
    pub(in crate::lifecycle) fn next_attempt(&self, id: &str, methods: &[Method], now: Timestamp) -> NextAttempt {
        let untried = methods.iter().position(|method| !self.tried.contains(method));
        if *self.id != *id {
            // The second instance is terminated at once, every later one after a backoff.
            let next = NextAttempt::Due(untried.unwrap_or(0));
            return if self.instances == 1 { next } else { self.after_backoff(next, now) };
        }
        if now < self.next_at {
            let sent = self.last.1.result == AttemptResult::Sent;
            return if sent { NextAttempt::Terminating(self.next_at) } else { NextAttempt::BackingOff(self.next_at) };
        }
        match untried {
            Some(index) => NextAttempt::Due(index),
            // The node is unreachable: each attempt has had its own backoff.
            None if self.unreached as usize >= methods.len() => NextAttempt::Due(0),
            None => self.after_backoff(NextAttempt::Due(0), now),
        }
    }

    /// Returns `next` once the backoff after this round is over.
    fn after_backoff(&self, next: NextAttempt, now: Timestamp) -> NextAttempt {
        let given_up = self.deadline_exceeded(now);
        let forbidden = self.last.1.result == AttemptResult::Forbidden;
        let wait = if given_up {
            GIVEN_UP_BACKOFF
        } else if forbidden {
            MAX_BACKOFF
        } else {
            backoff(self.completed_rounds, self.jitter)
        };
        let due = self.next_at + wait;
        if now >= due {
            next
        } else if given_up {
            NextAttempt::GivenUp(due)
        } else {
            NextAttempt::BackingOff(due)
        }
    }

    /// Returns the name of the container.
    pub(super) fn container(&self) -> &str {
        &self.container
    }

    /// Returns the role of the container.
    pub(in crate::lifecycle) fn role(&self) -> Role {
        self.role
    }

    /// Returns the ID of the instance of the last attempt.
    pub(in crate::lifecycle) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the last method that may have terminated this instance.
    pub(in crate::lifecycle) fn last_effective_method(&self) -> Option<Method> {
        self.last_effective_method
    }

    /// Returns true if an exit of this instance may be the effect of an attempt.
    pub(in crate::lifecycle) fn may_have_terminated(&self) -> bool {
        self.last_effective_method.is_some()
    }

    /// Returns method and outcome of the last attempt.
    pub(in crate::lifecycle) fn last(&self) -> (Method, &AttemptOutcome) {
        (self.last.0, &self.last.1)
    }

    /// Returns true if the limit of rounds or of time is reached.
    pub(in crate::lifecycle) fn deadline_exceeded(&self, now: Timestamp) -> bool {
        self.completed_rounds + 1 >= MAX_ROUNDS || now.duration_since(self.first_at) >= ATTEMPTS_DEADLINE
    }
}

/// Returns the backoff after `rounds` rounds: one half is fixed, the other is scaled by `jitter`.
fn backoff(rounds: u32, jitter: f64) -> Duration {
    let whole = INITIAL_BACKOFF.saturating_mul(1 << rounds.min(16)).min(MAX_BACKOFF);
    whole.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}
