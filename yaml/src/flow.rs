//! The flow collections of a document: lists in `[ ]` and mappings in `{ }`.

use granit_parser::{Event, Span, StructureStyle};

/// Nesting depth of flow collections.
#[derive(Debug, Default)]
pub(super) struct FlowDepth {
    depth: usize,
    /// Line on which the outermost one starts.
    first: usize,
}

impl FlowDepth {
    /// Passes an event. Returns the first and the last line of an outermost flow collection that ends there.
    pub(super) fn pass(&mut self, event: &Event<'_>, span: &Span) -> Option<(usize, usize)> {
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if self.depth > 0 => self.depth += 1,
            Event::SequenceStart(StructureStyle::Flow, ..) | Event::MappingStart(StructureStyle::Flow, ..) => {
                (self.depth, self.first) = (1, span.start.line());
            }
            Event::SequenceEnd | Event::MappingEnd if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Some((self.first, span.end.line()));
                }
            }
            _ => {}
        }
        None
    }

    /// Returns true within a flow collection.
    pub(super) fn is_inside(&self) -> bool {
        self.depth > 0
    }
}
