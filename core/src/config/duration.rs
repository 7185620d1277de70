//! Duration fields.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Scalar;
use crate::duration;
use crate::yaml::type_name;

/// A duration field, such as `1m30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigDuration(pub Duration);

impl ConfigDuration {
    /// Returns a validation function for `range`.
    pub(super) fn within(range: RangeInclusive<Duration>) -> impl Fn(&Self) -> Result<(), String> {
        move |Self(found)| {
            if range.contains(found) {
                return Ok(());
            }
            let [min, max, found] =
                [range.start(), range.end(), found].map(|bound| duration::format_with_hours(*bound));
            Err(format!("expected {min} to {max}, found {found}"))
        }
    }
}

impl Scalar for ConfigDuration {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => duration::parse(text).map(Self),
            other => Err(format!("expected a duration such as 90s or 1m30s, found {}", type_name(other))),
        }
    }
}

impl Serialize for ConfigDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&duration::format(self.0))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for ConfigDuration {
    fn schema_name() -> Cow<'static, str> {
        "ConfigDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": duration::PATTERN})
    }
}
