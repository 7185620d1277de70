//! The memory of one pod: what has been tried on which container, and what has been told.
//!
//! Bounded by the pod: one entry for each container that was told to end, one for each finding about a container.
//! Forgetting it is harmless: the ladder starts at its foot again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Attempt, AttemptResult, Finding, Method, Report, Step, Target};

/// The first pause between two rounds of the ladder; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: a cure (a right granted, a node back) takes effect within a minute.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The pause after giving up: an apiserver with thousands of such pods does not feel it.
const RARE_PAUSE: Duration = Duration::from_hours(1);
/// After so many rounds another one will not help: what hinders them is no passing state.
const ROUNDS: u32 = 10;
/// After so long somebody should be told, whatever the number of rounds.
const LIMIT: SignedDuration = SignedDuration::from_mins(15);
/// How much of an answer is kept for the event: the first line of an error fits.
const DETAIL_BYTES: usize = 256;

/// The memory of one pod, keyed by its uid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    tries: Vec<Tries>,
    told: Vec<(Finding, Option<Box<str>>)>,
    in_flight: Option<Timestamp>,
    payload_restarts: Option<u64>,
}

/// What has been tried on one container.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tries {
    container: Box<str>,
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
pub(super) enum Progress {
    /// This step of the ladder is due.
    Due(usize),
    /// An effect is waited for.
    Ending(Timestamp),
    /// The next try is due later.
    BackingOff(Timestamp),
    /// All was tried often enough; the next round is due later.
    GivenUp(Timestamp),
}

impl History {
    /// Notes that an action is under way. No other one is decided upon until it is recorded, or until `until`, by when
    /// whoever carries it out has surely come to an end.
    pub fn begin(&mut self, until: Timestamp) {
        self.in_flight = Some(until);
    }

    /// Notes what came of an action. `jitter`, in 0..1, spreads the pauses of pods that ended together.
    pub fn record(&mut self, target: &Target, step: &Step, mut attempt: Attempt, jitter: f64, now: Timestamp) {
        self.in_flight = None;
        let result = attempt.result;
        attempt.detail = shortened(attempt.detail);
        if result.may_have_ended() && self.payload_restarts.is_none() {
            self.payload_restarts = Some(target.payload_restarts);
        }
        let tries = self.tries_on(target, step.method, now);
        tries.jitter = jitter;
        if result.may_have_ended() {
            tries.delivered = Some(step.method);
        }
        tries.misses = if result.reached() { 0 } else { tries.misses + 1 };
        if result.reached() {
            tries.mark(step.method, result);
        }
        tries.next = now
            + match result {
                AttemptResult::Sent => step.patience,
                AttemptResult::PodGone => LONGEST_PAUSE,
                AttemptResult::Unreachable | AttemptResult::ContainerGone => pause(tries.misses - 1, jitter),
                _ => Duration::ZERO,
            };
        tries.last = (step.method, attempt);
    }

    /// Notes that `report` has been told.
    pub fn tell(&mut self, report: &Report) {
        if !self.told(report) {
            self.told.push((report.finding, report.container.clone()));
        }
    }

    /// Whether this finding about this container has been told.
    #[must_use]
    pub fn told(&self, report: &Report) -> bool {
        self.told.iter().any(|(finding, container)| *finding == report.finding && *container == report.container)
    }

    /// Until when an action is under way.
    pub(super) fn in_flight(&self, now: Timestamp) -> Option<Timestamp> {
        self.in_flight.filter(|until| *until > now)
    }

    /// How often the payload had been restarted when a container was first told to end.
    pub(super) fn payload_restarts(&self) -> Option<u64> {
        self.payload_restarts
    }

    /// What has been tried on `container`.
    pub(super) fn tries(&self, container: &str) -> Option<&Tries> {
        self.tries.iter().find(|tries| *tries.container == *container)
    }

    fn tries_on(&mut self, target: &Target, method: Method, now: Timestamp) -> &mut Tries {
        let index = self.tries.iter().position(|tries| tries.container == target.container).unwrap_or_else(|| {
            self.tries.push(Tries::new(target, method, now));
            self.tries.len() - 1
        });
        let tries = &mut self.tries[index];
        if tries.id != target.id {
            tries.id = target.id.clone();
            tries.instances += 1;
            tries.rounds += 1;
            tries.round.clear();
            tries.delivered = None;
        }
        tries
    }
}

impl Tries {
    fn new(target: &Target, method: Method, now: Timestamp) -> Self {
        Self {
            container: target.container.clone(),
            id: target.id.clone(),
            instances: 1,
            round: Vec::new(),
            rounds: 0,
            misses: 0,
            first: now,
            next: now,
            jitter: 0.0,
            delivered: None,
            last: (method, Attempt { result: AttemptResult::Failed, detail: String::new() }),
        }
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
    pub(super) fn progress(&self, id: &str, methods: &[Method], now: Timestamp) -> Progress {
        if *self.id != *id {
            return self.progress_of_another(now);
        }
        let untried = methods.iter().position(|method| !self.round.contains(method));
        let spent = untried.is_none();
        if now < self.next {
            let ending = self.last.1.result == AttemptResult::Sent;
            return if ending { Progress::Ending(self.next) } else { Progress::BackingOff(self.next) };
        }
        match untried {
            Some(step) => Progress::Due(step),
            None => self.later(self.next, spent, now),
        }
    }

    /// After the kubelet has started the container again: one more ladder at once, then none without a pause.
    fn progress_of_another(&self, now: Timestamp) -> Progress {
        if self.instances == 1 { Progress::Due(0) } else { self.later(self.next, true, now) }
    }

    fn later(&self, since: Timestamp, spent: bool, now: Timestamp) -> Progress {
        let given_up = spent && self.overdue(now);
        let forbidden = self.last.1.result == AttemptResult::Forbidden;
        let pause = match () {
            () if given_up => RARE_PAUSE,
            () if forbidden => LONGEST_PAUSE,
            () => pause(self.rounds, self.jitter),
        };
        let due = since + pause;
        match () {
            () if now >= due => Progress::Due(0),
            () if given_up => Progress::GivenUp(due),
            () => Progress::BackingOff(due),
        }
    }

    /// Whether all this has gone on for too long.
    pub(super) fn overdue(&self, now: Timestamp) -> bool {
        self.rounds + 1 >= ROUNDS || now.duration_since(self.first) >= LIMIT
    }
}

impl AttemptResult {
    /// Whether the container may end by it, so that it counts as ended by us when it does.
    fn may_have_ended(self) -> bool {
        match self {
            Self::Sent | Self::Refused | Self::TimedOut | Self::Failed | Self::ContainerGone => true,
            Self::NotInImage | Self::PodGone | Self::Unreachable | Self::Forbidden => false,
        }
    }

    /// Whether it tells something about the way that was tried.
    fn reached(self) -> bool {
        !matches!(self, Self::Unreachable | Self::ContainerGone | Self::PodGone)
    }
}

/// The pause after `rounds` rounds: half of it fixed, half by `jitter`.
fn pause(rounds: u32, jitter: f64) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << rounds.min(16)).min(LONGEST_PAUSE);
    whole.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// The start of `detail`, cut between characters.
fn shortened(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(DETAIL_BYTES));
    detail
}
