//! Characters that look like a space and are none for YAML: editors insert them, and text from a web page contains them.

use super::error::Error;

/// Characters that look like a space, or like nothing, with their names.
const BLANKS: [(char, &str); 8] = [
    ('\u{a0}', "a no-break space"),
    ('\u{2007}', "a figure space"),
    ('\u{2009}', "a thin space"),
    ('\u{200b}', "a zero-width space"),
    ('\u{202f}', "a narrow no-break space"),
    ('\u{2060}', "a word joiner"),
    ('\u{3000}', "an ideographic space"),
    ('\u{feff}', "a byte order mark"),
];
/// Characters after which YAML expects a space or a value.
const BEFORE_VALUE: [char; 5] = [':', ',', '[', '{', '-'];

/// Extends `error` if its line in `text` contains such a character where a space is expected, or the line before in its
/// indentation, which includes dashes of items: the scanner reports the line after an indentation that it reads as text. The byte
/// order mark of a file is none.
pub(super) fn explain(text: &str, error: Error) -> Error {
    let Ok(number) = usize::try_from(error.line) else { return error };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let before = number.saturating_sub(2);
    let lines = text.lines().enumerate().skip(before).take(number - before);
    // The line of the error is the last of these.
    let found = lines.filter_map(|(index, line)| {
        let (character, name, is_indentation) = misplaced(line)?;
        (is_indentation || index + 1 == number).then_some((index, character, name))
    });
    let Some((index, character, name)) = found.last() else { return error };
    let code = u32::from(character);
    let message = format!("{}: the line contains {name} (U+{code:04X}) instead of a space: replace it", error.message);
    Error::new(index + 1, message)
}

/// Returns the first character of `line` that stands for a space in the indentation or before a value, with its name, and true if it is
/// in the indentation. A comment may contain any.
fn misplaced(line: &str) -> Option<(char, &'static str, bool)> {
    let blank = |character: char| BLANKS.into_iter().find(|(known, _)| *known == character);
    let line = line.find('#').map_or(line, |comment| &line[..comment]);
    line.char_indices().find_map(|(index, character)| {
        let (character, name) = blank(character)?;
        let before = line[..index].trim_end_matches(|character| character == ' ' || blank(character).is_some());
        (before.is_empty() || before.ends_with(BEFORE_VALUE)).then_some((
            character,
            name,
            before.trim_matches(['-', ' ']).is_empty(),
        ))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::parse;

    #[rstest]
    #[case::indentation(
        "a:\n  b: 1\n\u{a0} c: 2\n  d: 3\n",
        3,
        "a no-break space (U+00A0) instead of a space: replace it"
    )]
    #[case::behind_a_colon("a: 1\nb:\u{a0}2\nc: 3\n", 2, "a no-break space (U+00A0)")]
    #[case::behind_a_dash("a:\n- b: 1\n-\u{3000}c: 2\n- d: 3\n", 3, "an ideographic space (U+3000)")]
    #[case::in_a_comment("a: 1 # x:\u{a0}y\nb: [\n", 2, "")]
    #[case::value_of_the_line_before("a: \"b:\u{a0}c\"\nb: [\n", 2, "")]
    #[case::start_of_a_file("\u{feff}a: [\n", 1, "")]
    #[case::in_a_text("a: x\u{a0}y\nb: [\n", 2, "")]
    fn characters_that_look_like_a_space_are_named(#[case] text: &str, #[case] line: u64, #[case] message: &str) {
        let error = parse(text).unwrap_err();
        assert!(error.line == line && error.message.contains(message), "{error}");
        assert_eq!(message.is_empty(), !error.message.contains("U+"), "{error}");
    }
}
