//! Scalars as Istio's parser reads them.

use granit_parser::{Event, ScalarStyle};

use super::super::Refusal;
use super::super::outline::Item;

const TRUE: [&str; 11] = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: [&str; 11] = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];
const NULL: [&str; 4] = ["~", "null", "Null", "NULL"];

/// The value of the hold.
pub(in super::super) fn boolean(item: &Item<'_>) -> Result<bool, Refusal> {
    match &item.event {
        Event::Scalar(_, ScalarStyle::Plain, ..) if item.range.is_empty() => Err(Refusal::Null),
        Event::Scalar(word, ScalarStyle::Plain, ..) => match &**word {
            word if TRUE.contains(&word) => Ok(true),
            word if FALSE.contains(&word) => Ok(false),
            word if NULL.contains(&word) => Err(Refusal::Null),
            _ => Err(Refusal::NotABoolean),
        },
        Event::Scalar(..) => Err(Refusal::Quoted),
        _ => Err(Refusal::NotABoolean),
    }
}

/// Whether the key written as `raw` is a string on one line.
pub(super) fn key(raw: &str, style: ScalarStyle) -> Result<(), Refusal> {
    if raw.contains('\n') {
        return Err(Refusal::Key);
    }
    match style {
        ScalarStyle::Plain if raw == "<<" => Err(Refusal::MergeKey),
        ScalarStyle::Plain if is_text(raw) => Ok(()),
        ScalarStyle::SingleQuoted => Ok(()),
        ScalarStyle::DoubleQuoted => escapes(raw),
        _ => Err(Refusal::Key),
    }
}

/// Whether the value written as `raw` is a value for Istio's parser too; which one matters to the hold alone.
pub(super) fn value(raw: &str, style: ScalarStyle, in_flow: bool) -> Result<(), Refusal> {
    match style {
        ScalarStyle::Plain => plain(raw, in_flow),
        ScalarStyle::SingleQuoted => Ok(()),
        ScalarStyle::DoubleQuoted => escapes(raw),
        ScalarStyle::Literal | ScalarStyle::Folded => {
            let tab = raw.lines().any(|line| line.trim_start_matches(' ').starts_with('\t'));
            if tab { Err(Refusal::Tab) } else { Ok(()) }
        }
    }
}

/// A plain key that no version of YAML takes for anything but text.
fn is_text(raw: &str) -> bool {
    let is_word = |words: &[&str]| words.iter().any(|word| raw.eq_ignore_ascii_case(word));
    raw.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !is_word(&TRUE)
        && !is_word(&FALSE)
        && !is_word(&NULL)
}

fn plain(raw: &str, in_flow: bool) -> Result<(), Refusal> {
    let number = raw.strip_prefix(['+', '-']).unwrap_or(raw);
    if [".nan", ".inf"].iter().any(|word| number.eq_ignore_ascii_case(word)) {
        return Err(Refusal::NotFinite);
    }
    if raw.contains('\n') && raw.contains('\t') {
        return Err(Refusal::Tab);
    }
    // Indicators that only one of the two lets a plain scalar begin with, or hold within a flow collection.
    let odd = raw.starts_with(['%', '?', ':', '@', '`', '|', '>']) || in_flow && raw.contains('?');
    if odd { Err(Refusal::Ambiguous) } else { Ok(()) }
}

/// Whether Istio's parser knows every escape: it has neither surrogate pairs nor JSON's `\/`.
fn escapes(raw: &str) -> Result<(), Refusal> {
    let mut rest = raw;
    while let Some((_, escape)) = rest.split_once('\\') {
        let surrogate = |digits: &str| matches!(u32::from_str_radix(digits, 16), Ok(0xd800..=0xdfff));
        let odd = match escape.strip_prefix('u') {
            Some(digits) => digits.get(..4).is_none_or(surrogate),
            None => escape.starts_with('/'),
        };
        if odd {
            return Err(Refusal::Escape);
        }
        rest = escape.strip_prefix(|_| true).unwrap_or_default();
    }
    Ok(())
}
