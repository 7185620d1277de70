//! Updates from a configuration source.

use super::Configuration;

/// Content of a configuration source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigUpdate {
    /// There is no configuration; the embedded one applies.
    Absent,
    /// Text of a configuration.
    Text(String),
    /// The source cannot be read, for this reason.
    Unreadable(String),
}

impl ConfigUpdate {
    /// Parses the configuration.
    ///
    /// # Errors
    /// Returns all problems.
    pub fn parse(&self) -> Result<Configuration, Vec<String>> {
        match self {
            Self::Absent => Ok(Configuration::embedded()),
            Self::Text(text) => {
                Configuration::parse(text).map_err(|problems| problems.iter().map(ToString::to_string).collect())
            }
            Self::Unreadable(reason) => Err(vec![reason.clone()]),
        }
    }
}
