//! What of the warnings the apiserver passes on to the user.

/// More lines than this are not read in a terminal.
const LINES: usize = 10;
/// The apiserver shortens every warning to this many characters once their sum passes 4096; with [`LINES`] of them it
/// never does.
const LENGTH: usize = 256;

/// At most [`LINES`] warnings, each on one line of at most [`LENGTH`] characters; the last tells how many were left
/// out.
pub(super) fn bounded(warnings: &[String]) -> Vec<String> {
    let kept = if warnings.len() > LINES { LINES - 1 } else { warnings.len() };
    let mut lines: Vec<String> = warnings.iter().take(kept).map(|warning| one_line(warning)).collect();
    if warnings.len() > kept {
        lines.push(format!("{} more warnings; `trainmesh preview -o explain` shows all", warnings.len() - kept));
    }
    lines
}

/// A warning is sent in an HTTP header, which holds no control characters.
fn one_line(warning: &str) -> String {
    warning.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(0, 0, None)]
    #[case::just_as_many(10, 10, Some("9"))]
    #[case::one_too_many(11, 10, Some("2 more warnings; `trainmesh preview -o explain` shows all"))]
    fn lines(#[case] given: usize, #[case] expected: usize, #[case] last: Option<&str>) {
        let warnings: Vec<String> = (0..given).map(|number| number.to_string()).collect();
        let lines = bounded(&warnings);
        assert_eq!(lines.len(), expected);
        assert_eq!(lines.last().map(String::as_str), last);
    }

    #[test]
    fn a_line_is_short_and_clean() {
        let lines = bounded(&["a\nb\u{7f}".to_owned(), "ü".repeat(300)]);
        assert_eq!(lines, ["a b ".to_owned(), "ü".repeat(256)]);
    }
}
