//! Collection of findings, with limits.

use crate::config::CheckId;
use crate::finding::{Finding, Severity};
use crate::manifest::ObjectField;

/// Collects the findings of one check.
pub(super) struct FindingSink<'a> {
    id: CheckId,
    severity: Severity,
    /// Severity unless a configuration changes it.
    default: Severity,
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
        id: CheckId,
        severity: Severity,
        default: Severity,
        fix: &'static str,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { id, severity, default, fix, findings, count: 0 }
    }

    /// Adds a finding about `field`, a JSON pointer into the pod.
    pub(super) fn push(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.push_as(self.default, field, message);
    }

    /// Like [`Self::push`], for a finding whose severity differs from the check's default. A configured severity applies
    /// to all findings of the check.
    pub(super) fn push_as(&mut self, severity: Severity, field: impl Into<String>, message: impl Into<String>) {
        self.push_with_fix(severity, field, message, self.fix);
    }

    /// Like [`Self::push_as`], for a finding whose fix differs from that of the check.
    pub(super) fn push_with_fix(
        &mut self,
        severity: Severity,
        field: impl Into<String>,
        message: impl Into<String>,
        fix: &'static str,
    ) {
        if self.count == MAX_FINDINGS {
            return;
        }
        self.count += 1;
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        self.findings.push(Finding {
            code: self.id.code(),
            severity: if self.severity == self.default { severity } else { self.severity },
            message: message.into(),
            evidence: String::new(),
            fix: Some(fix),
            subject: field.into(),
            link: self.id.link(),
            line: None,
            source: None,
        });
    }

    /// Like [`Self::push`], for a field of another object, or for `field` of the pod if the object is not in the input.
    pub(super) fn push_for(&mut self, object: Option<&ObjectField>, field: &str, message: impl Into<String>) {
        self.push_for_with_fix(object, field, message, self.fix);
    }

    /// Like [`Self::push_for`], for a finding whose fix differs from that of the check.
    pub(super) fn push_for_with_fix(
        &mut self,
        object: Option<&ObjectField>,
        field: &str,
        message: impl Into<String>,
        fix: &'static str,
    ) {
        match object {
            Some(object) => self.push_at_with_fix(self.default, object.clone(), message, fix),
            None => self.push_with_fix(self.default, field, message, fix),
        }
    }

    /// Like [`Self::push_as`], for a field of another object than the pod.
    pub(super) fn push_at(&mut self, severity: Severity, field: ObjectField, message: impl Into<String>) {
        self.push_at_with_fix(severity, field, message, self.fix);
    }

    /// Like [`Self::push_at`], for a finding whose fix differs from that of the check.
    pub(super) fn push_at_with_fix(
        &mut self,
        severity: Severity,
        field: ObjectField,
        message: impl Into<String>,
        fix: &'static str,
    ) {
        let before = self.findings.len();
        let ObjectField { pointer, source, line } = field;
        self.push_with_fix(severity, pointer, message, fix);
        for finding in self.findings.iter_mut().skip(before) {
            (finding.source, finding.line) = (Some(source.clone()), Some(line));
        }
    }
}
