//! Collection of findings, with limits.

use crate::finding::{Finding, Severity};

/// Collects the findings of one check.
pub(super) struct FindingSink<'a> {
    code: &'static str,
    severity: Severity,
    fix: &'static str,
    findings: &'a mut Vec<Finding>,
    count: usize,
}

/// Maximum number of findings per check. Further ones only repeat the same problem for other containers.
const MAX_FINDINGS: usize = 100;
/// Maximum length of a message in bytes. Messages may quote values from the pod.
const MAX_MESSAGE: usize = 1024;

/// Returns the letter that output and configuration use for `severity`.
#[must_use]
pub fn severity_letter(severity: Severity) -> char {
    match severity {
        Severity::Error => 'E',
        Severity::Warning => 'W',
        // The lint never reports `Ok`.
        Severity::Info | Severity::Ok => 'I',
    }
}

impl<'a> FindingSink<'a> {
    pub(super) fn new(
        code: &'static str,
        severity: Severity,
        fix: &'static str,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { code, severity, fix, findings, count: 0 }
    }

    /// Adds a finding about `field`, a JSON pointer into the pod.
    pub(super) fn push(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.count == MAX_FINDINGS {
            return;
        }
        self.count += 1;
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        self.findings.push(Finding {
            code: self.code,
            severity: self.severity,
            message: message.into(),
            evidence: String::new(),
            fix: Some(self.fix),
            subject: field.into(),
        });
    }
}
