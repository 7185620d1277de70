//! JSON output that is safe to print to a terminal: the same value, with additional escapes in strings.

use std::io::{self, Write};

use super::is_printable;

/// Writer that forwards JSON and replaces characters that are not printable with `\u` escapes. JSON outside of strings
/// consists of printable ASCII and line breaks, and `serde_json` escapes characters below U+0020 in strings.
#[derive(Debug)]
pub struct JsonWriter<W>(pub W);

impl<W: Write> Write for JsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // `serde_json` never splits a character between writes.
        if bytes.iter().any(|byte| *byte >= 0x7f)
            && let Ok(text) = str::from_utf8(bytes)
        {
            self.escape(text)?;
        } else {
            self.0.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> JsonWriter<W> {
    fn escape(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        let needs_escape = |(_, character): &(usize, char)| *character != '\n' && !is_printable(*character);
        while let Some((at, character)) = rest.char_indices().find(needs_escape) {
            self.0.write_all(&rest.as_bytes()[..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = &rest[at + character.len_utf8()..];
        }
        self.0.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_output_is_printable_and_parses_to_the_same_value() {
        let value = json!({"é\u{9b}": ["\u{1b}\u{7f}\u{202e}\u{e0041}", "模型 🚀", "a\nb", "\u{2028}"]});
        let mut out = Vec::new();
        serde_json::to_writer_pretty(JsonWriter(&mut out), &value).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
        assert!(text.chars().all(|character| character == '\n' || is_printable(character)), "{text}");
        assert!(text.contains("模型 🚀") && text.contains("\\udb40\\udc41"), "{text}");
    }
}
