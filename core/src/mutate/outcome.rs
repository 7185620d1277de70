//! What the engine answers.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Patch, Reason, RuleId, VerifyError};
use crate::error::chain;
use crate::finding::Finding;

/// What a pod gets, and why.
#[derive(Debug)]
pub struct Outcome {
    /// What every rule decided, in the order of the rules.
    pub rules: Vec<RuleOutcome>,
    /// What the user must be told, one sentence each.
    pub warnings: Vec<String>,
    /// What the lint says of the pod as it will be; the warnings hold the heaviest of it.
    pub findings: Vec<Finding>,
    /// Keys and values for the apiserver's audit log.
    pub audit: BTreeMap<&'static str, String>,
    /// What is sent: empty where nothing changes, in a rehearsal, and where the check failed.
    pub patch: Patch,
    /// Why a patch was held back.
    pub failure: Option<VerifyError>,
}

/// What one rule decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: RuleId,
    /// Its decision.
    pub outcome: Verdict,
    /// The code of the reason.
    pub reason: Reason,
    /// The reason in words, with what is particular to this pod.
    pub message: String,
    /// JSON pointer of the field that the decision is about.
    pub field: Option<String>,
    /// What was decided of every part, where the rule writes several; `message` holds them too.
    #[serde(skip)]
    pub parts: Vec<String>,
}

/// A rule's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The pod is changed; in an audit namespace: would be.
    Applied,
    /// Not needed, or does not apply.
    Skipped,
    /// Would be needed, but the user's text or a guard forbids it. Always comes with a warning.
    Refused,
}

impl RuleOutcome {
    pub(super) fn new(
        rule: RuleId,
        outcome: Verdict,
        reason: Reason,
        detail: Option<String>,
        field: Option<String>,
    ) -> Self {
        let message = match detail {
            None => reason.text().to_owned(),
            Some(detail) => format!("{}: {detail}", reason.text()),
        };
        Self { rule, outcome, reason, message, field, parts: Vec::new() }
    }

    /// The same, with what was decided of every part.
    pub(super) fn with_parts(mut self, parts: Vec<String>) -> Self {
        if !parts.is_empty() {
            self.message = format!("{}: {}", self.message, parts.join("; "));
        }
        self.parts = parts;
        self
    }

    /// The message without the parts.
    #[must_use]
    pub fn head(&self) -> &str {
        let parts = self.parts.join("; ");
        self.message.strip_suffix(&parts).map_or(&self.message, |head| head.trim_end_matches(": "))
    }
}

impl Verdict {
    /// The decision as the JSON form writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
        }
    }
}

/// Takes back what the rules applied, because the patch may not be sent.
pub(super) fn withdraw(rules: &mut [RuleOutcome], failure: &VerifyError) {
    let reason = if failure.is_lack_of_room() {
        Reason::AnnotationsTooLarge
    } else if failure.is_of_the_input() {
        Reason::NotAPod
    } else {
        Reason::PatchWithheld
    };
    for rule in rules.iter_mut().filter(|rule| rule.outcome == Verdict::Applied) {
        *rule = RuleOutcome::new(rule.rule, Verdict::Refused, reason, Some(chain(failure)), rule.field.take());
    }
}

/// Words what the rules applied as a rehearsal, and returns the warnings that tell of it.
pub(super) fn rehearsal(rules: &mut [RuleOutcome]) -> Vec<String> {
    let applied = rules.iter_mut().filter(|rule| rule.outcome == Verdict::Applied);
    applied
        .map(|rule| {
            rule.message = format!("audit, not done: {}", rule.message);
            format!("audit: {} would apply: {}", rule.rule.name(), rule.reason.text())
        })
        .collect()
}
