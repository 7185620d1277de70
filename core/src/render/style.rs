//! Colours and weights, each for one meaning. They reach a terminal only.

use anstyle::{AnsiColor, Style};

use crate::finding::Severity;
use crate::mutate::Verdict;

/// A line that names what follows.
pub const HEADING: Style = Style::new().bold();
/// What is added or done.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is removed or failed.
pub const BAD: Style = AnsiColor::Red.on_default();
/// What a person should look at.
pub const CAUTION: Style = AnsiColor::Yellow.on_default();
/// Where in a diff we are, and notes.
pub const NOTE: Style = AnsiColor::Cyan.on_default();
/// What matters less.
pub const FAINT: Style = Style::new().dimmed();

/// The style of a rule's decision.
#[must_use]
pub fn verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Applied => GOOD,
        Verdict::Skipped => FAINT,
        Verdict::Refused => CAUTION,
    }
}

/// The style of a severity.
#[must_use]
pub fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => CAUTION,
        Severity::Info => NOTE,
        Severity::Ok => GOOD,
    }
}
