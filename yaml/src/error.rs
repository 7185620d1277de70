//! The limits of a document, and the error for text that exceeds them or is not valid YAML.

use std::fmt;

use granit_parser::{ErrorKind, ScanError};

/// A problem that makes text unreadable as a YAML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line in the text, counted from 1.
    pub line: u64,
    /// Problem.
    pub message: String,
}

/// Maximum nesting of a document. The most deeply nested kind of Kubernetes, `CustomResourceDefinition`, stays below
/// 40. The limit protects the stack of the recursive functions that process the value.
pub const MAX_DEPTH: usize = 64;

/// Maximum number of scalars, lists, mappings and keys in a document, with aliases expanded: about 5 MB of an ordinary
/// manifest. Bounds the memory of a document to a small multiple of its text.
pub const MAX_NODES: usize = 250_000;

/// How to reduce the size of a document.
pub const SPLIT_ADVICE: &str = "split it, or move objects out of their list";

/// Maximum number of bytes that the aliases of a document may repeat: as much as a document may contain.
pub const MAX_EXPANSION: usize = 16 << 20;

impl Error {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line: line as u64, message: message.into() }
    }

    pub(super) fn too_deep(line: usize) -> Self {
        Self::new(line, format!("nested deeper than the limit of {MAX_DEPTH} levels"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Error {}

impl From<ScanError> for Error {
    fn from(error: ScanError) -> Self {
        let line = error.marker().line();
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => Self::too_deep(line),
            _ => Self::new(line, error.info()),
        }
    }
}
