//! Every check: its words, an example with its cure, and its function. One file a theme.

mod devices;
mod interfaces;
mod job;
mod network;
mod placement;
mod security;
mod tuning;
mod values;
mod volumes;

use super::facts::Facts;
use super::finding::Found;
use crate::config::CheckId;
use crate::finding::{Finding, Severity};

/// A check.
#[derive(Debug)]
pub struct Check {
    /// Its id.
    pub id: CheckId,
    /// Its weight, unless a configuration says otherwise.
    pub severity: Severity,
    /// What it looks for, in a few words.
    pub title: &'static str,
    /// Why that is wrong.
    pub why: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// What it looks like.
    pub example: Example,
    pub(super) find: fn(&Facts<'_>, &mut Found<'_>),
}

/// A part of a pod in which a check finds something, and the same mended.
#[derive(Debug)]
pub struct Example {
    /// What else must be so; empty: nothing.
    pub given: &'static str,
    /// Where it finds something.
    pub wrong: &'static str,
    /// Where it does not.
    pub mended: &'static str,
}

/// The check that the rule mesh.traffic shares.
pub const CAPTURED: CheckId = CheckId::new(21);

/// Every check, by theme.
pub(super) static THEMES: [&[Check]; 9] = [
    values::CHECKS,
    tuning::CHECKS,
    interfaces::CHECKS,
    network::CHECKS,
    security::CHECKS,
    devices::CHECKS,
    placement::CHECKS,
    volumes::CHECKS,
    job::CHECKS,
];

impl Check {
    /// Where the check puts what it finds with this weight.
    pub(super) fn found<'a>(&self, severity: Severity, findings: &'a mut Vec<Finding>) -> Found<'a> {
        Found::new(self.id.code(), severity, self.cure, findings)
    }
}

/// Every check, in the order of the ids.
#[must_use]
pub fn checks() -> Vec<&'static Check> {
    let mut checks: Vec<&Check> = THEMES.into_iter().flatten().collect();
    checks.sort_by_key(|check| check.id);
    checks
}

/// The check whose findings have this code.
#[must_use]
pub fn find(code: &str) -> Option<&'static Check> {
    THEMES.into_iter().flatten().find(|check| check.id.code() == code)
}
