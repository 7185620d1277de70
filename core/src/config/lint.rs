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
use crate::yaml::type_name;

section! {
    /// Disabled lint checks and changed severities.
    pub struct LintSettings {
        /// Checks that do not run.
        pub disable: Vec<CheckId>,
        /// Severities that replace the defaults.
        pub severity: BTreeMap<CheckId, Severity>,
    }
}

/// ID of a lint check: `FP001` and so on for pods, `TR001` and so on for training jobs as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(&'static str);

/// Declares the IDs, each with its section of the documentation.
macro_rules! ids {
    ($($list:ident: $prefix:literal $anchor:literal $($number:literal)+;)+) => {
        $(
            /// IDs with one prefix, and the section of the documentation of each.
            const $list: &[(&str, &str)] =
                &[$((concat!($prefix, $number), concat!("docs/lint.md#", $anchor, $number)),)+];
        )+
        /// All IDs.
        const IDS: &[&[(&str, &str)]] = &[$($list),+];
    };
}

ids! {
    POD: "FP" "fp"
    "001" "002" "003" "004" "005" "006" "007" "008" "009" "010" "011" "012" "013" "014" "015" "016" "017" "018"
    "019" "020" "021" "022" "023" "024" "025" "026" "027" "028" "029" "030" "031" "032" "033" "034" "035" "036"
    "037" "038" "039" "040" "041" "042" "043" "044" "045" "046" "047" "048" "049" "050" "051" "052" "053" "054"
    "055" "056" "057" "058" "059" "060" "061" "062";
    TRAINING: "TR" "tr"
    "001" "002" "003" "004" "005" "006" "007" "008" "009" "010" "011" "012" "013" "014" "015" "016";
}

impl LintSettings {
    /// Returns the severity of check `id` with the default `severity`, or `None` if the check is disabled.
    #[must_use]
    pub fn severity_of(&self, id: CheckId, severity: Severity) -> Option<Severity> {
        let severity = self.severity.get(&id).copied().unwrap_or(severity);
        (!self.disable.contains(&id)).then_some(severity)
    }

    /// Returns true if check `id`, whose default severity is [`Severity::Warning`], is not disabled and at least a warning.
    pub(crate) fn warns(&self, id: CheckId) -> bool {
        self.severity_of(id, Severity::Warning).is_some_and(|severity| severity <= Severity::Warning)
    }
}

impl CheckId {
    /// Returns the ID of a check of pods with this number.
    pub(crate) const fn new(number: usize) -> Self {
        Self(POD[number - 1].0)
    }

    /// Returns the ID of a check of training jobs with this number.
    pub(crate) const fn training(number: usize) -> Self {
        Self(TRAINING[number - 1].0)
    }

    /// Returns true for a check of training jobs, which needs a manifest.
    #[must_use]
    pub fn is_training(self) -> bool {
        TRAINING.iter().any(|(id, _)| *id == self.0)
    }

    /// Parses an ID such as `FP001`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        all().find(|(id, _)| *id == text).map(|(id, _)| Self(id))
    }

    /// Returns the section of the documentation: a page and an anchor.
    #[must_use]
    pub fn link(self) -> &'static str {
        all().find(|(id, _)| *id == self.0).map_or("docs/lint.md", |(_, link)| link)
    }

    /// Returns the ID as text.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0
    }
}

/// Returns all IDs with the sections of their documentation.
fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    IDS.iter().copied().flatten()
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
        let ranges = IDS.iter().map(|ids| format!("from {} to {}", ids[0].0, ids[ids.len() - 1].0));
        let expected = format!("expected a check {}", ranges.collect::<Vec<_>>().join(" or "));
        match value {
            Value::String(text) => Self::parse(text).ok_or_else(|| format!("{expected}, found {text:?}")),
            other => Err(format!("{expected}, found {}", type_name(other))),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for CheckId {
    fn schema_name() -> Cow<'static, str> {
        "CheckId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": pattern()})
    }
}

/// Returns the regular expression that matches every ID and nothing else, with a range of last digits for each ten.
#[cfg(feature = "schema")]
fn pattern() -> String {
    let of_prefix = |ids: &[(&'static str, &str)]| {
        let ids: Vec<&str> = ids.iter().map(|(id, _)| *id).collect();
        let tens = ids.chunk_by(|id, next| id[..4] == next[..4]);
        let ranges = tens.map(|ids| format!("{}[{}-{}]", &ids[0][2..4], &ids[0][4..], &ids[ids.len() - 1][4..]));
        format!("{}({})", &ids[0][..2], ranges.collect::<Vec<_>>().join("|"))
    };
    let prefixes: Vec<String> = IDS.iter().map(|ids| of_prefix(ids)).collect();
    format!("^({})$", prefixes.join("|"))
}

choices!(Severity);
