//! Problems in a configuration.

use std::fmt;

use crate::yaml;

/// A problem in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the problem, starting at 1; `None` if it does not refer to a line.
    pub line: Option<u64>,
    /// Path of the field, such as `mesh.nativeSidecar`; empty if the problem does not refer to a field.
    pub field: String,
    /// Expected and actual value.
    pub message: String,
}

/// Formats `problems` in the style of compilers, one per line: `file:line: field: message`.
#[must_use]
pub fn render(file: &str, problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match problem.line {
            Some(line) => format!("{file}:{line}: {}", problem.text()),
            None => format!("{file}: {}", problem.text()),
        })
        .collect();
    lines.join("\n")
}

/// Sorts by line, and keeps the order of equal ones.
pub(super) fn sort(problems: &mut [Problem]) {
    problems.sort_by_key(|problem| problem.line);
}

impl Problem {
    fn text(&self) -> String {
        let Self { line: _, field, message } = self;
        if field.is_empty() { message.clone() } else { format!("{field}: {message}") }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(formatter, "line {line}: ")?;
        }
        formatter.write_str(&self.text())
    }
}

impl std::error::Error for Problem {}

impl From<yaml::Error> for Problem {
    fn from(error: yaml::Error) -> Self {
        Self { line: Some(error.line), field: String::new(), message: error.message }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_a_field(Some(7), "mesh.hold", "line 7: mesh.hold: wrong", "c.yaml:7: mesh.hold: wrong")]
    #[case::of_a_line(Some(7), "", "line 7: wrong", "c.yaml:7: wrong")]
    #[case::of_the_text(None, "", "wrong", "c.yaml: wrong")]
    fn displays_line_field_and_message(
        #[case] line: Option<u64>,
        #[case] field: &str,
        #[case] alone: &str,
        #[case] in_file: &str,
    ) {
        let problem = Problem { line, field: field.to_owned(), message: "wrong".to_owned() };
        assert_eq!(problem.to_string(), alone);
        assert_eq!(render("c.yaml", &[problem.clone(), problem]), format!("{in_file}\n{in_file}"));
    }
}
