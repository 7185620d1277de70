//! Collects the values for the objects of all parts, in the order of the input.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use super::part::{ObjectResult, ParsedPart, Step};
use super::{DocumentError, Origin, SkippedFile, Source};

/// Maximum number of invalid documents in all sources. It bounds memory, because callers store the errors.
const MAX_ERRORS: usize = 10_000;
/// Maximum number of warnings in all sources, which callers store too. Further ones are dropped.
const MAX_WARNINGS: usize = 10_000;

/// Queue of the values for the objects of all parts. Decides about the files that are skipped, and limits errors and
/// warnings.
pub struct Collector<T> {
    /// Values that have not yet been returned.
    pending: VecDeque<ObjectResult<T>>,
    /// True if the current source is skipped if it contains no object, and no object has been found.
    is_optional: bool,
    /// True if the current source is a file of a Helm chart. Elsewhere, a template is a manifest that is not rendered.
    is_in_chart: bool,
    /// Documents of the current source for which it is skipped unless an object follows.
    withheld: Vec<DocumentError>,
    error_count: usize,
    warning_count: usize,
    /// Error for an input without documents; `None` once it has one.
    empty_input: Option<DocumentError>,
}

impl<T> Collector<T> {
    /// Creates the collector for the parts of `sources`.
    #[must_use]
    pub fn new(sources: &[impl Source]) -> Self {
        Self { empty_input: empty_input_error(sources), ..Self::ignoring_empty_input() }
    }

    /// Creates a collector for which an input without documents is not an error.
    pub(super) fn ignoring_empty_input() -> Self {
        Self {
            pending: VecDeque::new(),
            is_optional: false,
            is_in_chart: false,
            withheld: Vec::new(),
            error_count: 0,
            warning_count: 0,
            empty_input: None,
        }
    }

    /// Adds the next part of the input.
    pub fn add(&mut self, part: ParsedPart<T>) {
        match part.0 {
            Step::Start(origin) => {
                self.is_optional = matches!(origin, Origin::Directory | Origin::Chart);
                self.is_in_chart = origin == Origin::Chart;
            }
            Step::Document(objects) => {
                self.empty_input = None;
                for object in objects {
                    self.add_object(object);
                }
            }
            Step::End => self.pending.extend(self.withheld.drain(..).next().map(Err)),
            Step::Failed(error) => {
                self.empty_input = None;
                self.pending.push_back(Err(error));
            }
        }
    }

    /// Returns the next value.
    pub fn pop(&mut self) -> Option<ObjectResult<T>> {
        let result = self.pending.pop_front()?;
        Some(match result {
            Ok((value, mut warnings)) => {
                warnings.truncate(MAX_WARNINGS - self.warning_count);
                self.warning_count += warnings.len();
                Ok((value, warnings))
            }
            Err(error) => Err(self.count_error(error)),
        })
    }

    /// Returns true if the limit of errors is reached: the remaining input is not read.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.error_count >= MAX_ERRORS
    }

    /// Returns the error at the end of the input if it has no documents.
    pub fn finish(&mut self) -> Option<DocumentError> {
        self.empty_input.take()
    }

    /// Adds an object of a source, or its error. While the source is optional, errors for which it is skipped are withheld; the
    /// first object shows that they are errors.
    fn add_object(&mut self, object: ObjectResult<T>) {
        match object {
            Err(error) if self.may_skip(&error) => {
                if self.withheld.len() < MAX_ERRORS {
                    self.withheld.push(error);
                }
            }
            Err(error) => self.pending.push_back(Err(as_error(error))),
            Ok(value) => {
                self.is_optional = false;
                self.pending.extend(self.withheld.drain(..).map(|error| Err(as_error(error))));
                self.pending.push_back(Ok(value));
            }
        }
    }

    /// Returns true if the current source is skipped because of `error`, unless an object follows.
    fn may_skip(&self, error: &DocumentError) -> bool {
        let is_skippable = error.skipped.is_some_and(|reason| self.is_in_chart || reason != SkippedFile::HelmTemplate);
        self.is_optional && is_skippable
    }

    /// Counts `error`, and drops what follows at the limit.
    fn count_error(&mut self, error: DocumentError) -> DocumentError {
        if error.skipped.is_some() {
            return error;
        }
        self.error_count += 1;
        if !self.is_full() {
            return error;
        }
        self.pending.clear();
        let message =
            format!("{}; the limit of {MAX_ERRORS} errors is reached: the remaining input is not read", error.message);
        DocumentError { message, ..error }
    }
}

/// Returns the error for `sources` without a document; `None` if there are no sources.
fn empty_input_error(sources: &[impl Source]) -> Option<DocumentError> {
    let source = sources.first()?.name();
    let (source, message) = match sources.len() {
        1 => (Arc::clone(source), "empty: no Kubernetes object found".to_owned()),
        count => {
            let message = format!("all {count} files are empty: no Kubernetes object found");
            (directory_of(sources).unwrap_or_else(|| Arc::clone(source)), message)
        }
    };
    Some(DocumentError { source, document: 0, line: None, message, skipped: None, placeholders: Vec::new() })
}

/// Returns the directory that contains all `sources`, if their names show one.
fn directory_of(sources: &[impl Source]) -> Option<Arc<str>> {
    let mut directories = sources.iter().map(|source| Path::new(&**source.name()).parent().unwrap_or(Path::new("")));
    let first = directories.next()?;
    let common = directories.try_fold(first, |common, next| common.ancestors().find(|path| next.starts_with(path)))?;
    Some(common.to_string_lossy().into()).filter(|name: &Arc<str>| !name.is_empty())
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
