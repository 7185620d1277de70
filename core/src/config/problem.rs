//! What is wrong with a configuration.

use std::fmt;

use crate::yaml;

/// One mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line at fault, counted from 1 in the text that was given; `None` when no line is at fault.
    pub line: Option<u64>,
    /// Path of the field, as `mesh.nativeSidecar`; empty when the text as a whole is at fault.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Shows `problems` as compilers do, one on a line: `file:line: field: message`.
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
    fn a_problem_names_all_it_knows(
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
