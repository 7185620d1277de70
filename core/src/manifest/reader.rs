//! Reads the objects of all sources.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::slice;
use std::sync::Arc;

use memchr::memmem;

use super::parse::{parse_objects, text};
use super::skipped::skipped;
use super::split::Splitter;
use super::{Document, DocumentError, Origin, SkippedFile, Source, Substitutions, encoding};
use crate::yaml;

/// Maximum number of invalid documents in all sources. It bounds memory, because callers store the errors.
const MAX_ERRORS: usize = 10_000;
/// Maximum number of warnings in all sources, which callers store too. Further ones are dropped.
const MAX_WARNINGS: usize = 10_000;

/// Iterator over the objects of all sources, in order.
pub struct Documents<'inputs, S> {
    sources: &'inputs [S],
    remaining: slice::Iter<'inputs, S>,
    current: Option<OpenSource<'inputs>>,
    /// Objects that have been read but not yet returned.
    pending: VecDeque<Result<Document, DocumentError>>,
    /// Documents of the current source for which it is skipped unless an object follows.
    withheld: Vec<DocumentError>,
    /// Only documents that contain one of these texts are parsed; all documents if empty.
    filters: Vec<memmem::Finder<'inputs>>,
    substitutions: &'inputs Substitutions,
    /// True if lists of kubectl are read by item.
    splits_lists: bool,
    /// False if an empty input still has to be reported.
    has_content: bool,
    error_count: usize,
    warning_count: usize,
}

/// A source that is being read.
struct OpenSource<'source> {
    name: Arc<str>,
    /// True if the source is skipped if it contains no object, and no object has been found.
    is_optional: bool,
    splitter: Splitter<Box<dyn Read + 'source>>,
}

impl<'inputs, S: Source> Documents<'inputs, S> {
    /// Reads the objects of `sources` from documents whose text contains one of `filters`; other documents are not
    /// parsed. Without filters, reads all documents. `substitutions` are applied to the text first.
    pub fn new(sources: &'inputs [S], filters: &[&'inputs [u8]], substitutions: &'inputs Substitutions) -> Self {
        let filters = filters.iter().map(|text| memmem::Finder::new(*text)).collect::<Vec<_>>();
        let has_content = !filters.is_empty();
        Self {
            sources,
            remaining: sources.iter(),
            current: None,
            pending: VecDeque::new(),
            withheld: Vec::new(),
            filters,
            substitutions,
            splits_lists: false,
            has_content,
            error_count: 0,
            warning_count: 0,
        }
    }

    /// Reads lists of kubectl by item, so that their size is not limited.
    #[must_use]
    pub fn splitting_lists(self) -> Self {
        Self { splits_lists: true, ..self }
    }

    /// Reads the next document or opens the next source. Returns false at the end of the input.
    fn advance(&mut self) -> bool {
        let Some(current) = &mut self.current else {
            let Some(source) = self.remaining.next() else { return false };
            if let Some(error) = skipped(source.name(), source.origin()) {
                self.push_error(error);
                return true;
            }
            match OpenSource::new(source, self.splits_lists) {
                Ok(current) => self.current = Some(current),
                Err(error) => self.push_error(read_error(source.name(), 0, &error)),
            }
            return true;
        };
        match current.splitter.next() {
            Ok(Some(document)) => {
                self.has_content = true;
                let text = text(&document, self.substitutions);
                if matches_filters(&self.filters, &text) {
                    let objects = parse_objects(&current.name, document.document, document.line, document.item, text);
                    let (is_optional, withheld) = (&mut current.is_optional, &mut self.withheld);
                    for object in objects {
                        add(object, is_optional, withheld, &mut self.pending);
                    }
                }
            }
            Ok(None) => {
                self.current = None;
                self.pending.extend(self.withheld.drain(..).next().map(Err));
            }
            Err(error) => {
                let error = read_error(&current.name, current.splitter.document(), &error);
                self.current = None;
                self.push_error(error);
            }
        }
        true
    }

    fn push_error(&mut self, error: DocumentError) {
        self.has_content = true;
        self.pending.push_back(Err(error));
    }

    /// Counts `error`, and stops reading at the limit.
    fn count_error(&mut self, error: DocumentError) -> DocumentError {
        if error.skipped.is_some() {
            return error;
        }
        self.error_count += 1;
        if self.error_count < MAX_ERRORS {
            return error;
        }
        self.remaining = [].iter();
        self.current = None;
        self.pending.clear();
        let message =
            format!("{}; the limit of {MAX_ERRORS} errors is reached: the remaining input is not read", error.message);
        DocumentError { message, ..error }
    }

    /// Counts the warnings of `document`, and drops those beyond the limit.
    fn count_warnings(&mut self, mut document: Document) -> Document {
        document.warnings.truncate(MAX_WARNINGS - self.warning_count);
        self.warning_count += document.warnings.len();
        document
    }

    /// Returns the error for empty input; `None` if there are no sources.
    fn empty_input_error(&self) -> Option<DocumentError> {
        let source = self.sources.first()?;
        let message = match self.sources.len() {
            1 => "empty: no Kubernetes object found".to_owned(),
            count => format!("all {count} inputs are empty: no Kubernetes object found"),
        };
        Some(DocumentError {
            source: source.name().clone(),
            document: 0,
            line: None,
            message,
            skipped: None,
            placeholders: Vec::new(),
        })
    }
}

