//! Parts of the input between reading and collecting: only parsing takes time, and it needs nothing but the part.

use std::mem;
use std::sync::Arc;

use super::object::InheritedType;
use super::parse::{parse_objects, text};
use super::split::{RawDocument, RawItem};
use super::{Document, DocumentError, DocumentWarning, Origin, Substitutions};
use crate::yaml;

/// A part of the input whose document is not parsed.
#[derive(Debug)]
pub struct Part(pub(super) Step<Unparsed>);

/// A part of the input with a value for each of its objects.
#[derive(Debug)]
pub struct ParsedPart<T>(pub(super) Step<Vec<ObjectResult<T>>>);

/// The value for an object and the warnings about the text of its document, or the error of the document.
pub type ObjectResult<T> = Result<(T, Vec<DocumentWarning>), DocumentError>;

/// Step of reading the input.
#[derive(Debug)]
pub(super) enum Step<D> {
    /// A source starts.
    Start(Origin),
    /// The next document of the source.
    Document(D),
    /// The source ends.
    End,
    /// The source is skipped or cannot be read, and ends.
    Failed(DocumentError),
}

/// The text of a document.
#[derive(Debug)]
pub(super) struct Unparsed {
    source: Arc<str>,
    document: usize,
    line: u64,
    item: Option<Item>,
    text: Result<String, yaml::Error>,
}

/// Position in a list.
#[derive(Debug)]
struct Item {
    index: usize,
    inherited: Option<(String, String)>,
}

impl Part {
    /// Returns the length of the text in bytes.
    #[must_use]
    pub fn text_length(&self) -> usize {
        match &self.0 {
            Step::Document(Unparsed { text: Ok(text), .. }) => text.len(),
            _ => 0,
        }
    }

    /// Parses the document, and computes the value for each of its objects.
    pub fn parse<T>(self, mut map: impl FnMut(Document) -> T) -> ParsedPart<T> {
        let step = match self.0 {
            Step::Document(document) => Step::Document(document.parse(&mut map)),
            Step::Start(origin) => Step::Start(origin),
            Step::End => Step::End,
            Step::Failed(error) => Step::Failed(error),
        };
        ParsedPart(step)
    }
}

impl Unparsed {
    /// Reads the text of `raw`, a document of `source`. Returns `None` if `is_selected` is false for the text.
    pub(super) fn read(
        source: &Arc<str>,
        raw: &RawDocument<'_>,
        substitutions: &Substitutions,
        is_selected: impl FnOnce(&str) -> bool,
    ) -> Option<Self> {
        let text = text(raw, substitutions);
        if text.as_ref().is_ok_and(|text| !is_selected(text)) {
            return None;
        }
        let item = raw.item.map(|RawItem { index, inherited }| {
            let inherited = inherited.map(|(version, kind)| (version.to_owned(), kind.to_owned()));
            Item { index, inherited }
        });
        let text = text.map(Into::into);
        Some(Self { source: Arc::clone(source), document: raw.document, line: raw.line, item, text })
    }

    fn parse<T>(self, map: &mut impl FnMut(Document) -> T) -> Vec<ObjectResult<T>> {
        let Self { source, document, line, item, text } = self;
        let inherited = item.as_ref().and_then(|item| item.inherited.as_ref());
        let inherited: InheritedType<'_> = inherited.map(|(version, kind)| (version.as_str(), kind.as_str()));
        let item = item.as_ref().map(|item| RawItem { index: item.index, inherited });
        let objects = parse_objects(&source, document, line, item, text).into_iter();
        let values = objects.map(|object| {
            let mut object = object?;
            let warnings = mem::take(&mut object.warnings);
            Ok((map(object), warnings))
        });
        values.collect()
    }
}
