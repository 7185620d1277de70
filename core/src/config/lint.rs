//! Section `lint` of `fabric` and of profiles: disabled checks and changed severities.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Scalar;
use super::choice::choices;
use super::section::section;
use crate::finding::Severity;
use crate::yaml::noun;

section! {
    /// Disabled lint checks and changed severities.
    pub struct LintSettings {
        /// Checks that do not run.
        pub disable: Vec<CheckId>,
        /// Severities that replace the defaults.
        pub severity: BTreeMap<CheckId, Severity>,
    }
}

/// ID of a lint check: `FP001` to `FP047`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(&'static str);

/// All IDs.
const IDS: [&str; 47] = [
    "FP001", "FP002", "FP003", "FP004", "FP005", "FP006", "FP007", "FP008", "FP009", "FP010", "FP011", "FP012",
    "FP013", "FP014", "FP015", "FP016", "FP017", "FP018", "FP019", "FP020", "FP021", "FP022", "FP023", "FP024",
    "FP025", "FP026", "FP027", "FP028", "FP029", "FP030", "FP031", "FP032", "FP033", "FP034", "FP035", "FP036",
    "FP037", "FP038", "FP039", "FP040", "FP041", "FP042", "FP043", "FP044", "FP045", "FP046", "FP047",
];

impl LintSettings {
    /// Returns the severity of check `id` with the default `severity`, or `None` if the check is disabled.
    #[must_use]
    pub fn severity_of(&self, id: CheckId, severity: Severity) -> Option<Severity> {
        let severity = self.severity.get(&id).copied().unwrap_or(severity);
        (!self.disable.contains(&id)).then_some(severity)
    }
}

impl CheckId {
    /// Returns the ID with this number.
    pub(crate) const fn new(number: usize) -> Self {
        Self(IDS[number - 1])
    }

    /// Parses an ID such as `FP001`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        IDS.into_iter().find(|id| *id == text).map(Self)
    }

    /// Returns the ID as text.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl Serialize for CheckId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl Scalar for CheckId {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a check from FP001 to FP047";
        match value {
            Value::String(text) => Self::parse(text).ok_or_else(|| format!("{expected}, found {text:?}")),
            other => Err(format!("{expected}, found {}", noun(other))),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for CheckId {
    fn schema_name() -> Cow<'static, str> {
        "CheckId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^FP0([0-3][0-9]|4[0-7])$"})
    }
}

choices!(Severity);
