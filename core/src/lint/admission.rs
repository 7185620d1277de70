//! Findings as warnings of an admission review: few and short.

use crate::finding::{Finding, Severity};

/// More findings than this hide the first ones in a terminal.
const LINES: usize = 5;
/// A warning of an admission review is read in one glance, as Kubernetes advises.
const LINE: usize = 120;

/// The warnings for `findings`: errors and what is likely wrong, the heaviest first, and how many more there are.
#[must_use]
pub fn warnings(findings: &[Finding]) -> Vec<String> {
    let told = || findings.iter().filter(|finding| finding.severity != Severity::Info);
    let mut lines: Vec<String> = told().take(LINES).map(line).collect();
    match told().count().saturating_sub(LINES) {
        0 => {}
        more => lines.push(format!("… and {more} more: trainmesh lint")),
    }
    lines
}

/// The finding as one short line.
#[must_use]
pub fn line(finding: &Finding) -> String {
    let line = format!("{}: {}", finding.code, finding.message);
    if line.len() <= LINE {
        return line;
    }
    let end = line.floor_char_boundary(LINE - '…'.len_utf8());
    format!("{}…", &line[..end])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn finding(severity: Severity, message: &str) -> Finding {
        Finding {
            code: "FP007",
            severity,
            message: message.to_owned().into(),
            evidence: String::new(),
            fix: None,
            subject: String::new(),
        }
    }

    #[rstest]
    #[case::none(0, 0, None)]
    #[case::five(5, 5, Some("FP007: 4"))]
    #[case::one_too_many(6, 6, Some("… and 1 more: trainmesh lint"))]
    #[case::many(35, 6, Some("… and 30 more: trainmesh lint"))]
    fn five_lines_and_a_count(#[case] given: usize, #[case] expected: usize, #[case] last: Option<&str>) {
        let mut findings: Vec<Finding> =
            (0..given).map(|number| finding(Severity::Warning, &number.to_string())).collect();
        findings.push(finding(Severity::Info, "for the preview alone"));
        let lines = warnings(&findings);
        assert_eq!(lines.len(), expected);
        assert_eq!(lines.last().map(String::as_str), last);
    }

    #[rstest]
    #[case::fits("x".repeat(113), 120, false)]
    #[case::one_too_long("x".repeat(114), 120, true)]
    #[case::not_within_a_letter("ü".repeat(100), 120, true)]
    fn a_line_is_short(#[case] message: String, #[case] most: usize, #[case] cut: bool) {
        let line = line(&finding(Severity::Error, &message));
        assert!(line.len() <= most, "{line}");
        assert_eq!(line.ends_with('…'), cut, "{line}");
    }
}
