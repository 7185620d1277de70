//! The name of an alias whose anchor is missing, which the scanner does not state.

use std::collections::HashSet;

use super::error::Error;

/// End of the scanner's error about such an alias.
const UNKNOWN_ANCHOR: &str = "unknown anchor";
/// Maximum length of a name that is quoted, in bytes.
const MAX_NAME: usize = 60;

/// Adds the name of the alias to `error`, if it is about one of which `text` contains no anchor.
pub(super) fn explain(text: &str, error: Error) -> Error {
    if !error.message.ends_with(UNKNOWN_ANCHOR) {
        return error;
    }
    let index = usize::try_from(error.line).unwrap_or_default().saturating_sub(1);
    let anchors: HashSet<&str> = names(text, '&').collect();
    let line = text.lines().nth(index).unwrap_or_default();
    let unknown = names(line, '*').find(|name| name.len() <= MAX_NAME && !anchors.contains(name));
    match unknown {
        Some(name) => Error { message: format!("{} *{name}", error.message), ..error },
        None => error,
    }
}

/// Returns the names in `text` behind `mark`, where a value may start.
fn names(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.match_indices(mark).filter_map(move |(index, _)| {
        let (before, rest) = (&text[..index], &text[index + mark.len_utf8()..]);
        let is_start = before.is_empty() || before.ends_with([' ', '\t', '\n', '[', '{', ',']);
        let end = rest.find([' ', '\t', '\r', '\n', '[', ']', '{', '}', ',']).unwrap_or(rest.len());
        rest.get(..end).filter(|name| is_start && !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::parse;

    #[rstest]
    #[case::value("a: &x 1\nb: *y\n", 2, "found unknown anchor *y")]
    #[case::beside_a_known_one("a: &x 1\nb: [*x, *xy]\n", 2, "found unknown anchor *xy")]
    #[case::anchor_behind_it("a: *x\nb: &x 1\n", 1, "found unknown anchor")]
    #[case::long(&format!("a: *{}\n", "x".repeat(61)), 1, "found unknown anchor")]
    fn aliases_without_an_anchor_are_named(#[case] text: &str, #[case] line: u64, #[case] end: &str) {
        let error = parse(text).unwrap_err();
        assert!(error.line == line && error.message.ends_with(end), "{error}");
    }
}
