//! A text as the flat list of its parser events, each with its place.
//!
//! Two texts with equal events mean the same to every consumer, tags, quoting and anchors included: more than a
//! comparison of parsed values could tell.

use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScanError, StructureStyle};

use super::Refusal;

/// Collections within collections; no field of the configuration nests deeper than eight.
const MAX_DEPTH: usize = 64;

/// A text of one document at most.
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    pub(super) items: Vec<Item<'t>>,
}

/// An event and the bytes that it stands for.
pub(super) struct Item<'t> {
    pub(super) event: Event<'t>,
    pub(super) range: Range<usize>,
}

/// What stands at the top of the document.
pub(super) enum Top<'o> {
    /// Nothing but blanks and comments.
    Empty,
    /// The fields.
    Mapping {
        /// Index of its start among the items.
        start: usize,
        /// Block or flow.
        style: StructureStyle,
        /// Keys and values; of a value that is a collection, its start.
        entries: Vec<(&'o Item<'o>, &'o Item<'o>)>,
    },
}

impl<'t> Outline<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, Refusal> {
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
            items.push(Item { event, range });
        }
        if documents > 1 {
            return Err(Refusal::SeveralDocuments);
        }
        Ok(Self { text, items })
    }

    /// The events within the document.
    pub(super) fn content(&self) -> impl Iterator<Item = &Event<'t>> {
        let frame = |event: &Event<'_>| {
            matches!(event, Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd)
        };
        self.items.iter().map(|item| &item.event).filter(move |event| !frame(event))
    }

    pub(super) fn top(&self) -> Result<Top<'_>, Refusal> {
        let Some(start) = self.items.iter().position(Item::is_node) else { return Ok(Top::Empty) };
        let item = &self.items[start];
        match &item.event {
            Event::Scalar(_, _, 0, None) if item.range.is_empty() => Ok(Top::Empty),
            Event::MappingStart(style, ..) => {
                Ok(Top::Mapping { start, style: *style, entries: entries(&self.items[start + 1..]) })
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

impl Item<'_> {
    /// Whether a value starts here.
    pub(super) fn is_node(&self) -> bool {
        matches!(self.event, Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..))
    }

    /// How the nesting changes: one level down, one up, or not.
    fn step(&self) -> isize {
        match self.event {
            Event::SequenceStart(..) | Event::MappingStart(..) => 1,
            Event::SequenceEnd | Event::MappingEnd => -1,
            _ => 0,
        }
    }
}

impl<'o> Top<'o> {
    /// The value of the field `name`.
    pub(super) fn get(&self, name: &str) -> Option<&'o Item<'o>> {
        let Self::Mapping { entries, .. } = self else { return None };
        let named = |item: &Item<'_>| matches!(&item.event, Event::Scalar(value, ..) if value == name);
        entries.iter().find(|(key, _)| named(key)).map(|&(_, value)| value)
    }
}

/// The entries of the mapping whose items follow its start.
fn entries<'o>(items: &'o [Item<'o>]) -> Vec<(&'o Item<'o>, &'o Item<'o>)> {
    let mut depth = 0;
    let mut own = Vec::new();
    for item in items {
        if depth == 0 && item.is_node() {
            own.push(item);
        }
        depth += item.step();
        if depth < 0 {
            break;
        }
    }
    own.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}
