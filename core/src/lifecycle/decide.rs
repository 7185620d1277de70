//! The one decision: what is to be done about a pod now.
//!
//! In this order: what has come of earlier actions is told, then every reason to leave the pod alone is looked for, then
//! the payload must have ended for good and the settle window be over; only then helpers and, last, the proxy are ended.

mod end;
mod gate;
mod outcome;
mod payload;

use std::time::Duration;

use jiff::Timestamp;

use super::roles::Roles;
use super::{Catalogue, Decision, History, PodFacts, Report, ReportCode, Skip, Why};
use crate::config::{LONGEST_SETTLE, Termination};
use crate::duration;
use crate::scope::{Exclusion, Mode};

/// All that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The pod.
    pub facts: &'a PodFacts,
    /// What its namespace has opted into, or why it has not.
    pub mode: Result<Mode, Exclusion>,
    /// The section of the configuration.
    pub settings: &'a Termination,
    /// The catalogue under these settings.
    pub catalogue: &'a Catalogue,
    /// What has been tried and told before.
    pub history: &'a History,
    /// The time.
    pub now: Timestamp,
}

/// A decision other than to go on: `Err` ends the questions, so that each can be asked with `?`.
type Ruling = Result<(), Decision>;

/// Decides. An action is decided upon only while the payload has ended for good and no other action is under way.
#[must_use]
pub fn decide(situation: &Situation<'_>) -> Decision {
    match rulings(situation) {
        Ok(decision) | Err(decision) => decision,
    }
}

fn rulings(situation: &Situation<'_>) -> Result<Decision, Decision> {
    let Situation { facts, mode, settings, catalogue, history, now } = *situation;
    if let Some(until) = history.in_flight(now) {
        return Err(Decision::Wait { until: Some(until), why: Why::InFlight });
    }
    let tell = |report: Report| if history.told(&report) { Ok(()) } else { Err(Decision::Report(report)) };
    let roles = || Roles::of(facts, settings.proxy_container.as_str(), catalogue);

    if history.has_tries() {
        outcome::reports(situation, &roles()).into_iter().try_for_each(tell)?;
    }
    // Before the roles are read: a pod that nobody has opted in costs next to nothing.
    gate::pass(facts, mode, settings)?;
    let roles = roles();
    if let Some(unknown) = &roles.unknown_payload {
        tell(Report::new(ReportCode::PayloadUnknown).detail(unknown.as_str()))?;
        return Err(Decision::Skip(Skip::PayloadUnknown));
    }
    if let Some(report) = outcome::died_early(situation, &roles) {
        tell(report)?;
    }
    let can_end = payload::can_end(&roles.payload);
    if can_end.is_ok() {
        roles.findings.iter().cloned().try_for_each(tell)?;
    }
    gate::something_to_end(facts, &roles)?;
    can_end?;
    let settle = match settle(facts, settings) {
        Ok(window) => window,
        Err(detail) => {
            tell(Report::new(ReportCode::SettleUnreadable).detail(detail))?;
            settings.settle.0
        }
    };
    let ended = payload::ended(facts, &roles.payload)?;
    payload::settled(ended, settle, now)?;
    if mode == Ok(Mode::Audit) {
        if let Some(report) = end::rehearsal(&roles) {
            tell(report)?;
        }
        return Err(Decision::Skip(Skip::Audit));
    }
    end::next(situation, &roles, ended, tell)
}

/// The window after the payload's end. `Err` is the pod's text where that is no duration within reason.
fn settle(facts: &PodFacts, settings: &Termination) -> Result<Duration, String> {
    let text = match &facts.declared.settle {
        None => return Ok(settings.settle.0),
        Some(Err(excess)) => return Err(excess.to_string()),
        Some(Ok(text)) => text,
    };
    let window = duration::parse(text.trim()).ok().filter(|window| *window <= LONGEST_SETTLE);
    window.ok_or_else(|| text.to_string())
}