impl<S: Source> Iterator for Documents<'_, S> {
    type Item = Result<Document, DocumentError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(result) = self.pending.pop_front() {
                return Some(match result {
                    Ok(document) => Ok(self.count_warnings(document)),
                    Err(error) => Err(self.count_error(error)),
                });
            }
            if !self.advance() {
                let is_empty = !self.has_content;
                self.has_content = true;
                return if is_empty { self.empty_input_error().map(Err) } else { None };
            }
        }
    }
}

impl<'source> OpenSource<'source> {
    fn new(source: &'source impl Source, splits_lists: bool) -> io::Result<Self> {
        let mut splitter = Splitter::new(source.open()?).splitting_lists(splits_lists);
        let bom = encoding::bom_length(splitter.head()?)?;
        splitter.skip(bom);
        Ok(Self { name: source.name().clone(), is_optional: source.origin() == Origin::Directory, splitter })
    }
}

/// Adds an object of a source, or its error, to `pending`. While `is_optional`, errors for which the source is skipped are
/// withheld; the first object shows that they are errors.
fn add(
    object: Result<Document, DocumentError>,
    is_optional: &mut bool,
    withheld: &mut Vec<DocumentError>,
    pending: &mut VecDeque<Result<Document, DocumentError>>,
) {
    match object {
        Err(error) if *is_optional && error.skipped.is_some() => {
            if withheld.len() < MAX_ERRORS {
                withheld.push(error);
            }
        }
        Err(error) => pending.push_back(Err(as_error(error))),
        Ok(document) => {
            *is_optional = false;
            pending.extend(withheld.drain(..).map(|error| Err(as_error(error))));
            pending.push_back(Ok(document));
        }
    }
}

/// Returns the error for a document of a file that is not skipped.
fn as_error(error: DocumentError) -> DocumentError {
    let message = match error.skipped.and_then(SkippedFile::advice) {
        Some(advice) if error.skipped == Some(SkippedFile::HelmTemplate) => format!("{}; {advice}", error.message),
        Some(advice) => advice.to_owned(),
        None => error.message,
    };
    DocumentError { message, skipped: None, ..error }
}

fn matches_filters(filters: &[memmem::Finder<'_>], text: &Result<Cow<'_, str>, yaml::Error>) -> bool {
    let Ok(text) = text else { return true };
    filters.is_empty() || filters.iter().any(|filter| filter.find(text.as_bytes()).is_some())
}

fn read_error(source: &Arc<str>, document: usize, error: &io::Error) -> DocumentError {
    let message = match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("cannot be read: {error}"),
    };
    DocumentError { source: source.clone(), document, line: None, message, skipped: None, placeholders: Vec::new() }
}
