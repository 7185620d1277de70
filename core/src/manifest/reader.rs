//! Reads the text of the documents of all sources.

use std::io::{self, Read};
use std::slice;
use std::sync::Arc;

use memchr::memmem;

use super::part::{Part, Step, Unparsed};
use super::skipped::skipped;
use super::split::Splitter;
use super::{DocumentError, Source, Substitutions, encoding};

/// Iterator over the parts of all sources, in order.
pub struct Parts<'inputs, S> {
    remaining: slice::Iter<'inputs, S>,
    current: Option<OpenSource<'inputs>>,
    /// Only documents that contain one of these texts are returned; all documents if empty.
    filters: Vec<memmem::Finder<'inputs>>,
    substitutions: &'inputs Substitutions,
    /// True if lists of kubectl are read by item.
    splits_lists: bool,
}

/// A source that is being read.
struct OpenSource<'source> {
    name: Arc<str>,
    splitter: Splitter<Box<dyn Read + Send + 'source>>,
}

impl<'inputs, S: Source> Parts<'inputs, S> {
    /// Reads `sources`. `substitutions` are applied to the text of each document.
    pub fn new(sources: &'inputs [S], substitutions: &'inputs Substitutions) -> Self {
        Self { remaining: sources.iter(), current: None, filters: Vec::new(), substitutions, splits_lists: false }
    }

    /// Returns only documents whose text contains one of `filters`, or that are invalid.
    pub(super) fn with_filters(self, filters: &[&'inputs [u8]]) -> Self {
        Self { filters: filters.iter().map(|text| memmem::Finder::new(*text)).collect(), ..self }
    }

    /// Reads lists of kubectl by item, so that their size is not limited.
    #[must_use]
    pub fn splitting_lists(self) -> Self {
        Self { splits_lists: true, ..self }
    }

    /// Opens the next source.
    fn start(&mut self) -> Option<Part> {
        let source = self.remaining.next()?;
        if let Some(error) = skipped(source.name(), source.origin()) {
            return Some(Part(Step::Failed(error)));
        }
        Some(Part(match OpenSource::new(source, self.splits_lists) {
            Ok(current) => {
                self.current = Some(current);
                Step::Start(source.origin())
            }
            Err(error) => Step::Failed(read_error(source.name(), 0, &error)),
        }))
    }
}

impl<S: Source> Iterator for Parts<'_, S> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        loop {
            let Some(OpenSource { name, splitter }) = &mut self.current else { return self.start() };
            let filters = &self.filters;
            let is_selected =
                |text: &str| filters.is_empty() || filters.iter().any(|filter| filter.find(text.as_bytes()).is_some());
            let step = match splitter.next() {
                Ok(Some(raw)) => match Unparsed::read(name, &raw, self.substitutions, is_selected) {
                    Some(document) => return Some(Part(Step::Document(document))),
                    None => continue,
                },
                Ok(None) => Step::End,
                Err(error) => Step::Failed(read_error(name, splitter.document(), &error)),
            };
            self.current = None;
            return Some(Part(step));
        }
    }
}

impl<'source> OpenSource<'source> {
    fn new(source: &'source impl Source, splits_lists: bool) -> io::Result<Self> {
        let mut splitter = Splitter::new(source.open()?).splitting_lists(splits_lists);
        let bom = encoding::bom_length(splitter.head()?)?;
        splitter.skip(bom);
        Ok(Self { name: Arc::clone(source.name()), splitter })
    }
}

fn read_error(source: &Arc<str>, document: usize, error: &io::Error) -> DocumentError {
    let message = match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("cannot be read: {error}"),
    };
    DocumentError { source: source.clone(), document, line: None, message, skipped: None, placeholders: Vec::new() }
}
