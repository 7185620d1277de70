//! Text of others, as far as it is repeated in answers and in the log.

/// The longest excerpt, in characters: enough for any message of ours with the names in it.
const LENGTH: usize = 256;

/// The start of `text`, on one line and printable.
pub(super) fn excerpt(text: &str) -> String {
    let printable = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    let mut start: String = text.chars().take(LENGTH).map(printable).collect();
    if start.len() < text.len() && text.chars().nth(LENGTH).is_some() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::as_it_is("no answer in time", "no answer in time")]
    #[case::control("a\u{1b}[2J\nb", "a\u{fffd}[2J\u{fffd}b")]
    #[case::just_fits(&"ü".repeat(LENGTH), &"ü".repeat(LENGTH))]
    #[case::too_long(&"ü".repeat(LENGTH + 1), &format!("{}…", "ü".repeat(LENGTH)))]
    fn excerpts(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(excerpt(text), expected);
    }
}
