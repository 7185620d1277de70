//! Container names and label selectors.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::{Scalar, selector};
use crate::dns;
use crate::yaml::type_name;

/// Name of a container, a DNS label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ContainerName(Box<str>);

/// A label selector in the syntax of `kubectl get -l`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LabelSelector(Box<str>);

impl ContainerName {
    /// Parses a container name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        dns::is_label(text).then(|| Self(text.into()))
    }

    /// Creates a name from a constant. Tests validate the constants.
    pub(super) fn from_static(text: &'static str) -> Self {
        Self(text.into())
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl LabelSelector {
    /// Parses a selector.
    ///
    /// # Errors
    /// Returns the expected and the actual text.
    pub fn parse(text: &str) -> Result<Self, String> {
        selector::check(text).map(|()| Self(text.into()))
    }

    /// Creates a selector from a constant. Tests validate the constants.
    pub(super) fn from_static(text: &'static str) -> Self {
        Self(text.into())
    }

    /// Returns the selector.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContainerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Scalar for ContainerName {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected the name of a container such as istio-proxy";
        match value {
            Value::String(text) => Self::parse(text).ok_or_else(|| format!("{expected}, found {text:?}")),
            other => Err(format!("{expected}, found {}", type_name(other))),
        }
    }
}

impl Scalar for LabelSelector {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::parse(text),
            other => Err(format!("expected a label selector such as app=a,!canary, found {}", type_name(other))),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for ContainerName {
    fn schema_name() -> Cow<'static, str> {
        "ContainerName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": dns::LABEL_PATTERN})
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for LabelSelector {
    fn schema_name() -> Cow<'static, str> {
        "LabelSelector".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": selector::PATTERN})
    }
}
