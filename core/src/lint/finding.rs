//! What a check found.

use crate::finding::{Finding, Severity};

/// Where a check puts what it finds.
pub(super) struct Found<'a> {
    code: &'static str,
    severity: Severity,
    fix: &'static str,
    findings: &'a mut Vec<Finding>,
    count: usize,
}

/// The most findings of one check: beyond these they say the same of other containers.
const FINDINGS: usize = 100;
/// The longest message, in bytes: it may repeat values of the pod.
const MESSAGE: usize = 1024;

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

impl<'a> Found<'a> {
    pub(super) fn new(
        code: &'static str,
        severity: Severity,
        fix: &'static str,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { code, severity, fix, findings, count: 0 }
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
            code: self.code,
            severity: self.severity,
            message: message.into(),
            evidence: String::new(),
            fix: Some(self.fix),
            subject: field.into(),
        });
    }
}
