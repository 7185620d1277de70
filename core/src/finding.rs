//! The finding type of lint, doctor, preview and controller.
//!
//! Each of them has its own codes, and its own names for severities in its output.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Severity of a finding.
// The most severe first. Comments and letters are part of the configuration schema, which excludes `Ok`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Severity {
    /// The workload would fail.
    #[serde(rename = "E")]
    Error,
    /// Probably a mistake.
    #[serde(rename = "W")]
    Warning,
    /// For information.
    #[serde(rename = "I")]
    Info,
    /// No problem.
    #[serde(skip_deserializing)]
    Ok,
}

/// A finding. Field names and order are those of the JSON output of lint and preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable code.
    #[serde(rename = "id")]
    pub code: &'static str,
    /// Severity.
    pub severity: Severity,
    /// The problem and its consequence.
    pub message: Cow<'static, str>,
    /// Details of this occurrence: names, dates, values; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// How to fix it; `None` if no action is required.
    #[serde(rename = "cure")]
    pub fix: Option<&'static str>,
    /// Affected part of the checked object: the JSON pointer of a field, or a container; empty for the whole object.
    #[serde(rename = "field")]
    pub subject: String,
    /// Documentation of the code: the path of a page in the repository, with an anchor.
    pub link: &'static str,
    /// One-based line of the manifest with the affected field, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// File of the line, if it is not that of the workload: a `TrainJob` creates pods from a runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Finding {
    /// Returns true if `other` differs only by its position.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Self { line: other.line, source: other.source.clone(), ..self.clone() } == *other
    }
}

/// Sorts by severity and code, and keeps the order of equal ones.
// Each call of a sort in generic code or with another closure is 5 KB of the binary.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (finding.severity, finding.code));
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, message, evidence, .. } = self;
        if !subject.is_empty() {
            write!(formatter, "{subject}: ")?;
        }
        formatter.write_str(message)?;
        if evidence.is_empty() { Ok(()) } else { write!(formatter, ": {evidence}") }
    }
}
