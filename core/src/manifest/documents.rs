//! The objects of all sources, one after the other.

use super::collector::Collector;
use super::reader::Parts;
use super::{Document, DocumentError, Source, Substitutions};

/// Iterator over the objects of all sources, in order.
pub struct Documents<'inputs, S> {
    parts: Parts<'inputs, S>,
    collector: Collector<Document>,
}

impl<'inputs, S: Source> Documents<'inputs, S> {
    /// Reads the objects of `sources` from documents whose text contains one of `filters`; other documents are not
    /// parsed. Without filters, reads all documents. `substitutions` are applied to the text first.
    pub fn new(sources: &'inputs [S], filters: &[&'inputs [u8]], substitutions: &'inputs Substitutions) -> Self {
        let parts = Parts::new(sources, substitutions).with_filters(filters);
        let collector = if filters.is_empty() { Collector::new(sources) } else { Collector::ignoring_empty_input() };
        Self { parts, collector }
    }
}

impl<S: Source> Iterator for Documents<'_, S> {
    type Item = Result<Document, DocumentError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(result) = self.collector.pop() {
                return Some(result.map(|(document, warnings)| Document { warnings, ..document }));
            }
            if self.collector.is_full() {
                return None;
            }
            match self.parts.next() {
                Some(part) => self.collector.add(part.parse(|document| document)),
                None => return self.collector.finish().map(Err),
            }
        }
    }
}
