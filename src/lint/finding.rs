//! What a check found.

use super::Check;
use crate::finding::{Finding, Severity};

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

/// The letter that stands for a severity.
#[must_use]
pub fn letter(severity: Severity) -> char {
    match severity {
        Severity::Error => 'E',
        Severity::Warning => 'W',
        // The lint finds nothing to be as it should be.
        Severity::Info | Severity::Ok => 'I',
    }
}

/// The finding as one short line.
#[must_use]
pub fn line(finding: &Finding) -> String {
    let line = format!("{}: {}", finding.code, finding.message);
    if line.len() <= LINE {
        return line;
    }
    let end = line.floor_char_boundary(LINE - '…'.len_utf8());
    format!("{}…", &line[..end])
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
            code: self.check.id.code(),
            severity: self.severity,
            message: message.into(),
            evidence: String::new(),
            fix: Some(self.check.cure),
            subject: field.into(),
        });
    }
}
