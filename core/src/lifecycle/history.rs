//! The memory of one pod: what has been tried on which container, and what has been told.
//!
//! Bounded by the pod: one entry for each container that was told to end, one for each finding about a container.
//! Forgetting it is harmless: the ladder starts at its foot again.

mod tries;

use jiff::Timestamp;

pub(super) use tries::{Progress, Tries};

use super::{Attempt, AttemptResult, Method, Report, ReportCode, Step, Target};

/// How much of an answer is kept for the event: the first line of an error fits.
const DETAIL_BYTES: usize = 256;

/// The memory of one pod, keyed by its uid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    tries: Vec<Tries>,
    told: Vec<(ReportCode, Option<Box<str>>)>,
    in_flight: Option<Timestamp>,
    payload_restarts: Option<u64>,
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
        self.tries_on(target, step.method, now).record(step, attempt, jitter, now);
    }

    /// Notes that `report` has been told.
    pub fn tell(&mut self, report: &Report) {
        if !self.told(report) {
            self.told.push((report.code, report.container.clone()));
        }
    }

    /// Whether this finding about this container has been told.
    #[must_use]
    pub fn told(&self, report: &Report) -> bool {
        self.told.iter().any(|(code, container)| *code == report.code && *container == report.container)
    }

    /// Until when an action is under way.
    pub(super) fn in_flight(&self, now: Timestamp) -> Option<Timestamp> {
        self.in_flight.filter(|until| *until > now)
    }

    /// How often the payload had been restarted when a container was first told to end.
    pub(super) fn payload_restarts(&self) -> Option<u64> {
        self.payload_restarts
    }

    /// Whether anything has been tried.
    pub(super) fn has_tries(&self) -> bool {
        !self.tries.is_empty()
    }

    /// What has been tried on `container`.
    pub(super) fn tries(&self, container: &str) -> Option<&Tries> {
        self.tries.iter().find(|tries| tries.container() == container)
    }

    fn tries_on(&mut self, target: &Target, method: Method, now: Timestamp) -> &mut Tries {
        let index = self.tries.iter().position(|tries| tries.container() == &*target.container).unwrap_or_else(|| {
            self.tries.push(Tries::new(target, method, now));
            self.tries.len() - 1
        });
        let tries = &mut self.tries[index];
        tries.turn_to(&target.id);
        tries
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

/// The start of `detail`, cut between characters.
fn shortened(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(DETAIL_BYTES));
    detail
}
