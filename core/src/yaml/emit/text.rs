//! Writes text: plain, in quotes or as a block.

use std::fmt::Write as _;

use super::{indent, plain};

/// Writes `text` as a value, and ends the line. A block of text starts at `column`.
pub(super) fn write(out: &mut String, text: &str, column: usize) {
    if is_block(text) {
        return write_block(out, text, column);
    }
    if matches!(text, "." | "#" | "-") {
        // As kubectl writes them.
        let _ = write!(out, "'{text}'");
    } else if plain::is_value(text) {
        out.push_str(text);
    } else {
        write_quoted(out, text);
    }
    out.push('\n');
}

/// Returns true for text of several lines that a block represents. A tab at its start would be indentation to libyaml, and
/// blanks at the end of a line would be invisible.
fn is_block(text: &str) -> bool {
    text.contains('\n')
        && text.chars().all(|character| matches!(character, '\n' | '\t') || plain::is_literal(character))
        && !text.trim_start_matches('\n').starts_with('\t')
        && !text.split('\n').any(|line| line.ends_with([' ', '\t']))
}

/// Writes a block with the indicators of its indentation and of its last line breaks.
fn write_block(out: &mut String, text: &str, column: usize) {
    let content = text.trim_end_matches('\n');
    out.push('|');
    if content.trim_start_matches('\n').starts_with(' ') {
        out.push('2');
    }
    match text.len() - content.len() {
        0 => out.push('-'),
        1 if !content.is_empty() => {}
        _ => out.push('+'),
    }
    out.push('\n');
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            indent(out, column);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Writes `text` in double quotes, with escapes that all parsers know.
pub(super) fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a string cannot fail.
        let _ = match character {
            '\\' | '"' => write!(out, "\\{character}"),
            '\0' => out.write_str("\\0"),
            '\u{7}' => out.write_str("\\a"),
            '\u{8}' => out.write_str("\\b"),
            '\t' => out.write_str("\\t"),
            '\n' => out.write_str("\\n"),
            '\u{b}' => out.write_str("\\v"),
            '\u{c}' => out.write_str("\\f"),
            '\r' => out.write_str("\\r"),
            '\u{1b}' => out.write_str("\\e"),
            '\u{85}' => out.write_str("\\N"),
            '\u{2028}' => out.write_str("\\L"),
            '\u{2029}' => out.write_str("\\P"),
            _ if plain::is_literal(character) => out.write_char(character),
            _ if character.is_control() => write!(out, "\\x{code:02X}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04X}"),
            _ => write!(out, "\\U{code:08X}"),
        };
    }
    out.push('"');
}
