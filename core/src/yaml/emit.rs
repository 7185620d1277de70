//! Writes YAML as kubectl prints it.

use std::fmt::Write as _;

use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::{DoubleQuoted, SerializerOptions};

use crate::printable::is_printable;

/// Writes `value` as YAML in block style, which YAML 1.1 and 1.2 parsers read identically. Lists are not indented below
/// their key, long lines are not folded, and multi-line text becomes a `|` block. Characters that are not printable are
/// escaped, except tabs and line breaks in such a block.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut text = String::new();
    // This cannot fail: all keys of a JSON value are strings, and writing to a `String` succeeds.
    serde_saphyr::to_fmt_writer_with_options(&mut text, &KubectlStyle(value), options()).ok();
    escape(without_blank_indentation(text))
}

/// Serializes a value in kubectl's style where the library would choose another one.
struct KubectlStyle<'value>(&'value Value);

fn options() -> SerializerOptions {
    serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX }
}

impl Serialize for KubectlStyle<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if needs_quotes(text) => DoubleQuoted(text).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(KubectlStyle)),
            Value::Object(entries) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (key, KubectlStyle(value))))
            }
            value => value.serialize(serializer),
        }
    }
}

/// Returns true for text that must be quoted: a tab at the start of a block is indentation to libyaml, and blanks at
/// the end of a line would be invisible.
fn needs_quotes(text: &str) -> bool {
    has_invisible_characters(text)
        || text.contains('\n')
            && (text.trim_start_matches('\n').starts_with('\t')
                || text.split('\n').any(|line| line.ends_with([' ', '\t'])))
}

/// Returns true if `text` contains invisible characters, which the library does not escape.
fn has_invisible_characters(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|character| !character.is_ascii() && !is_printable(character))
}

/// Escapes invisible characters. Values that contain one are already in double quotes; keys may not be.
fn escape(text: String) -> String {
    if !has_invisible_characters(&text) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(next) = rest.strip_prefix(' ').or_else(|| rest.strip_prefix("- ")) {
            rest = next;
        }
        escaped.push_str(&line[..line.len() - rest.len()]);
        match rest.split_once(':') {
            // A key without quotes contains no colon.
            Some((key, value)) if !key.starts_with('"') && has_invisible_characters(key) => {
                let key = key.replace('\\', "\\\\").replace('"', "\\\"");
                escaped.push('"');
                escape_into(&mut escaped, &key);
                escaped.push_str("\":");
                escape_into(&mut escaped, value);
            }
            _ => escape_into(&mut escaped, rest),
        }
    }
    escaped
}

fn escape_into(escaped: &mut String, text: &str) {
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a string cannot fail.
        let _ = match code {
            _ if character.is_ascii() || is_printable(character) => escaped.write_char(character),
            0..=0xffff => write!(escaped, "\\u{code:04X}"),
            _ => write!(escaped, "\\U{code:08X}"),
        };
    }
}

/// Removes the indentation from blank lines in blocks, which the library indents like other lines.
fn without_blank_indentation(text: String) -> String {
    if !text.contains(" \n") {
        return text;
    }
    text.split_inclusive('\n').map(|line| if line.trim_start_matches(' ') == "\n" { "\n" } else { line }).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::nested(json!({"a": {"b": [{"c": 1, "d": [true, null]}, "e"]}}),
        "a:\n  b:\n  - c: 1\n    d:\n    - true\n    - null\n  - e\n")]
    #[case::empty(json!({"a": {}, "b": [], "c": ""}), "a: {}\nb: []\nc: \"\"\n")]
    #[case::block(json!({"a": "x\ny\n", "b": "x\ny", "c": [" x\ny\n\n"]}),
        "a: |\n  x\n  y\nb: |-\n  x\n  y\nc:\n- |2+\n   x\n  y\n\n")]
    #[case::long(json!({"a": "word ".repeat(100) + "end"}), &format!("a: {}end\n", "word ".repeat(100)))]
    #[case::script(json!({"a": "set -e\n\n  b\n"}), "a: |\n  set -e\n\n    b\n")]
    #[case::blanks(json!({"a": "x \ny\n"}), "a: \"x \\ny\\n\"\n")]
    #[case::tab(json!({"a": "\tx\ny"}), "a: \"\\tx\\ny\"\n")]
    #[case::words(json!({"on": "y", "1": "1"}), "\"on\": \"y\"\n\"1\": \"1\"\n")]
    #[case::bidirectional(json!({"a\u{202e}": "b\u{2066}c"}), "\"a\\u202E\": \"b\\u2066c\"\n")]
    #[case::odd_key(json!({"a": [{"-x\\\"\u{200b}": "c: \u{200b}"}]}), "a:\n- \"-x\\\\\\\"\\u200B\": \"c: \\u200B\"\n")]
    #[case::invisible(json!({"a": ["\u{200b}", "x\ny\u{e0041}\n"]}), "a:\n- \"\\u200B\"\n- \"x\\ny\\U000E0041\\n\"\n")]
    #[case::control(json!({"a\u{1b}": "\u{9b}\u{7f}\u{1b}"}), "\"a\\e\": \"\\x9B\\x7F\\e\"\n")]
    #[case::image(json!({"image": "ghcr.io/a/b:1.2@sha256:0f"}), "image: ghcr.io/a/b:1.2@sha256:0f\n")]
    fn writes(#[case] value: Value, #[case] expected: &str) {
        assert_eq!(to_string(&value), expected);
    }
}
