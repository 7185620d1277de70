//! Reads manifests from named sources, one document at a time.
//!
//! A source is split into documents as kubectl does, each document is parsed alone, and lists and admission reviews give
//! the objects that they carry. A document that cannot be read is an item of the stream like any other, so that the rest
//! is still seen. Nothing beyond the document at hand is held in memory; what the objects mean is not known here.
//!
//! Absent on purpose: files and standard input, which a source of the binary stands for.

mod braces;
pub mod encoding;
mod json;
mod object;
mod reader;
mod split;
mod window;

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use serde_json::Value;

pub use reader::Documents;

/// Bytes of a document: ten times what etcd takes for an object by default (1.5 MiB), so that only a `List` can come
/// near it, and what is held in memory stays small.
pub const MAX_DOCUMENT: usize = 16 << 20;

/// A place that documents come from, which can be read more than once.
pub trait Source {
    /// What errors call it: a path, or `stdin`.
    fn name(&self) -> &Arc<str>;

    /// The bytes from the first one on. An error of kind `InvalidData` says what is wrong in its own words.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

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
