//! Puts the hold into a text and proves that nothing else changed.

use std::borrow::Cow;

use granit_parser::{Event, ScalarStyle, StructureStyle};

use super::outline::{Outline, Top};
use super::{BYTE_ORDER_MARK, FIELD, Refusal, dialect};

/// The text of `outline`, which does not mention the hold, with the hold asked for.
pub(super) fn insert(outline: &Outline<'_>) -> Result<String, Refusal> {
    let merged = match outline.top()? {
        Top::Empty => after(outline.text),
        Top::Mapping { style: StructureStyle::Block, entries, .. } => {
            let (key, _) = entries.first().ok_or(Refusal::Unverified)?;
            above(outline.text, key.range.start)?
        }
        Top::Mapping { style: StructureStyle::Flow, start, entries } => {
            within(outline.text, outline.items[start].range.start, entries.first().map(|(key, _)| key.range.start))?
        }
    };
    verify(outline, &merged)?;
    Ok(merged)
}

/// Into a text without fields: on a line of its own at the end, below the comments.
fn after(text: &str) -> String {
    let line_break = if text.is_empty() || text.ends_with('\n') { "" } else { line_break(text) };
    format!("{text}{line_break}{FIELD}: true")
}

/// Into a block mapping: above the first key, and above the comment lines that belong to it.
fn above(text: &str, key: usize) -> Result<String, Refusal> {
    let mut at = text[..key].rfind('\n').map_or(0, |end| end + 1);
    let indentation = text[at..key].trim_start_matches(BYTE_ORDER_MARK);
    if !indentation.bytes().all(|byte| byte == b' ') {
        return Err(Refusal::Unverified);
    }
    at = key - indentation.len();
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

/// Into a flow mapping, whose brace and first key are at these places: in front of that key and in its style.
fn within(text: &str, brace: usize, first: Option<usize>) -> Result<String, Refusal> {
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

/// The line break that the text uses.
fn line_break(text: &str) -> &'static str {
    let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    if crlf { "\r\n" } else { "\n" }
}

/// Whether `merged` reads as `outline` does, but for the hold in front of the first field.
fn verify(outline: &Outline<'_>, merged: &str) -> Result<(), Refusal> {
    let after = Outline::read(merged).map_err(|_| Refusal::Unverified)?;
    dialect::check(&after).map_err(|_| Refusal::Unverified)?;
    let empty = [Event::MappingStart(StructureStyle::Block, 0, None), Event::MappingEnd];
    let before: Vec<&Event<'_>> = match outline.top()? {
        Top::Empty => empty.iter().collect(),
        Top::Mapping { .. } => outline.content().collect(),
    };
    let mut left = after.content();
    let mut right = before.into_iter();
    let same = left.next() == right.next()
        && left.next().is_some_and(|key| matches!(key, Event::Scalar(name, _, 0, None) if name == FIELD))
        && left.next() == Some(&Event::Scalar(Cow::Borrowed("true"), ScalarStyle::Plain, 0, None))
        && left.eq(right);
    if same { Ok(()) } else { Err(Refusal::Unverified) }
}
