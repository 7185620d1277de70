//! History of one pod: attempts on its containers, and reports that were published.
//!
//! Its size is bounded by the pod: one entry for each container that the controller tried to terminate, one for each
//! kind of report about a container. Losing it is harmless: the controller starts again with the first method.

mod attempts;

use jiff::Timestamp;

pub(super) use attempts::{ContainerAttempts, Progress};

use super::{Attempt, AttemptOutcome, AttemptResult, Method, Report, ReportCode, Target};

/// Length limit of [`AttemptOutcome::detail`]; the first line of an error fits.
const DETAIL_BYTES: usize = 256;

/// History of one pod, keyed by its uid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    attempts: Vec<ContainerAttempts>,
    reported: Vec<(ReportCode, Option<Box<str>>)>,
    in_flight: Option<Timestamp>,
    main_restarts: Option<u64>,
}

impl History {
    /// Records the start of an action. Further actions are held back until the outcome is recorded or `until` has
    /// passed, a time by which the action has certainly finished.
    pub fn begin(&mut self, until: Timestamp) {
        self.in_flight = Some(until);
    }

    /// Records the outcome of an attempt. `jitter`, in 0..1, spreads the retries of pods that completed together.
    pub fn record(
        &mut self,
        target: &Target,
        attempt: &Attempt,
        mut outcome: AttemptOutcome,
        jitter: f64,
        now: Timestamp,
    ) {
        self.in_flight = None;
        outcome.detail = truncated(outcome.detail);
        if outcome.result.may_have_terminated() && self.main_restarts.is_none() {
            self.main_restarts = Some(target.main_restarts);
        }
        self.attempts_on(target, attempt.method, now).record(attempt, outcome, jitter, now);
    }

    /// Records that `report` was published.
    pub fn record_report(&mut self, report: &Report) {
        if !self.is_reported(report) {
            self.reported.push((report.code, report.container.clone()));
        }
    }

    /// Returns true if a report with the same code about the same container was published.
    #[must_use]
    pub fn is_reported(&self, report: &Report) -> bool {
        self.reported.iter().any(|(code, container)| *code == report.code && *container == report.container)
    }

    /// Returns the time until which an action counts as in progress.
    pub(super) fn in_flight(&self, now: Timestamp) -> Option<Timestamp> {
        self.in_flight.filter(|until| *until > now)
    }

    /// Returns the restarts of the main containers at the time of the first action.
    pub(super) fn main_restarts(&self) -> Option<u64> {
        self.main_restarts
    }

    /// Returns true if any attempt was made.
    pub(super) fn has_attempts(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Returns the attempts on `container`.
    pub(super) fn attempts(&self, container: &str) -> Option<&ContainerAttempts> {
        self.attempts.iter().find(|attempts| attempts.container() == container)
    }

    fn attempts_on(&mut self, target: &Target, method: Method, now: Timestamp) -> &mut ContainerAttempts {
        let existing = self.attempts.iter().position(|attempts| attempts.container() == &*target.container);
        let index = existing.unwrap_or_else(|| {
            self.attempts.push(ContainerAttempts::new(target, method, now));
            self.attempts.len() - 1
        });
        let attempts = &mut self.attempts[index];
        attempts.select_instance(&target.id);
        attempts
    }
}

impl AttemptResult {
    /// Returns true if the attempt may have terminated the container, so that its exit is attributed to the controller.
    fn may_have_terminated(self) -> bool {
        match self {
            Self::Sent | Self::Refused | Self::TimedOut | Self::Failed | Self::ContainerGone => true,
            Self::NotInImage | Self::PodGone | Self::Unreachable | Self::Forbidden => false,
        }
    }

    /// Returns true if the attempt reached the container, so that the result says something about the method.
    fn reached_container(self) -> bool {
        !matches!(self, Self::Unreachable | Self::ContainerGone | Self::PodGone)
    }
}

/// Truncates `detail` at a character boundary.
fn truncated(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(DETAIL_BYTES));
    detail
}
