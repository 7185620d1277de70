//! What was found: one type for lint, doctor, preview and controller.
//!
//! Each of them has its own codes, and its own words for severities in its output.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How much weight a finding has.
// The worst first. The comments and the letters are part of the configuration's schema. It leaves `Ok` out: nobody
// configures the weight of what is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Severity {
    /// It would break.
    #[serde(rename = "E")]
    Error,
    /// It is likely wrong.
    #[serde(rename = "W")]
    Warning,
    /// Worth knowing.
    #[serde(rename = "I")]
    Info,
    /// As it should be.
    #[serde(skip_deserializing)]
    Ok,
}

/// What was found. Names and order of the fields are those of JSON from lint and preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its code, stable.
    #[serde(rename = "id")]
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// What shows it: names, dates, answers; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// How to fix it; `None` where nothing has to be done.
    #[serde(rename = "cure")]
    pub fix: Option<&'static str>,
    /// What it is about within the examined object: the JSON pointer of a field, or a container; empty: the whole.
    #[serde(rename = "field")]
    pub subject: String,
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
