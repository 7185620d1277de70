//! Fields that take one of a few names. The names stand in one place, the type's serde form: here they are read back
//! from it, for reading, for messages and for display.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, Deserialize, IntoDeserializer as _};

use crate::hint::one_of;
use crate::yaml::Content;

/// Lets enums be read by the names of their serde form.
macro_rules! choices {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::config::Scalar for $type {
            fn read(content: &$crate::yaml::Content) -> Result<Self, String> {
                $crate::config::choice::read(content)
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
pub(crate) fn read<T: for<'de> Deserialize<'de>>(content: &Content) -> Result<T, String> {
    // What is not a string is no name either; asking for the empty one tells the names to expect.
    let name = if let Content::String(name) = content { name } else { "" };
    parse(name).map_err(|expected| match content {
        Content::String(_) => format!("unknown value {name:?}: {expected}"),
        other => format!("{expected}, found {}", other.noun()),
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
