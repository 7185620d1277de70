//! What has been tried on one container, and when the next try is due.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::lifecycle::{Attempt, AttemptResult, Method, Role, Step, Target};

/// The first pause between two rounds of the ladder; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: a cure (a right granted, a node back) takes effect within a minute.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The pause after giving up: an apiserver with thousands of such pods does not feel it.
const RARE_PAUSE: Duration = Duration::from_hours(1);
/// So many tries in a row reach nothing only where the node is away.
const LOST: u32 = 5;
/// The round that is the last but for a rare one: what hinders so many is no passing state.
const ROUNDS: u32 = 10;
/// After so long somebody should be told, whatever the number of rounds.
const LIMIT: SignedDuration = SignedDuration::from_mins(15);
/// What has been tried on one container.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::lifecycle) struct Tries {
    container: Box<str>,
    role: Role,
    /// The instance that was tried last.
    id: Box<str>,
    /// How many instances of the container have been told to end.
    instances: u32,
    /// The ways that this round has tried.
    round: Vec<Method>,
    /// Rounds before this one.
    rounds: u32,
    /// Tries in a row that did not reach the container.
    misses: u32,
    /// Tries that timed out: each held a place that others wait for.
    timeouts: u32,
    first: Timestamp,
    /// When the effect of the last try is to be judged, or the try to be repeated.
    next: Timestamp,
    /// Spreads the pauses of pods that ended together.
    jitter: f64,
    /// The last way by which this instance may have been told to end.
    delivered: Option<Method>,
    last: (Method, Attempt),
}

/// How far the attempts on a container have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lifecycle) enum Progress {
    /// This step of the ladder is due.
    Due(usize),
    /// An effect is waited for.
    Ending(Timestamp),
    /// The next try is due later.
    BackingOff(Timestamp),
    /// All was tried often enough; the next round is due later.
    GivenUp(Timestamp),
}

impl Tries {
    pub(super) fn new(target: &Target, method: Method, now: Timestamp) -> Self {
        Self {
            container: target.container.clone(),
            role: target.role,
            id: target.id.clone(),
            instances: 1,
            round: Vec::new(),
            rounds: 0,
            misses: 0,
            timeouts: 0,
            first: now,
            next: now,
            jitter: 0.0,
            delivered: None,
            last: (method, Attempt { result: AttemptResult::Failed, detail: String::new() }),
        }
    }

    /// Turns to instance `id`. Another one than before counts as a round, so that a container that comes back again and
    /// again is told to end ever more rarely; the way that made it come back is not the next one to be tried.
    pub(super) fn turn_to(&mut self, id: &str) {
        if *self.id != *id {
            self.id = id.into();
            self.instances += 1;
            self.rounds += 1;
            self.delivered = None;
        }
    }

    /// Notes what came of `step`.
    pub(super) fn record(&mut self, step: &Step, attempt: Attempt, jitter: f64, now: Timestamp) {
        let result = attempt.result;
        self.jitter = jitter;
        if result.may_have_ended() {
            self.delivered = Some(step.method);
        }
        if !result.reached() {
            self.misses += 1;
        } else if std::mem::take(&mut self.misses) >= LOST {
            // The node is back: what was tried while it was away says nothing.
            self.first = now;
            self.rounds = 0;
            self.round.clear();
        }
        self.mark(step.method, result);
        let wait = match result {
            AttemptResult::Sent => step.patience,
            AttemptResult::PodGone => LONGEST_PAUSE,
            AttemptResult::Unreachable | AttemptResult::ContainerGone => pause(self.misses - 1, jitter),
            AttemptResult::TimedOut => {
                self.timeouts += 1;
                pause(self.timeouts - 1, jitter)
            }
            _ => Duration::ZERO,
        };
        self.next = now + wait;
        self.last = (step.method, attempt);
    }

    /// Marks `method` as tried, which begins a new round where this one has tried it already. A right that is missing
    /// is missing for every method of its kind.
    fn mark(&mut self, method: Method, result: AttemptResult) {
        if self.round.contains(&method) {
            self.round.clear();
            self.rounds += 1;
        }
        self.round.push(method);
        if result == AttemptResult::Forbidden {
            let alike = Method::ALL.into_iter().filter(|other| other.subresource() == method.subresource());
            self.round.extend(alike.filter(|other| *other != method));
        }
    }

    /// How far the attempts have come on instance `id`, which runs, by a ladder of `methods`.
    pub(in crate::lifecycle) fn progress(&self, id: &str, methods: &[Method], now: Timestamp) -> Progress {
        let untried = methods.iter().position(|method| !self.round.contains(method));
        if *self.id != *id {
            // One more try at once, then none without a pause.
            let next = Progress::Due(untried.unwrap_or(0));
            return if self.instances == 1 { next } else { self.after_pause(next, now) };
        }
        if now < self.next {
            let ending = self.last.1.result == AttemptResult::Sent;
            return if ending { Progress::Ending(self.next) } else { Progress::BackingOff(self.next) };
        }
        match untried {
            Some(step) => Progress::Due(step),
            // A node that is away is asked again for as long as it is: each try has made its own pause.
            None if self.misses as usize >= methods.len() => Progress::Due(0),
            None => self.after_pause(Progress::Due(0), now),
        }
    }

    /// `next`, when the pause after this round is over.
    fn after_pause(&self, next: Progress, now: Timestamp) -> Progress {
        let given_up = self.overdue(now);
        let forbidden = self.last.1.result == AttemptResult::Forbidden;
        let pause = match () {
            () if given_up => RARE_PAUSE,
            () if forbidden => LONGEST_PAUSE,
            () => pause(self.rounds, self.jitter),
        };
        let due = self.next + pause;
        match () {
            () if now >= due => next,
            () if given_up => Progress::GivenUp(due),
            () => Progress::BackingOff(due),
        }
    }

    /// The container's name.
    pub(super) fn container(&self) -> &str {
        &self.container
    }

    /// What the container is to its pod.
    pub(in crate::lifecycle) fn role(&self) -> Role {
        self.role
    }

    /// The instance that was tried last.
    pub(in crate::lifecycle) fn id(&self) -> &str {
        &self.id
    }

    /// The last way by which this instance may have been told to end.
    pub(in crate::lifecycle) fn delivered(&self) -> Option<Method> {
        self.delivered
    }

    /// Whether an end of this instance is our doing.
    pub(in crate::lifecycle) fn may_be_obeyed(&self) -> bool {
        self.delivered.is_some()
    }

    /// The last try.
    pub(in crate::lifecycle) fn last(&self) -> (Method, &Attempt) {
        (self.last.0, &self.last.1)
    }

    /// Whether all this has gone on for too long.
    pub(in crate::lifecycle) fn overdue(&self, now: Timestamp) -> bool {
        self.rounds + 1 >= ROUNDS || now.duration_since(self.first) >= LIMIT
    }
}

/// The pause after `rounds` rounds: half of it fixed, half by `jitter`.
fn pause(rounds: u32, jitter: f64) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << rounds.min(16)).min(LONGEST_PAUSE);
    whole.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}
