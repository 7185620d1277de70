//! Reads manifests from named sources, one document at a time.
//!
//! A source is split into documents as kubectl does, each document is parsed separately, and objects are extracted from
//! lists and admission reviews. An invalid document is an error item of the stream, so that the remaining documents are
//! still read. Only the current document is held in memory. This module does not interpret the objects.
//!
//! [`Documents`] reads one object after the other. Its three steps are also available separately, because the second one takes
//! most of the time and can run on several threads: [`Parts`] reads texts, [`Part::parse`] parses one of them, and
//! [`Collector`] takes the results in order.
//!
//! Files and standard input are out of scope: the binary implements [`Source`] for them.

mod braces;
mod collector;
mod documents;
pub mod encoding;
mod json;
mod lines;
mod list;
mod object;
mod object_field;
mod parse;
mod part;
pub(crate) mod placeholder;
mod reader;
mod skipped;
mod split;
mod substitutions;
mod warning;
mod window;

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use serde_json::Value;

pub use collector::Collector;
pub use documents::Documents;
pub use lines::{DocumentText, Overlay, OverlayPatch};
pub use object_field::ObjectField;
pub use part::{ObjectResult, ParsedPart, Part};
pub use placeholder::advice as placeholder_advice;
pub use reader::Parts;
pub use skipped::{CHART_FILE, KUSTOMIZATION_FILES, SkippedFile};
pub use substitutions::{Substitutions, Variable, VariableError};
pub use warning::DocumentWarning;

/// Maximum size of a document in bytes. It bounds memory, and only a `List` can come close to it: it is ten times
/// etcd's default limit for an object (1.5 MiB).
pub const MAX_DOCUMENT: usize = 16 << 20;

/// A source of documents, which can be read more than once.
pub trait Source {
    /// Returns the name used in errors: a path, or `stdin`.
    fn name(&self) -> &Arc<str>;

    /// Opens the source at its start. The message of an error of kind `InvalidData` is reported as is.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;

    /// Returns how the source was found.
    fn origin(&self) -> Origin {
        Origin::Named
    }
}

/// How a source was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user specified it.
    Named,
    /// It is a file of a directory: if it contains no object, it is skipped.
    Directory,
    /// It is a file of a Helm chart outside its templates: like [`Self::Directory`], and skipped if it is a template.
    Chart,
    /// It is a file of a directory with the templates of a Helm chart: it is skipped.
    ChartTemplates,
    /// It is a file of a directory that a kustomization names as a patch: it is skipped.
    KustomizePatch,
    /// It is a symbolic link to a directory, in a directory that is read with its subdirectories: it is skipped.
    LinkedDirectory,
}

/// An object of a manifest, which has an `apiVersion` and a `kind`.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Path of the file, or `stdin`.
    pub source: Arc<str>,
    /// Zero-based index of the document in its source, including empty documents.
    pub document: usize,
    /// Index in the `List` that contains the object.
    pub item: Option<usize>,
    /// One-based line of the source on which the document starts.
    pub line: u64,
    /// Namespace of the admission review that contains the object, if the object has no namespace.
    pub namespace: Option<String>,
    /// True if it is the object of an admission review.
    pub is_reviewed: bool,
    /// Object as JSON.
    pub value: Value,
    /// Text of the document, in which fields are located.
    pub text: DocumentText,
    /// Changes of kustomizations to the object, if one was rendered.
    pub overlay: Option<Arc<Overlay>>,
    /// Warnings about the text of the document; only its first object has them.
    pub warnings: Vec<DocumentWarning>,
}

impl Document {
    /// Returns the document of an object that has no manifest. `source` names it in messages.
    #[must_use]
    pub fn generated(source: &str, value: Value) -> Self {
        Self {
            source: source.into(),
            document: 0,
            item: None,
            line: 1,
            namespace: None,
            is_reviewed: false,
            value,
            text: DocumentText::default(),
            overlay: None,
            warnings: Vec::new(),
        }
    }
}

/// An invalid document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Path of the file, or `stdin`.
    pub source: Arc<str>,
    /// Zero-based index of the document in its source, including empty documents.
    pub document: usize,
    /// One-based line of the source, if known.
    pub line: Option<u64>,
    /// Error message.
    pub message: String,
    /// Set if the document is not an error, because its file is one of a directory that is not a manifest.
    pub skipped: Option<SkippedFile>,
    /// Names of the shell placeholders that are the cause.
    pub placeholders: Vec<String>,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_position(formatter, &self.source, self.document, self.line)?;
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for DocumentError {}

/// Writes where a problem is: `jobs/llama.yaml: document 2, line 14: `. A problem of the whole file has no line.
fn write_position(formatter: &mut fmt::Formatter<'_>, source: &str, document: usize, line: Option<u64>) -> fmt::Result {
    match line {
        Some(line) => write!(formatter, "{source}: document {}, line {line}: ", document + 1),
        None if document == 0 => write!(formatter, "{source}: "),
        None => write!(formatter, "{source}: document {}: ", document + 1),
    }
}
