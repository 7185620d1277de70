//! Fields that take one of a few names. The names stand in one place, the type's serde form: here they are read back
//! from it, for reading, for messages and for display.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, Deserialize, IntoDeserializer as _};
use serde_json::Value;

use crate::hint::one_of;
use crate::yaml::noun;

/// Lets enums be read by the names of their serde form.
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

/// The error of [`parse`]: the names that would have been right.
#[derive(Debug)]
pub(crate) struct Expected(&'static [&'static str]);

/// The variant of `T` that is called `name`.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(name: &str) -> Result<T, Expected> {
    let deserializer: StrDeserializer<'_, Expected> = name.into_deserializer();
    T::deserialize(deserializer)
}

/// Reads a variant of `T` from a configuration.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, String> {
    // What is not a string is no name either; asking for the empty one tells the names to expect.
    let name = if let Value::String(name) = value { name } else { "" };
    parse(name).map_err(|expected| match value {
        Value::String(_) => format!("unknown value {name:?}: {expected}"),
        other => format!("{expected}, found {}", noun(other)),
    })
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "expected {}", one_of(self.0))
    }
}

impl std::error::Error for Expected {}

impl de::Error for Expected {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}
