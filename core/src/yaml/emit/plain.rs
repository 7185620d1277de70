//! Text that needs no quotes.

use crate::printable::is_printable;

/// Words that a YAML 1.1 or 1.2 parser reads as something other than text, in lower case.
const WORDS: [&str; 17] =
    ["", "~", "null", "true", "false", "yes", "no", "y", "n", "on", "off", "<<", "=", "nan", "inf", "+inf", "-inf"];

/// Returns true if a parser reads `text` as the same text where a value is expected.
pub(super) fn is_value(text: &str) -> bool {
    is_scalar(text) && !text.contains(": ") && !text.ends_with(':')
}

/// Returns true if a parser reads `text` as the same text where a key is expected.
pub(super) fn is_key(text: &str) -> bool {
    is_scalar(text) && !text.contains([':', ',', '[', ']', '{', '}'])
}

fn is_scalar(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    let is_marker =
        (bytes.starts_with(b"---") || bytes.starts_with(b"...")) && bytes.get(3).is_none_or(u8::is_ascii_whitespace);
    let has_blank_edge =
        bytes.first().is_some_and(u8::is_ascii_whitespace) || bytes.last().is_some_and(u8::is_ascii_whitespace);
    let needs_quotes = is_word
        || is_marker
        || has_blank_edge
        || starts_with_indicator(bytes)
        || is_number(text)
        || is_timestamp(text)
        || has_comment(text);
    !needs_quotes && text.chars().all(is_literal)
}

/// Returns true if a parser reads `character` as itself outside of quotes, and a person sees it.
pub(super) fn is_literal(character: char) -> bool {
    is_printable(character) && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

/// Returns true if the first character has a meaning in YAML.
fn starts_with_indicator(text: &[u8]) -> bool {
    match text {
        [b'-' | b'?', rest @ ..] => rest.first().is_none_or(u8::is_ascii_whitespace),
        [first, ..] => b",:[]{}#&*!|>'\"%@`".contains(first),
        [] => false,
    }
}

fn has_comment(text: &str) -> bool {
    text.match_indices('#').any(|(at, _)| text[..at].ends_with(char::is_whitespace))
}

/// Returns true for text in the form of a number of YAML 1.1 or 1.2, even if it is too large or has odd underscores.
fn is_number(text: &str) -> bool {
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-._".contains(first)) {
        return false;
    }
    let text = text.replace('_', "");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    if [".inf", ".nan"].iter().any(|word| word.eq_ignore_ascii_case(unsigned)) {
        return true;
    }
    let radix = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => Some(16),
        [b'0', b'o' | b'O', ..] => Some(8),
        [b'0', b'b' | b'B', ..] => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        // go-yaml accepts a sign after the prefix.
        let digits = unsigned[2..].strip_prefix(['+', '-']).unwrap_or(&unsigned[2..]);
        return digits.chars().all(|digit| digit.is_digit(radix));
    }
    is_decimal(unsigned) || is_sexagesimal(unsigned)
}

/// Returns true for digits with an optional fraction, which may contain further dots, and an optional exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_mantissa = !whole.is_empty() || mantissa.starts_with('.');
    has_mantissa
        && is_digits(whole)
        && fraction.split('.').all(is_digits)
        && !exponent.is_empty()
        && is_digits(exponent)
}

/// Returns true for a number to the base 60, such as `1:20`.
fn is_sexagesimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let Some((first, rest)) = whole.split_once(':') else { return false };
    let is_part = |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    let is_integer = !first.starts_with('0');
    !first.is_empty() && is_digits(first) && rest.split(':').all(is_part) && fraction.map_or(is_integer, is_digits)
}

/// Returns true for text that begins like a date, alone or with a time.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    let Some((month, rest)) = rest.split_once('-') else { return false };
    let day = rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(rest.len());
    let is_short = |part: &str| matches!(part.len(), 1 | 2) && is_digits(part);
    let time = rest[day..].trim_start_matches(['T', 't', ' ', '\t']);
    let has_time = time.len() < rest.len() - day && time.starts_with(|first: char| first.is_ascii_digit());
    year.len() == 4 && is_digits(year) && is_short(month) && is_short(&rest[..day]) && (day == rest.len() || has_time)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "a|a b|-a|--flag=x|?a|a#b|a:b|http://a|1a|1_a|0xg|08:61|8080:80|10.0.0.0/8|127.0.0.1:80|1Gi|v1.2|e1|1e|\
                         2001-12|2001-12-14-run|2001-12-14T|.a|../a|---a|模型";
    const QUOTED: &str = "1|+1_000|_1|0x1F|0o7|0b-1|0x_|1.5|.5|5.|10.0.0.1|..|1e3|1.E+3|-.INF|.NaN|NULL|Yes|=|<<|1:20|\
                          190:20:30.15|01:20.5|2001-12-14|2001-1-1 1:1:1|2001-12-14t21:59:43Z|| a|a\t|-|- a|?|, a|a: b|a:|a #b|#a|\
                          %a|@a|`a|---|... a|a\u{200b}|a\u{ffff}|a\r";

    #[test]
    fn text_that_a_parser_may_read_otherwise_needs_quotes() {
        for text in PLAIN.split('|') {
            assert!(is_value(text), "{text}");
        }
        for text in QUOTED.split('|') {
            assert!(!is_value(text), "{text}");
        }
        for text in ["a:b", "a,b", "a{", "a]"] {
            assert!(is_value(text) && !is_key(text), "{text}");
        }
    }
}
