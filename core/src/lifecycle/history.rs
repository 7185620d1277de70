//! History of one pod: attempts on its containers, and findings that were published.
//!
//! The size of the history is bounded by the pod: one entry for each container that the controller tried to terminate,
//! one for each main container, one for each code of a finding about a container. The history may be lost: the controller then
//! starts again with the first method.

mod attempts;

use jiff::Timestamp;

pub(super) use attempts::{ContainerAttempts, NextAttempt};

use super::{
    Attempt, AttemptOutcome, AttemptResult, Method, PodFinding, PodFindingCode, RestartCounts, TerminationTarget,
};

/// Length limit of [`AttemptOutcome::detail`]; the first line of an error fits.
const MAX_DETAIL_BYTES: usize = 256;

/// History of one pod. The controller stores one for each UID.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    attempts: Vec<ContainerAttempts>,
    published: Vec<(PodFindingCode, Option<Box<str>>)>,
    in_flight: Option<Timestamp>,
    main_restarts: Option<RestartCounts>,
}

impl History {
    /// Records the start of an action. No other action starts before the outcome is recorded or `until` has passed.
    /// `until` is a time by which the action has certainly finished.
    pub fn begin(&mut self, until: Timestamp) {
        self.in_flight = Some(until);
    }

    /// Records the outcome of an attempt. `jitter`, in 0..1, spreads the retries of pods that completed together.
    pub fn record(
        &mut self,
        target: &TerminationTarget,
        attempt: &Attempt,
        mut outcome: AttemptOutcome,
        jitter: f64,
        now: Timestamp,
    ) {
        self.in_flight = None;
        outcome.detail = truncated(outcome.detail);
        if outcome.result.may_have_terminated() && self.main_restarts.is_none() {
            self.main_restarts = Some(target.main_restarts.clone());
        }
        self.attempts_on(target, attempt.method, now).record(attempt, outcome, jitter, now);
    }

    /// Records that `finding` was published.
    pub fn record_finding(&mut self, finding: &PodFinding) {
        if !self.is_published(finding) {
            self.published.push((finding.code, finding.container.clone()));
        }
    }

    /// Returns true if a finding with the same code about the same container was published.
    #[must_use]
    pub fn is_published(&self, finding: &PodFinding) -> bool {
        self.published.iter().any(|(code, container)| *code == finding.code && *container == finding.container)
    }

    /// Returns the time until which an action counts as in progress.
    pub(super) fn in_flight(&self, now: Timestamp) -> Option<Timestamp> {
        self.in_flight.filter(|until| *until > now)
    }

    /// Returns names and restarts of the main containers at the time of the first action.
    pub(super) fn main_restarts(&self) -> Option<&[(Box<str>, u32)]> {
        self.main_restarts.as_deref()
    }

    /// Returns true if any attempt was made.
    pub(super) fn has_attempts(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Returns the attempts on `container`.
    pub(super) fn attempts(&self, container: &str) -> Option<&ContainerAttempts> {
        self.attempts.iter().find(|attempts| attempts.container() == container)
    }

    fn attempts_on(&mut self, target: &TerminationTarget, method: Method, now: Timestamp) -> &mut ContainerAttempts {
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

    /// Returns true if the result depends on the method and not on the availability of the node or the container.
    fn is_conclusive(self) -> bool {
        !matches!(self, Self::Unreachable | Self::ContainerGone | Self::PodGone)
    }
}

/// Truncates `detail` at a character boundary.
fn truncated(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(MAX_DETAIL_BYTES));
    detail
}
