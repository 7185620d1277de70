//! Terminal styles by meaning. The caller strips them if the output is not a terminal.

use anstyle::{AnsiColor, Style};

use crate::finding::Severity;
use crate::mutate::Verdict;

/// A heading.
pub const HEADING: Style = Style::new().bold();
/// An addition or success.
pub const SUCCESS: Style = AnsiColor::Green.on_default();
/// A removal or failure.
pub const ERROR: Style = AnsiColor::Red.on_default();
/// A warning.
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// A diff position or a note.
pub const NOTE: Style = AnsiColor::Cyan.on_default();
/// Secondary information.
pub const DIM: Style = Style::new().dimmed();

/// Returns the style of a rule's verdict.
#[must_use]
pub fn verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Applied => SUCCESS,
        Verdict::Skipped => DIM,
        Verdict::Refused => WARNING,
    }
}

/// Returns the style of a severity.
#[must_use]
pub fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Info => NOTE,
        Severity::Ok => SUCCESS,
    }
}
