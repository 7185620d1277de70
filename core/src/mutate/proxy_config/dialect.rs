//! What YAML 1.1, in the reading of `sigs.k8s.io/yaml`, and YAML 1.2 agree on.
//!
//! Only what is known to be read alike passes; `tests/unit/proxy_config.rs` holds it against the original. A construct that
//! nobody writes into a proxy configuration (tags, complex keys, directives) is not worth more than a refusal.

mod gap;
mod scalar;

use std::collections::HashSet;

use granit_parser::Event;

use super::outline::{Item, Outline};
use super::{BYTE_ORDER_MARK, Refusal};
use gap::Gaps;

pub(super) use scalar::boolean;

/// Aliases in one text. Istio's parser gives up where more than 99 of 100 values come from aliases; with this many, none
/// of which expands to another, they are 64 of 65 at most.
const MAX_ALIASES: usize = 64;

/// Whether both parsers take every character of the text for the same: a line break, or text, or nothing to be read.
pub(super) fn characters(text: &str) -> Result<(), Refusal> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let odd = match character {
            '\t' | '\n' => false,
            '\r' => characters.peek() != Some(&'\n'),
            '\u{2028}' | '\u{2029}' | BYTE_ORDER_MARK | '\u{fffe}' | '\u{ffff}' => true,
            other => other.is_control(),
        };
        if odd {
            return Err(Refusal::Character);
        }
    }
    Ok(())
}

/// Whether Istio is sure to read the text as we do.
pub(super) fn check(outline: &Outline<'_>) -> Result<(), Refusal> {
    let mut check = Check { text: outline.text, gaps: Gaps::new(outline.text), open: Vec::new(), aliases: 0 };
    for item in &outline.items {
        check.item(item)?;
    }
    check.gaps.close(outline.text.len())
}

struct Check<'o> {
    text: &'o str,
    gaps: Gaps<'o>,
    open: Vec<Collection<'o>>,
    aliases: usize,
}

/// A collection whose end is still to come.
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

impl<'o> Check<'o> {
    fn item(&mut self, item: &'o Item<'_>) -> Result<(), Refusal> {
        if matches!(item.event, Event::SequenceEnd | Event::MappingEnd) {
            self.open.pop();
        }
        if !item.is_node() {
            return Ok(());
        }
        if item.event.tag().is_some() {
            return Err(Refusal::Tag);
        }
        let keys = self.open.last_mut().and_then(Collection::keys_at_key);
        let is_key = keys.is_some();
        match (&item.event, keys) {
            (Event::Scalar(_, _, 1.., _) | Event::Alias(_), Some(_)) => return Err(Refusal::Key),
            (Event::Scalar(name, style, ..), Some(keys)) => {
                scalar::key(&self.text[item.range.clone()], *style)?;
                if !keys.insert(name) {
                    return Err(Refusal::DuplicateKey);
                }
            }
            (Event::Scalar(_, style, ..), None) => {
                // Whether the scalar stands in a flow collection is seen in the gap.
                self.gaps.close(item.range.start)?;
                scalar::value(&self.text[item.range.clone()], *style, self.gaps.in_flow())?;
            }
            (Event::Alias(_), None) => self.alias(item)?,
            (_, Some(_)) => return Err(Refusal::Key),
            (collection, None) => {
                self.open.push(Collection::new(collection));
                return Ok(());
            }
        }
        self.gaps.close(item.range.start)?;
        self.gaps.skip(item, is_key);
        Ok(())
    }

    fn alias(&mut self, item: &Item<'_>) -> Result<(), Refusal> {
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

    /// The keys so far, when the next node is another one.
    fn keys_at_key(&mut self) -> Option<&mut HashSet<&'o str>> {
        let entries = self.entries.as_mut()?;
        let key_is_next = !entries.value_is_next;
        entries.value_is_next = key_is_next;
        key_is_next.then_some(&mut entries.keys)
    }
}
