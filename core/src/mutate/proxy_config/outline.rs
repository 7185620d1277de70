//! Parser events of a text, each with its byte range.
//!
//! Two texts with equal events are equivalent for every consumer, including tags, quoting and anchors, which a
//! comparison of parsed values would miss.

use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScanError, StructureStyle};

use super::Refusal;

/// Maximum nesting of collections. No field of the configuration is nested more than eight levels deep.
const MAX_DEPTH: usize = 64;

/// Events of a text with at most one document.
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    pub(super) events: Vec<SpannedEvent<'t>>,
}

/// An event and its byte range.
pub(super) struct SpannedEvent<'t> {
    pub(super) event: Event<'t>,
    pub(super) range: Range<usize>,
}

/// Root of the document.
pub(super) enum Root<'o> {
    /// Only whitespace and comments.
    Empty,
    /// A mapping of fields.
    Mapping {
        /// Index of the event that starts the mapping.
        start: usize,
        /// Block or flow style.
        style: StructureStyle,
        /// Keys and values. A collection is represented by its first event.
        entries: Vec<(&'o SpannedEvent<'o>, &'o SpannedEvent<'o>)>,
    },
}

impl<'t> Outline<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, Refusal> {
        let options = granit_parser::options! {
            emit_comments: false,
            disallow_directives: true,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let mut items = Vec::new();
        let mut documents = 0;
        for next in Parser::new_from_str_with_options(text, options) {
            let (event, span) = next.map_err(|error| refusal(&error))?;
            let range = span.byte_range().filter(|range| text.get(range.clone()).is_some()).ok_or(Refusal::Syntax)?;
            if matches!(event, Event::DocumentStart(..)) {
                documents += 1;
            }
            items.push(SpannedEvent { event, range });
        }
        if documents > 1 {
            return Err(Refusal::SeveralDocuments);
        }
        Ok(Self { text, events: items })
    }

    /// Returns the events within the document.
    pub(super) fn content(&self) -> impl Iterator<Item = &Event<'t>> {
        let is_frame = |event: &Event<'_>| {
            matches!(event, Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd)
        };
        self.events.iter().map(|item| &item.event).filter(move |event| !is_frame(event))
    }

    pub(super) fn root(&self) -> Result<Root<'_>, Refusal> {
        let Some(start) = self.events.iter().position(SpannedEvent::is_node) else { return Ok(Root::Empty) };
        let item = &self.events[start];
        match &item.event {
            Event::Scalar(_, _, 0, None) if item.range.is_empty() => Ok(Root::Empty),
            Event::MappingStart(style, ..) => {
                Ok(Root::Mapping { start, style: *style, entries: entries(&self.events[start + 1..]) })
            }
            _ => Err(Refusal::NotAMapping),
        }
    }
}

fn refusal(error: &ScanError) -> Refusal {
    match error.kind() {
        ErrorKind::DirectiveDisallowed => Refusal::Directive,
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => Refusal::Tab,
        _ => Refusal::Syntax,
    }
}

impl SpannedEvent<'_> {
    /// Returns true if a value starts at this event.
    pub(super) fn is_node(&self) -> bool {
        matches!(self.event, Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..))
    }

    /// Returns the change of the nesting depth.
    fn depth_change(&self) -> isize {
        match self.event {
            Event::SequenceStart(..) | Event::MappingStart(..) => 1,
            Event::SequenceEnd | Event::MappingEnd => -1,
            _ => 0,
        }
    }
}

impl<'o> Root<'o> {
    /// Returns the value of the field `name`.
    pub(super) fn get(&self, name: &str) -> Option<&'o SpannedEvent<'o>> {
        let Self::Mapping { entries, .. } = self else { return None };
        let is_named = |item: &SpannedEvent<'_>| matches!(&item.event, Event::Scalar(value, ..) if value == name);
        entries.iter().find(|(key, _)| is_named(key)).map(|&(_, value)| value)
    }
}

/// Returns the entries of a mapping from the events after its start.
fn entries<'o>(items: &'o [SpannedEvent<'o>]) -> Vec<(&'o SpannedEvent<'o>, &'o SpannedEvent<'o>)> {
    let mut depth = 0;
    let mut nodes = Vec::new();
    for item in items {
        if depth == 0 && item.is_node() {
            nodes.push(item);
        }
        depth += item.depth_change();
        if depth < 0 {
            break;
        }
    }
    nodes.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}
