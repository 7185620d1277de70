//! Reading a text as a positioned tree.

use serde_saphyr::{Error as Source, MessageFormatter as _, UserMessageFormatter};
use thiserror::Error;

use super::Node;

/// Why a text is not one YAML document.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct TreeError {
    /// The line at fault, counted from 1, where the parser knows it.
    pub line: Option<u64>,
    /// What is wrong there, without the line.
    pub message: String,
}

/// Reads the only document of `text`; a second one is an error, as is a duplicate key.
pub fn tree(text: &str) -> Result<Node, TreeError> {
    let options = serde_saphyr::options! { with_snippet: false, legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| TreeError { line: error.location().map(|location| location.line()), message: message(&error) })
}

fn message(error: &Source) -> String {
    match error {
        Source::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key {key:?}"),
        Source::MultipleDocuments { .. } => "a second document starts here: expected one".to_owned(),
        other => UserMessageFormatter.format_message(other).into_owned(),
    }
}
