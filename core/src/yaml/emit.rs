//! Writes YAML as kubectl prints it.

mod plain;
mod text;

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Longest key for which a parser searches the colon, in characters.
const MAX_SIMPLE_KEY: usize = 1024;

/// Columns by which a value is indented below its key.
const STEP: usize = 2;

/// Writes `value` as YAML in block style, which YAML 1.1 and 1.2 parsers read identically. Lists are not indented below
/// their key, long lines are not folded, and multi-line text becomes a `|` block. Characters that are not printable are
/// escaped, except tabs and line breaks in such a block.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut text = String::new();
    write_inline(&mut text, value, 0);
    text
}

/// Writes a value in the current line, whose column is `column`. A list or mapping continues there, a block of text one
/// step to the right of the parent, or of the start of the document.
fn write_inline(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::Array(items) if !items.is_empty() => write_list(out, items, column),
        Value::Object(entries) if !entries.is_empty() => write_mapping(out, entries, column),
        value => write_scalar(out, value, column.max(STEP)),
    }
}

/// Writes items whose dashes are at `column`. The line has its indentation already.
fn write_list(out: &mut String, items: &[Value], column: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            indent(out, column);
        }
        out.push_str("- ");
        write_inline(out, item, column + STEP);
    }
}

/// Writes entries whose keys are at `column`. The line has its indentation already.
fn write_mapping(out: &mut String, entries: &Map<String, Value>, column: usize) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            indent(out, column);
        }
        write_key(out, key, column);
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                indent(out, column);
                write_list(out, items, column);
            }
            Value::Object(entries) if !entries.is_empty() => {
                out.push('\n');
                indent(out, column + STEP);
                write_mapping(out, entries, column + STEP);
            }
            value => {
                out.push(' ');
                write_scalar(out, value, column + STEP);
            }
        }
    }
}

/// Writes a key up to its colon. A key that is too long for a single line has an explicit indicator.
fn write_key(out: &mut String, key: &str, column: usize) {
    let start = out.len();
    if plain::is_key(key) {
        out.push_str(key);
    } else {
        text::write_quoted(out, key);
    }
    if out[start..].chars().count() > MAX_SIMPLE_KEY {
        out.insert_str(start, "? ");
        out.push('\n');
        indent(out, column);
    }
    out.push(':');
}

/// Writes a scalar or an empty list or mapping, and ends the line. `column` is that of a block of text.
fn write_scalar(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) if number.is_f64() => write_float(out, &number.to_string()),
        Value::Number(number) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{number}");
        }
        Value::String(text) => return text::write(out, text, column),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
    out.push('\n');
}

/// Writes a float in the form that YAML 1.1 requires: a fraction, and a sign of the exponent.
fn write_float(out: &mut String, number: &str) {
    let (digits, exponent) =
        number.split_once('e').map_or((number, None), |(digits, exponent)| (digits, Some(exponent)));
    out.push_str(digits);
    if !digits.contains('.') {
        out.push_str(".0");
    }
    if let Some(exponent) = exponent {
        out.push('e');
        if !exponent.starts_with(['+', '-']) {
            out.push('+');
        }
        out.push_str(exponent);
    }
}

fn indent(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
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
    #[case::lists(json!([[1, ["a\nb"]], [], {"c": ["d\ne"]}]), "- - 1\n  - - |-\n      a\n      b\n- []\n- c:\n  - |-\n    d\n    e\n")]
    #[case::root("a\nb".into(), "|-\n  a\n  b\n")]
    #[case::floats(json!([1.5, 1e21, 4e-6, 12.5e300]), "- 1.5\n- 1.0e+21\n- 4.0e-6\n- 1.25e+301\n")]
    #[case::long_key(json!([{"k".repeat(1025): {"a": 1}}]), &format!("- ? {}\n  :\n    a: 1\n", "k".repeat(1025)))]
    #[case::image(json!({"image": "ghcr.io/a/b:1.2@sha256:0f"}), "image: ghcr.io/a/b:1.2@sha256:0f\n")]
    fn writes(#[case] value: Value, #[case] expected: &str) {
        assert_eq!(to_string(&value), expected);
    }
}
