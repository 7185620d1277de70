//! Untrusted text for events, logs and terminals.

/// Suffix of truncated text.
const ELLIPSIS: &str = " …";

/// Returns `text` as one printable line of at most `limit` bytes. Text from a container or an annotation must not
/// control a terminal, forge a row or fill a disk.
pub(super) fn printable(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    for character in text.chars() {
        let shown = match character {
            '\t' | '\n' | '\r' => ' ',
            _ if is_invisible(character) => char::REPLACEMENT_CHARACTER,
            _ => character,
        };
        if line.len() + shown.len_utf8() > limit {
            line.truncate(line.floor_char_boundary(limit.saturating_sub(ELLIPSIS.len())));
            line.push_str(ELLIPSIS);
            break;
        }
        line.push(shown);
    }
    line
}

/// Returns true for control characters and for those that reorder text or break lines.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::unchanged("exit code 1: é", "exit code 1: é")]
    #[case::colors("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}")]
    #[case::rows("a\r\nb\tc", "a  b c")]
    #[case::reordered("a\u{202e}b\u{2028}c\u{200b}", "a\u{fffd}b\u{fffd}c\u{fffd}")]
    #[case::exact(&"x".repeat(32), &"x".repeat(32))]
    #[case::long(&"x".repeat(33), &format!("{} …", "x".repeat(28)))]
    #[case::cut_between_characters(&"é".repeat(30), &format!("{} …", "é".repeat(14)))]
    fn text_becomes_one_printable_line(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(printable(text, 32), expected);
    }
}
