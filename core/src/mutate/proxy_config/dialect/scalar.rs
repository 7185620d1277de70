//! Checks of scalars against Istio's parser.

use granit_parser::{Event, ScalarStyle};

use super::super::Refusal;
use super::super::outline::SpannedEvent;

const TRUE: [&str; 11] = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: [&str; 11] = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];
const NULL: [&str; 4] = ["~", "null", "Null", "NULL"];

/// Parses the value of the hold.
pub(in super::super) fn parse_boolean(item: &SpannedEvent<'_>) -> Result<bool, Refusal> {
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

/// Checks that a key is a string on one line for both parsers. `raw` is its source text.
pub(super) fn check_key(raw: &str, style: ScalarStyle) -> Result<(), Refusal> {
    if raw.contains('\n') {
        return Err(Refusal::Key);
    }
    match style {
        ScalarStyle::Plain if raw == "<<" => Err(Refusal::MergeKey),
        ScalarStyle::Plain if is_string(raw) => Ok(()),
        ScalarStyle::SingleQuoted => Ok(()),
        ScalarStyle::DoubleQuoted => check_escapes(raw),
        _ => Err(Refusal::Key),
    }
}

/// Checks that Istio's parser accepts a value. `raw` is its source text. The parsers may read it differently, because
/// only the value of the hold matters.
pub(super) fn check_value(raw: &str, style: ScalarStyle, in_flow: bool) -> Result<(), Refusal> {
    match style {
        ScalarStyle::Plain => check_plain(raw, in_flow),
        ScalarStyle::SingleQuoted => Ok(()),
        ScalarStyle::DoubleQuoted => check_escapes(raw),
        ScalarStyle::Literal | ScalarStyle::Folded => {
            let tab = raw.lines().any(|line| line.trim_start_matches(' ').starts_with('\t'));
            if tab { Err(Refusal::Tab) } else { Ok(()) }
        }
    }
}

/// Returns true if every version of YAML reads a plain key as a string.
fn is_string(raw: &str) -> bool {
    let is_word = |words: &[&str]| words.iter().any(|word| raw.eq_ignore_ascii_case(word));
    raw.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !is_word(&TRUE)
        && !is_word(&FALSE)
        && !is_word(&NULL)
}

fn check_plain(raw: &str, in_flow: bool) -> Result<(), Refusal> {
    let number = raw.strip_prefix(['+', '-']).unwrap_or(raw);
    if [".nan", ".inf"].iter().any(|word| number.eq_ignore_ascii_case(word)) {
        return Err(Refusal::NotFinite);
    }
    if raw.contains('\n') && raw.contains('\t') {
        return Err(Refusal::Tab);
    }
    // Only one of the two parsers accepts these indicators at the start of a plain scalar or in a flow collection.
    let is_ambiguous = raw.starts_with(['%', '?', ':', '@', '`', '|', '>']) || in_flow && raw.contains('?');
    if is_ambiguous { Err(Refusal::Ambiguous) } else { Ok(()) }
}

/// Checks that Istio's parser supports every escape. It supports neither surrogate pairs nor JSON's `\/`.
fn check_escapes(raw: &str) -> Result<(), Refusal> {
    let mut rest = raw;
    while let Some((_, escape)) = rest.split_once('\\') {
        let is_surrogate = |digits: &str| matches!(u32::from_str_radix(digits, 16), Ok(0xd800..=0xdfff));
        let is_unsupported = match escape.strip_prefix('u') {
            Some(digits) => digits.get(..4).is_none_or(is_surrogate),
            None => escape.starts_with('/'),
        };
        if is_unsupported {
            return Err(Refusal::Escape);
        }
        rest = escape.strip_prefix(|_| true).unwrap_or_default();
    }
    Ok(())
}
