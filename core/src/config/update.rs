//! What a source of the configuration holds, and the configuration that it asks for.

use super::Configuration;

/// What a source of the configuration holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigUpdate {
    /// No configuration: the embedded one is meant.
    Absent,
    /// The text of a configuration.
    Text(String),
    /// Something that holds no text; why.
    Unreadable(String),
}

impl ConfigUpdate {
    /// The configuration, or every problem of it.
    pub fn configuration(&self) -> Result<Configuration, Vec<String>> {
        match self {
            Self::Absent => Ok(Configuration::embedded()),
            Self::Text(text) => {
                Configuration::parse(text).map_err(|problems| problems.iter().map(ToString::to_string).collect())
            }
            Self::Unreadable(why) => Err(vec![why.clone()]),
        }
    }
}
