//! Limits on the warnings in an admission response.

/// Maximum number of warnings, which kubectl prints as one line each.
const MAX_WARNINGS: usize = 10;
/// Maximum length of a warning, in characters. The apiserver truncates warnings to this length if their total exceeds
/// 4096, which [`MAX_WARNINGS`] warnings of this length do not.
const MAX_WARNING_CHARS: usize = 256;

/// Truncates warnings to [`MAX_WARNINGS`] lines of at most [`MAX_WARNING_CHARS`] characters. If warnings are omitted,
/// the last line contains their number.
pub(super) fn truncate(warnings: &[String]) -> Vec<String> {
    let shown = if warnings.len() > MAX_WARNINGS { MAX_WARNINGS - 1 } else { warnings.len() };
    let mut lines: Vec<String> = warnings.iter().take(shown).map(|warning| one_line(warning)).collect();
    if warnings.len() > shown {
        lines.push(format!("{} more warnings; `trainmesh preview -o explain` shows all", warnings.len() - shown));
    }
    lines
}

/// Replaces control characters, which HTTP headers cannot contain, and truncates the warning.
fn one_line(warning: &str) -> String {
    warning
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(MAX_WARNING_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(0, 0, None)]
    #[case::at_the_limit(10, 10, Some("9"))]
    #[case::above_the_limit(11, 10, Some("2 more warnings; `trainmesh preview -o explain` shows all"))]
    fn excess_warnings_are_counted(#[case] count: usize, #[case] expected: usize, #[case] last: Option<&str>) {
        let warnings: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let lines = truncate(&warnings);
        assert_eq!(lines.len(), expected);
        assert_eq!(lines.last().map(String::as_str), last);
    }

    #[test]
    fn lines_are_short_and_contain_no_control_characters() {
        let lines = truncate(&["a\nb\u{7f}".to_owned(), "ü".repeat(300)]);
        assert_eq!(lines, ["a b ".to_owned(), "ü".repeat(256)]);
    }
}
