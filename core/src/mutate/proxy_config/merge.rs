//! Adds the hold to a text and verifies that nothing else changed.

use std::borrow::Cow;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::outline::{Outline, Root};
use super::{BYTE_ORDER_MARK, FIELD, Refusal, dialect};

/// Returns the text of `outline`, which does not set the hold, with the hold added.
pub(super) fn insert(outline: &Outline<'_>) -> Result<String, Refusal> {
    let merged = match outline.root()? {
        Root::Empty => append_line(outline.text),
        Root::Mapping { style: StructureStyle::Block, entries, .. } => {
            let (key, _) = entries.first().ok_or(Refusal::Unverified)?;
            insert_in_block(outline.text, key.range.start)?
        }
        Root::Mapping { style: StructureStyle::Flow, start, entries } => {
            let first_key = entries.first().map(|(key, _)| key.range.start);
            insert_in_flow(outline.text, outline.events[start].range.start, first_key)?
        }
    };
    verify(outline, &merged)?;
    Ok(merged)
}

/// Appends the hold as a line to a text without fields.
fn append_line(text: &str) -> String {
    let line_break = if text.is_empty() || text.ends_with('\n') { "" } else { line_break(text) };
    format!("{text}{line_break}{FIELD}: true")
}

/// Inserts the hold into a block mapping, above the first key, which is at `key_start`, and the comments directly
/// above it.
fn insert_in_block(text: &str, key_start: usize) -> Result<String, Refusal> {
    let mut at = text[..key_start].rfind('\n').map_or(0, |end| end + 1);
    let indentation = text[at..key_start].trim_start_matches(BYTE_ORDER_MARK);
    if !indentation.bytes().all(|byte| byte == b' ') {
        return Err(Refusal::Unverified);
    }
    at = key_start - indentation.len();
    while let Some(line) = text[..at].strip_suffix('\n') {
        let start = line.rfind('\n').map_or(0, |end| end + 1);
        if !line[start..].trim_start_matches(' ').starts_with('#') {
            break;
        }
        at = start;
    }
    let (before, rest) = text.split_at(at);
    Ok(format!("{before}{indentation}{FIELD}: true{}{rest}", line_break(text)))
}

/// Inserts the hold into a flow mapping, before the first key and quoted like it. `brace` and `first` are the offsets
/// of the opening brace and of the first key.
fn insert_in_flow(text: &str, brace: usize, first: Option<usize>) -> Result<String, Refusal> {
    let rest = text[brace..].strip_prefix('{').ok_or(Refusal::Unverified)?;
    let before = &text[..=brace];
    let Some(first) = first else { return Ok(format!("{before}\"{FIELD}\": true{rest}")) };
    let quote = if text[first..].starts_with('"') { "\"" } else { "" };
    let entry = format!("{quote}{FIELD}{quote}: true,");
    let gap = text.get(brace + 1..first).ok_or(Refusal::Unverified)?;
    Ok(match gap {
        "" => format!("{before}{entry} {rest}"),
        blank if blank.trim().is_empty() => format!("{before}{gap}{entry}{rest}"),
        _ => format!("{before}{entry}{rest}"),
    })
}

/// Returns the line break that the text uses.
fn line_break(text: &str) -> &'static str {
    let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    if crlf { "\r\n" } else { "\n" }
}

/// Verifies that `merged` is equivalent to `outline` with the hold as first field.
fn verify(outline: &Outline<'_>, merged: &str) -> Result<(), Refusal> {
    let after = Outline::parse(merged).map_err(|_| Refusal::Unverified)?;
    dialect::check(&after).map_err(|_| Refusal::Unverified)?;
    let empty = [Event::MappingStart(StructureStyle::Block, 0, None), Event::MappingEnd];
    let before: Vec<&Event<'_>> = match outline.root()? {
        Root::Empty => empty.iter().collect(),
        Root::Mapping { .. } => outline.content().collect(),
    };
    let mut actual = after.content();
    let mut expected = before.into_iter();
    let is_equivalent = actual.next() == expected.next()
        && actual.next().is_some_and(|key| matches!(key, Event::Scalar(name, _, 0, None) if name == FIELD))
        && actual.next() == Some(&Event::Scalar(Cow::Borrowed("true"), ScalarStyle::Plain, 0, None))
        && actual.eq(expected);
    if is_equivalent { Ok(()) } else { Err(Refusal::Unverified) }
}
