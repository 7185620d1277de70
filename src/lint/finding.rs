//! What a check found.

use serde::Serialize;

use super::Check;
use crate::config::{CheckId, Severity};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub id: CheckId,
    /// Its weight, as configured.
    pub severity: Severity,
    /// What is wrong in this pod.
    pub message: String,
    /// What to do.
    pub cure: &'static str,
    /// JSON pointer of the field, in the pod as it will be.
    pub field: String,
}

/// Where a check puts what it finds.
pub(super) struct Found<'a> {
    check: &'static Check,
    severity: Severity,
    findings: &'a mut Vec<Finding>,
    count: usize,
}

/// The most findings of one check: beyond these they say the same of other containers.
const FINDINGS: usize = 100;
/// The longest message, in bytes: it may repeat values of the pod.
const MESSAGE: usize = 1024;
/// A warning of an admission review is read in one glance, as Kubernetes advises.
const LINE: usize = 120;

impl Finding {
    /// The finding as one short line.
    #[must_use]
    pub fn line(&self) -> String {
        let line = format!("{}: {}", self.id, self.message);
        if line.len() <= LINE {
            return line;
        }
        let end = line.floor_char_boundary(LINE - '…'.len_utf8());
        format!("{}…", &line[..end])
    }
}

impl<'a> Found<'a> {
    pub(super) fn new(check: &'static Check, severity: Severity, findings: &'a mut Vec<Finding>) -> Self {
        Self { check, severity, findings, count: 0 }
    }

    /// Takes note of what is wrong at `field`.
    pub(super) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.count == FINDINGS {
            return;
        }
        self.count += 1;
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MESSAGE));
        self.findings.push(Finding {
            id: self.check.id,
            severity: self.severity,
            message,
            cure: self.check.cure,
            field: field.into(),
        });
    }
}
