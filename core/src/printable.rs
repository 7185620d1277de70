//! Escapes untrusted text for terminals and logs.
//!
//! Labels, names, file names and responses from an apiserver or a container can contain characters that move the
//! cursor, forge a line or reorder the text. [`Printable`] escapes them with Rust escapes such as `\u{1b}`. For YAML
//! and JSON, see [`crate::yaml::to_string`] and [`JsonWriter`].

mod json;

use std::fmt::{self, Display, Formatter, Write};

pub use json::JsonWriter;

/// Ranges of invisible characters other than control characters: the Unicode categories Cf, Zl and Zp. They reorder
/// text (U+202A..U+202E, U+2066..U+2069), break lines (U+2028, U+2029), are invisible (zero width, tags) or annotate.
const INVISIBLE: [(char, char); 19] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e007f}'),
];

/// Displays a value on one line, with characters that are not printable escaped.
#[derive(Clone, Copy, Debug)]
pub struct Printable<T>(pub T);

/// Writer that forwards text with escapes.
struct EscapingWriter<'out, W>(&'out mut W);

/// Returns true if `character` is neither invisible nor a control character; line breaks and tabs are control
/// characters.
#[must_use]
pub fn is_printable(character: char) -> bool {
    let invisible = |(first, last): &(char, char)| (*first..=*last).contains(&character);
    !character.is_control() && (character.is_ascii() || !INVISIBLE.iter().any(invisible))
}

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(EscapingWriter(formatter), "{}", self.0)
    }
}

impl<W: Write> Write for EscapingWriter<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, character)) = rest.char_indices().find(|(_, character)| !is_printable(*character)) {
            self.0.write_str(&rest[..at])?;
            write!(self.0, "{}", character.escape_default())?;
            rest = &rest[at + character.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("train-0 é 模型 🚀 \\ \"x\"", "train-0 é 模型 🚀 \\ \"x\"")]
    #[case::escape("\u{1b}[2Kx", "\\u{1b}[2Kx")]
    #[case::lines("a\nb\r\tc\u{b}\u{c}", "a\\nb\\r\\tc\\u{b}\\u{c}")]
    #[case::delete_and_c1("\u{7f}\u{85}\u{9b}31m", "\\u{7f}\\u{85}\\u{9b}31m")]
    #[case::bidirectional("a\u{202e}b\u{2066}c\u{200f}\u{61c}", "a\\u{202e}b\\u{2066}c\\u{200f}\\u{61c}")]
    #[case::separators("\u{2028}\u{2029}", "\\u{2028}\\u{2029}")]
    #[case::zero_width("\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}", "\\u{200b}\\u{200d}\\u{2060}\\u{feff}\\u{ad}")]
    #[case::tags("\u{e0041}", "\\u{e0041}")]
    fn unprintable_characters_are_escaped(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Printable(text).to_string(), expected);
        assert!(expected.chars().all(is_printable));
    }
}
