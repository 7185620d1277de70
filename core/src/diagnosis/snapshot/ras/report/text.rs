//! The text of versions without JSON, which is for people and varies: only the lines below `Errors` and `Warnings` are
//! compared, and the processes that they name.

use super::{RasError, RasReport};

/// Maximum number of lines that report problems.
const MAX_PROBLEMS: usize = 256;
/// Maximum length of a line in bytes: that of RAS.
const MAX_LINE: usize = 1_024;
/// Lines that are the same in each report.
const SECTIONS: [&str; 2] = ["Errors", "Warnings"];

/// Parses a text that starts with the version.
pub(super) fn parse_text(response: &str) -> Result<RasReport, RasError> {
    let version = response.trim_start().strip_prefix("NCCL version ").ok_or(RasError::Malformed)?;
    let version = version.split_whitespace().next().unwrap_or_default();
    let mut report = RasReport { version: version.chars().take(64).collect(), ..RasReport::default() };
    let is_section = |line: &&str| SECTIONS.contains(&line.trim());
    for line in response.lines().skip_while(|line| !is_section(line)) {
        let line = line[..line.floor_char_boundary(MAX_LINE)].trim_end();
        let is_heading = SECTIONS.contains(&line) || line.chars().all(|letter| letter == '=');
        if is_heading || report.problems.len() >= MAX_PROBLEMS {
            continue;
        }
        report.processes.extend(process(line));
        report.problems.push(line.to_owned());
    }
    Ok(report)
}

/// Returns host and process of `… process 42 on node 10.0.0.1 …`.
fn process(line: &str) -> Option<(String, i64)> {
    let (_, rest) = line.split_once("rocess ")?;
    let (process, rest) = rest.split_once(" on node ")?;
    let host = rest.split_whitespace().next()?;
    Some((host.to_owned(), process.parse().ok()?))
}
