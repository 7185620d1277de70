//! Enum fields. Serde defines the names of the variants; parsing, error messages and display derive them from there.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, Deserialize, IntoDeserializer as _};
use serde_json::Value;

use crate::hint::{nearest, one_of};
use crate::yaml::type_name;

/// Implements `Scalar` for enums, with the names that serde uses.
macro_rules! choices {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::config::Scalar for $type {
            fn read(value: &serde_json::Value) -> Result<Self, String> {
                $crate::config::choice::read(value)
            }
        }
    )+};
}

pub(crate) use choices;

/// Error of [`parse`] with the valid names.
#[derive(Debug)]
pub(crate) struct UnknownVariant(&'static [&'static str]);

/// Parses the variant of `T` with this name.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(name: &str) -> Result<T, UnknownVariant> {
    let deserializer: StrDeserializer<'_, UnknownVariant> = name.into_deserializer();
    T::deserialize(deserializer)
}

/// Returns the names of the variants of `T`.
pub(crate) fn names<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    parse::<T>("").err().map_or(&[], |expected| expected.0)
}

/// Parses a variant of `T` from a YAML value.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, String> {
    // For other types, parse the empty name to get the error with the valid names.
    let name = if let Value::String(name) = value { name } else { "" };
    parse(name).map_err(|expected| match value {
        Value::String(_) => match nearest(name, expected.0) {
            Some(near) => format!("unknown value {name:?}: did you mean {near}?"),
            None => format!("unknown value {name:?}: {expected}"),
        },
        other => format!("{expected}, found {}", type_name(other)),
    })
}

impl fmt::Display for UnknownVariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "expected {}", one_of(self.0))
    }
}

impl std::error::Error for UnknownVariant {}

impl de::Error for UnknownVariant {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}
