//! Conditions of an object's status.

use jiff::Timestamp;
use serde_json::Value;

use super::read::{items, name, text, time};

/// Maximum number of conditions of an object. Nodes with many detectors have two dozen.
const MAX_CONDITIONS: usize = 64;

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::diagnosis) struct ConditionRecord {
    pub(in crate::diagnosis) kind: Box<str>,
    pub(in crate::diagnosis) status: Box<str>,
    pub(in crate::diagnosis) reason: Option<Box<str>>,
    pub(in crate::diagnosis) message: Option<Box<str>>,
    /// Time of the last change of `status`.
    pub(in crate::diagnosis) since: Option<Timestamp>,
    /// Time of the last report.
    pub(super) reported: Option<Timestamp>,
}

/// Reads `status.conditions`.
pub(super) fn conditions(object: &Value) -> Vec<ConditionRecord> {
    conditions_at(object, "/status/conditions")
}

/// Reads the conditions in the list at `pointer`.
pub(super) fn conditions_at(object: &Value, pointer: &str) -> Vec<ConditionRecord> {
    let read = |condition: &Value| {
        Some(ConditionRecord {
            kind: name(condition, "/type")?,
            status: name(condition, "/status")?,
            reason: name(condition, "/reason"),
            message: text(condition, "/message"),
            since: time(condition, "/lastTransitionTime"),
            reported: time(condition, "/lastHeartbeatTime").or_else(|| time(condition, "/lastProbeTime")),
        })
    };
    items(object, pointer, MAX_CONDITIONS).filter_map(read).collect()
}

/// Returns the condition of a type.
pub(in crate::diagnosis) fn find<'a>(conditions: &'a [ConditionRecord], kind: &str) -> Option<&'a ConditionRecord> {
    conditions.iter().find(|condition| *condition.kind == *kind)
}

impl ConditionRecord {
    pub(in crate::diagnosis) fn is_true(&self) -> bool {
        &*self.status == "True"
    }

    /// Returns reason and message for people.
    pub(in crate::diagnosis) fn summary(&self) -> String {
        match (&self.reason, &self.message) {
            (Some(reason), Some(message)) => format!("{reason}: {message}"),
            (Some(only), None) | (None, Some(only)) => only.to_string(),
            (None, None) => self.status.to_string(),
        }
    }
}
