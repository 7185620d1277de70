//! Steps of the path to a field of an object.

use std::fmt;

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Field of an object.
    Key(&'a str),
    /// Item of a list.
    Index(usize),
}

impl Step<'_> {
    /// Returns the step as a token of a JSON pointer.
    pub(crate) fn token(&self) -> String {
        match self {
            Self::Key(key) => (*key).to_owned(),
            Self::Index(index) => index.to_string(),
        }
    }
}

/// Writes the step as `kubectl explain` does.
impl fmt::Display for Step<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) if key.contains(['.', '/']) => write!(formatter, "[{key}]"),
            Self::Key(key) => write!(formatter, ".{key}"),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}
