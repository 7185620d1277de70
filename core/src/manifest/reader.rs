//! From the bytes of the sources to objects.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::iter;
use std::slice;
use std::str;
use std::sync::Arc;

use memchr::{memchr_iter, memmem};
use serde_json::Value;

use super::object::objects;
use super::split::{Fault, Part, Splitter};
use super::{Document, DocumentError, MAX_DOCUMENT, Source, encoding, json};
use crate::yaml;

/// Documents that cannot be read, in all sources: whoever reads keeps them, and nobody reads on to the end of so many.
const MAX_ERRORS: usize = 10_000;

/// Reads sources one after the other.
pub struct Documents<'inputs, S> {
    sources: &'inputs [S],
    rest: slice::Iter<'inputs, S>,
    open: Option<Open<'inputs>>,
    /// The other objects of the document that was read last.
    ready: VecDeque<Result<Document, DocumentError>>,
    /// A document without any of these is not parsed; without a word, all are.
    words: Vec<memmem::Finder<'inputs>>,
    /// Whether any source held anything.
    found: bool,
    errors: usize,
}

struct Open<'source> {
    name: Arc<str>,
    splitter: Splitter<Box<dyn Read + 'source>>,
}

impl<'inputs, S: Source> Documents<'inputs, S> {
    /// Of all `sources`, the objects of those documents whose text contains one of `words`; the others are not parsed. Without
    /// a word, all.
    pub fn new(sources: &'inputs [S], words: &[&'inputs [u8]]) -> Self {
        let words = words.iter().map(|word| memmem::Finder::new(*word)).collect::<Vec<_>>();
        let found = !words.is_empty();
        Self { sources, rest: sources.iter(), open: None, ready: VecDeque::new(), words, found, errors: 0 }
    }

    /// Reads on until something is ready; `false` at the end of the input.
    fn read(&mut self) -> bool {
        let Some(open) = &mut self.open else {
            let Some(source) = self.rest.next() else { return false };
            match Open::new(source) {
                Ok(open) => self.open = Some(open),
                Err(error) => self.report(fault(source.name(), 0, &error)),
            }
            return true;
        };
        match open.splitter.next() {
            Ok(Some(part)) => {
                self.found = true;
                if mentions(&self.words, &part) {
                    self.ready.extend(parts(&open.name, &part));
                }
            }
            Ok(None) => self.open = None,
            Err(error) => {
                let error = fault(&open.name, open.splitter.document(), &error);
                self.open = None;
                self.report(error);
            }
        }
        true
    }

    fn report(&mut self, error: DocumentError) {
        self.found = true;
        self.ready.push_back(Err(error));
    }

    /// Counts `error`; the last one that is allowed ends the input.
    fn count(&mut self, error: DocumentError) -> DocumentError {
        self.errors += 1;
        if self.errors < MAX_ERRORS {
            return error;
        }
        self.rest = [].iter();
        self.open = None;
        self.ready.clear();
        let message =
            format!("{}; with this error the limit of {MAX_ERRORS} is reached: the rest is not read", error.message);
        DocumentError { message, ..error }
    }

    /// What to say when all sources were empty.
    fn nothing(&self) -> Option<DocumentError> {
        let source = self.sources.first()?;
        let message = match self.sources.len() {
            1 => "empty: no Kubernetes object found".to_owned(),
            count => format!("empty, as are all {count} inputs: no Kubernetes object found"),
        };
        Some(DocumentError { source: source.name().clone(), document: 0, line: None, message })
    }
}

impl<S: Source> Iterator for Documents<'_, S> {
    type Item = Result<Document, DocumentError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready.map_err(|error| self.count(error)));
            }
            if !self.read() {
                let first_end = !self.found;
                self.found = true;
                return if first_end { self.nothing().map(Err) } else { None };
            }
        }
    }
}

impl<'source> Open<'source> {
    fn new(source: &'source impl Source) -> io::Result<Self> {
        let mut splitter = Splitter::new(source.open()?);
        let mark = encoding::check(splitter.head()?)?;
        splitter.skip(mark);
        Ok(Self { name: source.name().clone(), splitter })
    }
}

fn mentions(words: &[memmem::Finder<'_>], part: &Part<'_>) -> bool {
    let Ok(text) = part.text else { return true };
    words.is_empty() || words.iter().any(|word| word.find(text).is_some())
}

/// The objects of a document.
fn parts(source: &Arc<str>, part: &Part<'_>) -> Vec<Result<Document, DocumentError>> {
    let Part { document, line, .. } = *part;
    let error = |line, message| DocumentError { source: source.clone(), document, line: Some(line), message };
    match parse(part) {
        Ok(value) => objects(value)
            .into_iter()
            .map(|object| {
                let object = object.map_err(|message| error(line, message))?;
                let (item, namespace, value) = (object.item, object.namespace, object.value);
                Ok(Document { source: source.clone(), document, item, line, namespace, value })
            })
            .collect(),
        Err(found) => iter::once(Err(error(line + found.line.saturating_sub(1), found.message))).collect(),
    }
}

/// The value of a document; the line of an error counts in the document.
fn parse(part: &Part<'_>) -> Result<Value, yaml::Error> {
    let bytes = part.text.map_err(|fault| yaml::Error { line: 1, message: describe(fault) })?;
    let text = str::from_utf8(bytes).map_err(|error| {
        let line = 1 + memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
        yaml::Error { line, message: "not valid UTF-8: save it as UTF-8".to_owned() }
    })?;
    let Some(inner) = text.trim_start().strip_prefix('{') else { return yaml::parse(text) };
    json::parse(text).or_else(|json_error| {
        // Braces may be YAML's too.
        let is_json = inner.trim_start().starts_with(['"', '}']);
        yaml::parse(text).map_err(|yaml_error| if is_json { json_error } else { yaml_error })
    })
}

fn describe(fault: Fault) -> String {
    match fault {
        Fault::TooLarge => {
            format!(
                "longer than the limit of {} MiB: split it, or take the objects out of their list",
                MAX_DOCUMENT >> 20
            )
        }
        Fault::Separator => "text follows `---` without a space: only a line `---` separates documents".to_owned(),
    }
}

fn fault(source: &Arc<str>, document: usize, error: &io::Error) -> DocumentError {
    let message = match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("cannot be read: {error}"),
    };
    DocumentError { source: source.clone(), document, line: None, message }
}
