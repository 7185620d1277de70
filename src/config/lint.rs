//! Section `lint`, of `fabric` and of a profile: which checks are made, and how much weight each has.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use super::Scalar;
use super::choice::choices;
use super::section::section;
use crate::yaml::Content;

section! {
    /// Which checks are switched off or weighed otherwise.
    pub struct LintSettings {
        /// Checks that are not made.
        pub disable: Vec<CheckId>,
        /// Checks with another severity than their own.
        pub severity: BTreeMap<CheckId, Severity>,
    }
}

/// The id of a check: `FP001` to `FP035`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(u8);

/// How much weight a finding has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Severity {
    /// It would break.
    E,
    /// It is likely wrong.
    W,
    /// Worth knowing.
    I,
}

/// How many checks there are.
const CHECKS: u8 = 35;

impl LintSettings {
    /// The weight of check `id`, whose own is `severity`; `None` where it is switched off.
    #[must_use]
    pub fn weigh(&self, id: CheckId, severity: Severity) -> Option<Severity> {
        let weighed = self.severity.get(&id).copied().unwrap_or(severity);
        (!self.disable.contains(&id)).then_some(weighed)
    }
}

impl Severity {
    /// The letter that stands for it.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::E => 'E',
            Self::W => 'W',
            Self::I => 'I',
        }
    }
}

impl CheckId {
    /// The check of this number.
    pub(crate) const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Reads `FP001`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("FP").filter(|digits| digits.len() == 3)?;
        digits.parse().ok().filter(|number| (1..=CHECKS).contains(number)).map(Self)
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FP{:03}", self.0)
    }
}

impl Serialize for CheckId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Scalar for CheckId {
    fn read(content: &Content) -> Result<Self, String> {
        let expected = "expected a check from FP001 to FP035";
        match content {
            Content::String(text) => Self::parse(text).ok_or_else(|| format!("{expected}, found {text:?}")),
            other => Err(format!("{expected}, found {}", other.noun())),
        }
    }
}

impl JsonSchema for CheckId {
    fn schema_name() -> Cow<'static, str> {
        "CheckId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^FP0([0-2][0-9]|3[0-5])$"})
    }
}

choices!(Severity);
