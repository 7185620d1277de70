//! The subset of YAML that `sigs.k8s.io/yaml`, a YAML 1.1 parser, and YAML 1.2 parsers read identically.
//!
//! Only constructs that are known to be read identically pass; `tests/unit/proxy_config.rs` compares the result with
//! Istio's parser. Constructs that are unusual in a proxy configuration (tags, complex keys, directives) are refused.

mod gap;
mod scalar;

use std::collections::HashSet;

use granit_parser::Event;

use super::outline::{Outline, SpannedEvent};
use super::{BYTE_ORDER_MARK, Refusal};
use gap::GapScanner;

pub(super) use scalar::parse_boolean;

/// Maximum number of aliases in a text. Istio's parser fails if more than 99 % of the values come from aliases. With
/// this many aliases, none of which expands to another, the share is at most 64 of 65.
const MAX_ALIASES: usize = 64;

/// Checks that both parsers treat every character alike: as a line break, as text or as invalid.
pub(super) fn check_characters(text: &str) -> Result<(), Refusal> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_ambiguous = match character {
            '\t' | '\n' => false,
            '\r' => characters.peek() != Some(&'\n'),
            '\u{2028}' | '\u{2029}' | BYTE_ORDER_MARK | '\u{fffe}' | '\u{ffff}' => true,
            other => other.is_control(),
        };
        if is_ambiguous {
            return Err(Refusal::Character);
        }
    }
    Ok(())
}

/// Checks that Istio's parser reads the text identically.
pub(super) fn check(outline: &Outline<'_>) -> Result<(), Refusal> {
    let mut checker = Checker { text: outline.text, gaps: GapScanner::new(outline.text), open: Vec::new(), aliases: 0 };
    for item in &outline.events {
        checker.check_item(item)?;
    }
    checker.gaps.check_until(outline.text.len())
}

struct Checker<'o> {
    text: &'o str,
    gaps: GapScanner<'o>,
    open: Vec<Collection<'o>>,
    aliases: usize,
}

/// A collection that is still open.
struct Collection<'o> {
    anchored: bool,
    /// `None` for a sequence.
    entries: Option<Entries<'o>>,
}

#[derive(Default)]
struct Entries<'o> {
    keys: HashSet<&'o str>,
    value_is_next: bool,
}

impl<'o> Checker<'o> {
    fn check_item(&mut self, item: &'o SpannedEvent<'_>) -> Result<(), Refusal> {
        if matches!(item.event, Event::SequenceEnd | Event::MappingEnd) {
            self.open.pop();
        }
        if !item.is_node() {
            return Ok(());
        }
        if item.event.tag().is_some() {
            return Err(Refusal::Tag);
        }
        let keys = self.open.last_mut().and_then(Collection::advance);
        let is_key = keys.is_some();
        match (&item.event, keys) {
            (Event::Scalar(_, _, 1.., _) | Event::Alias(_), Some(_)) => return Err(Refusal::Key),
            (Event::Scalar(name, style, ..), Some(keys)) => {
                scalar::check_key(&self.text[item.range.clone()], *style)?;
                if !keys.insert(name) {
                    return Err(Refusal::DuplicateKey);
                }
            }
            (Event::Scalar(_, style, ..), None) => {
                // The gap determines whether the scalar is in a flow collection.
                self.gaps.check_until(item.range.start)?;
                scalar::check_value(&self.text[item.range.clone()], *style, self.gaps.in_flow())?;
            }
            (Event::Alias(_), None) => self.check_alias(item)?,
            (_, Some(_)) => return Err(Refusal::Key),
            (collection, None) => {
                self.open.push(Collection::new(collection));
                return Ok(());
            }
        }
        self.gaps.check_until(item.range.start)?;
        self.gaps.skip(item, is_key);
        Ok(())
    }

    fn check_alias(&mut self, item: &SpannedEvent<'_>) -> Result<(), Refusal> {
        self.aliases += 1;
        let is_nested = self.open.iter().any(|collection| collection.anchored);
        let is_named = self.text[item.range.clone()].strip_prefix('*').is_some_and(gap::is_anchor_name);
        if is_nested || !is_named || self.aliases > MAX_ALIASES {
            return Err(Refusal::Aliases);
        }
        Ok(())
    }
}

impl<'o> Collection<'o> {
    fn new(start: &Event<'_>) -> Self {
        let (anchored, is_mapping) = match start {
            Event::MappingStart(_, anchor, _) => (*anchor != 0, true),
            Event::SequenceStart(_, anchor, _) => (*anchor != 0, false),
            _ => (false, false),
        };
        Self { anchored, entries: is_mapping.then(Entries::default) }
    }

    /// Advances to the next node. Returns the previous keys if that node is a key.
    fn advance(&mut self) -> Option<&mut HashSet<&'o str>> {
        let entries = self.entries.as_mut()?;
        let key_is_next = !entries.value_is_next;
        entries.value_is_next = key_is_next;
        key_is_next.then_some(&mut entries.keys)
    }
}
