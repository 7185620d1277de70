//! Reads the objects of all sources.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::mem;
use std::slice;
use std::str;
use std::sync::Arc;

use memchr::{memchr_iter, memmem};
use serde_json::Value;

use super::object::extract_objects;
use super::placeholder::{advice, placeholders};
use super::split::{RawDocument, Splitter};
use super::{Document, DocumentError, DocumentWarning, Source, Substitutions, encoding, json};
use crate::yaml::{self, DuplicateKey};

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
    /// Only documents that contain one of these texts are parsed; all documents if empty.
    filters: Vec<memmem::Finder<'inputs>>,
    substitutions: &'inputs Substitutions,
    /// False if an empty input still has to be reported.
    has_content: bool,
    error_count: usize,
    warning_count: usize,
}

/// A source that is being read.
pub(super) struct OpenSource<'source> {
    name: Arc<str>,
    pub(super) splitter: Splitter<Box<dyn Read + 'source>>,
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
            filters,
            substitutions,
            has_content,
            error_count: 0,
            warning_count: 0,
        }
    }

    /// Reads the next document or opens the next source. Returns false at the end of the input.
    fn advance(&mut self) -> bool {
        let Some(current) = &mut self.current else {
            let Some(source) = self.remaining.next() else { return false };
            match OpenSource::new(source) {
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
                    self.pending.extend(parse_objects(&current.name, document.document, document.line, text));
                }
            }
            Ok(None) => self.current = None,
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
        Some(DocumentError { source: source.name().clone(), document: 0, line: None, message })
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
    pub(super) fn new(source: &'source impl Source) -> io::Result<Self> {
        let mut splitter = Splitter::new(source.open()?);
        let bom = encoding::bom_length(splitter.head()?)?;
        splitter.skip(bom);
        Ok(Self { name: source.name().clone(), splitter })
    }
}

/// Returns the text of a document with its placeholders replaced. The line of an error is relative to the document.
pub(super) fn text<'text>(
    raw: &RawDocument<'text>,
    substitutions: &Substitutions,
) -> Result<Cow<'text, str>, yaml::Error> {
    let bytes = raw.text.map_err(|error| yaml::Error { line: 1, message: error.to_string() })?;
    let text = str::from_utf8(bytes).map_err(|error| {
        let line = 1 + memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
        yaml::Error { line, message: "not valid UTF-8: save it as UTF-8".to_owned() }
    })?;
    substitutions.apply(text).map_err(|error| yaml::Error { line: 1, message: error.to_string() })
}

fn matches_filters(filters: &[memmem::Finder<'_>], text: &Result<Cow<'_, str>, yaml::Error>) -> bool {
    let Ok(text) = text else { return true };
    filters.is_empty() || filters.iter().any(|filter| filter.find(text.as_bytes()).is_some())
}

/// Parses the text of a document, which starts on `line`, and extracts its objects.
fn parse_objects(
    source: &Arc<str>,
    document: usize,
    line: u64,
    text: Result<Cow<'_, str>, yaml::Error>,
) -> Vec<Result<Document, DocumentError>> {
    let error = |line, message| DocumentError { source: source.clone(), document, line: Some(line), message };
    let (value, duplicates) = match text.and_then(|text| parse(&text)) {
        Ok(parsed) => parsed,
        Err(found) => return vec![Err(error(line + found.line.saturating_sub(1), found.message))],
    };
    let warning = |duplicate: &DuplicateKey| DocumentWarning::from_duplicate(source, document, line, duplicate);
    let mut warnings: Vec<_> = duplicates.iter().map(warning).collect();
    let objects = extract_objects(value).into_iter().map(|object| {
        let object = object.map_err(|message| error(line, message))?;
        let (item, namespace, value) = (object.item, object.namespace, object.value);
        let (source, warnings) = (source.clone(), mem::take(&mut warnings));
        Ok(Document { source, document, item, line, namespace, value, warnings })
    });
    objects.collect()
}

/// Parses the text of a document. The lines of an error and of duplicate keys are relative to the document.
fn parse(text: &str) -> Result<(Value, Vec<DuplicateKey>), yaml::Error> {
    let inner = text.trim_start().strip_prefix('{');
    let parsed = inner.map_or_else(
        || yaml::parse_manifest(text),
        |inner| {
            json::parse(text).or_else(|json_error| {
                // A brace can also start a YAML flow mapping.
                let is_json = inner.trim_start().starts_with(['"', '}']);
                yaml::parse_manifest(text).map_err(|yaml_error| if is_json { json_error } else { yaml_error })
            })
        },
    );
    parsed.map_err(|error| explain_placeholder(text, error))
}

/// Adds to a syntax error that its line contains a placeholder: `[${NAME}]` and JSON with `${NAME}` are not valid.
fn explain_placeholder(text: &str, error: yaml::Error) -> yaml::Error {
    let index = usize::try_from(error.line).unwrap_or(usize::MAX).saturating_sub(1);
    let found = text.lines().nth(index).and_then(|line| placeholders(line).find(|found| found.braced));
    match found {
        None => error,
        Some(found) => {
            let (name, advice) = (found.name, advice([found.name].into_iter()));
            let message = format!("{}; the line contains the shell placeholder ${{{name}}}: {advice}", error.message);
            yaml::Error { message, ..error }
        }
    }
}

fn read_error(source: &Arc<str>, document: usize, error: &io::Error) -> DocumentError {
    let message = match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("cannot be read: {error}"),
    };
    DocumentError { source: source.clone(), document, line: None, message }
}
