//! Untrusted text that is repeated in responses and in the log.

/// Maximum length in characters, sufficient for any message of trainmesh and the names in it.
const MAX_CHARACTERS: usize = 256;

/// Returns the beginning of `text` without control characters. Characters that reorder text are kept.
pub(super) fn excerpt(text: &str) -> String {
    let printable = |character: char| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character };
    let mut start: String = text.chars().take(MAX_CHARACTERS).map(printable).collect();
    if start.len() < text.len() && text.chars().nth(MAX_CHARACTERS).is_some() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::unchanged("no response in time", "no response in time")]
    #[case::control("a\u{1b}[2J\nb", "a\u{fffd}[2J\u{fffd}b")]
    #[case::just_fits(&"ü".repeat(MAX_CHARACTERS), &"ü".repeat(MAX_CHARACTERS))]
    #[case::too_long(&"ü".repeat(MAX_CHARACTERS + 1), &format!("{}…", "ü".repeat(MAX_CHARACTERS)))]
    fn text_becomes_a_printable_excerpt(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(excerpt(text), expected);
    }
}
