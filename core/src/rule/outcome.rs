//! The decision of one rule about a pod.

use serde::Serialize;

use super::{Reason, RuleId};

/// Decision of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleOutcome {
    /// Rule that decided.
    pub rule: RuleId,
    /// Verdict of the rule.
    pub outcome: Verdict,
    /// Code of the reason.
    pub reason: Reason,
    /// Text of the reason, with details that are specific to this pod.
    pub message: String,
    /// JSON pointer of the field that the decision is about.
    pub field: Option<String>,
    /// Notes about the parts of a profile: added, kept, skipped, found; or about each of several conflicts. `message`
    /// includes them.
    #[serde(skip)]
    pub notes: Vec<Note>,
    /// True if Istio rejects the pod because of what the rule refuses.
    #[serde(skip)]
    pub is_rejected_by_istio: bool,
}

/// Start of the message of a rule that would change the pod, but for audit mode.
const AUDIT: &str = "audit, not applied: ";

/// A part of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Text of the note.
    pub text: String,
    /// JSON pointer of the field that the note is about, if there is one.
    pub field: Option<String>,
    /// How to fix it, if that differs from the fix of the finding about the rule.
    pub fix: Option<&'static str>,
}

/// Verdict of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The pod is changed. In audit mode, it would be changed.
    Applied,
    /// The change is not needed or does not apply.
    Skipped,
    /// The change is needed, but the user's settings or a guard forbid it. Always comes with a warning.
    Refused,
}

impl RuleOutcome {
    pub(crate) fn new(
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
        Self { rule, outcome, reason, message, field, notes: Vec::new(), is_rejected_by_istio: false }
    }

    /// Adds notes about the parts of a profile.
    pub(crate) fn with_notes(mut self, notes: Vec<Note>) -> Self {
        if !notes.is_empty() {
            self.message = format!("{}: {}", self.message, joined(&notes));
        }
        self.notes = notes;
        self
    }

    /// Changes the message to that of audit mode.
    pub(crate) fn mark_as_audit(&mut self) {
        self.message.insert_str(0, AUDIT);
    }

    /// Returns true if audit mode prevents the change.
    #[must_use]
    pub fn is_audited(&self) -> bool {
        self.message.starts_with(AUDIT)
    }

    /// Returns true if the pod does not get what it or its namespace selects: the rule is refused, or the fabric profile falls back
    /// to TCP.
    #[must_use]
    pub fn is_unfulfilled(&self) -> bool {
        self.outcome == Verdict::Refused || self.reason == Reason::FabricFellBack
    }

    /// Returns the details that are specific to this pod, if the rule gave any.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        let message = self.message.strip_prefix(AUDIT).unwrap_or(&self.message);
        message.strip_prefix(self.reason.text())?.strip_prefix(": ")
    }

    /// Returns the message without the notes about the parts.
    #[must_use]
    pub fn summary(&self) -> &str {
        let notes = joined(&self.notes);
        self.message.strip_suffix(&notes).map_or(&self.message, |summary| summary.trim_end_matches(": "))
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { text, field: None, fix: None }
    }
}

/// Returns the texts of `notes` as one text.
fn joined(notes: &[Note]) -> String {
    notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ")
}

impl Verdict {
    /// Returns the name of the verdict in JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
        }
    }
}
