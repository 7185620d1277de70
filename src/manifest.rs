//! Reads manifests from files, directories and standard input, one document at a time.
//!
//! [`Inputs`] finds the sources and reads them as often as it is asked to; a source is split into documents as kubectl
//! does, each document is parsed alone, and lists and admission reviews give the objects that they carry. A document
//! that cannot be read is an item of the stream like any other, so that the rest is still seen. Nothing beyond the
//! document at hand is held in memory; what the objects mean is not known here.

mod braces;
mod encoding;
mod inputs;
mod json;
mod object;
mod reader;
mod source;
mod split;
mod window;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use inputs::{InputError, Inputs};

/// Bytes of a document: ten times what etcd takes for an object by default (1.5 MiB), so that only a `List` can come
/// near it, and what is held in memory stays small.
pub const MAX_DOCUMENT: usize = 16 << 20;

/// An object of a manifest; it has an `apiVersion` and a `kind`.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The file, or `stdin`.
    pub source: Arc<str>,
    /// Index of the document in its source, empty documents counted.
    pub document: usize,
    /// Index in the `List` that holds the object.
    pub item: Option<usize>,
    /// Line of the source where the document starts, counted from 1.
    pub line: u64,
    /// The namespace of the admission review that carries the object, when the object itself names none.
    pub namespace: Option<String>,
    /// The object.
    pub value: Value,
}

/// A document that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The file, or `stdin`.
    pub source: Arc<str>,
    /// Index of the document in its source, empty documents counted.
    pub document: usize,
    /// Line of the source, counted from 1, where there is one to point at.
    pub line: Option<u64>,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: document {}", self.source, self.document + 1)?;
        if let Some(line) = self.line {
            write!(formatter, ", line {line}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl std::error::Error for DocumentError {}
