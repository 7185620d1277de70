//! Conversion of findings to admission warnings, which must be few and short.

use crate::finding::{Finding, Severity};

/// Maximum number of findings listed. More would scroll the first ones out of a terminal.
const MAX_LINES: usize = 5;
/// Maximum length of a warning in bytes; Kubernetes recommends at most 120 characters.
const MAX_LINE_LENGTH: usize = 120;

/// Returns the admission warnings for `findings`, which must be sorted by severity: errors and warnings, followed by
/// the number of those that are not listed.
#[must_use]
pub fn warnings(findings: &[Finding]) -> Vec<String> {
    let reported = || findings.iter().filter(|finding| finding.severity != Severity::Info);
    let mut lines: Vec<String> = reported().take(MAX_LINES).map(warning_line).collect();
    lines.extend(others_line(reported().count()));
    lines
}

/// Returns true if `warning` is one of [`warnings`] for findings that include `findings`.
#[must_use]
pub fn is_of_findings(warning: &str, findings: &[Finding]) -> bool {
    warning.starts_with('…') || findings.iter().any(|finding| warning_line(finding) == warning)
}

/// Returns the line about the findings of `count` that are not listed.
fn others_line(count: usize) -> Option<String> {
    let more = count.checked_sub(MAX_LINES).filter(|more| *more > 0)?;
    Some(format!("… and {more} more; run `trainmesh lint` to list them"))
}

/// Formats a finding as one line, truncated to the length of an admission warning.
#[must_use]
pub fn warning_line(finding: &Finding) -> String {
    let line = format!("{}: {}", finding.code, finding.message);
    if line.len() <= MAX_LINE_LENGTH {
        return line;
    }
    let end = line.floor_char_boundary(MAX_LINE_LENGTH - '…'.len_utf8());
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
            link: "docs/lint.md#fp007",
            line: None,
            source: None,
        }
    }

    #[rstest]
    #[case::none(0, 0, None)]
    #[case::five(5, 5, Some("FP007: 4"))]
    #[case::one_too_many(6, 6, Some("… and 1 more; run `trainmesh lint` to list them"))]
    #[case::many(35, 6, Some("… and 30 more; run `trainmesh lint` to list them"))]
    fn lists_five_findings_and_counts_the_rest(
        #[case] given: usize,
        #[case] expected: usize,
        #[case] last: Option<&str>,
    ) {
        let mut findings: Vec<Finding> =
            (0..given).map(|number| finding(Severity::Warning, &number.to_string())).collect();
        findings.push(finding(Severity::Info, "shown only by preview"));
        let lines = warnings(&findings);
        assert_eq!(lines.len(), expected);
        assert_eq!(lines.last().map(String::as_str), last);
    }

    #[rstest]
    #[case::fits("x".repeat(113), 120, false)]
    #[case::one_too_long("x".repeat(114), 120, true)]
    #[case::multibyte_character("ü".repeat(100), 120, true)]
    fn truncates_long_lines(#[case] message: String, #[case] max: usize, #[case] truncated: bool) {
        let line = warning_line(&finding(Severity::Error, &message));
        assert!(line.len() <= max, "{line}");
        assert_eq!(line.ends_with('…'), truncated, "{line}");
    }
}
