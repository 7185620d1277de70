//! Colours and weights, each for one meaning. They reach a terminal only.

use anstyle::{AnsiColor, Style};

use trainmesh_core::finding::Severity;
use trainmesh_core::mutate::Verdict;

/// A line that names what follows.
pub(in crate::cli) const HEADING: Style = Style::new().bold();
/// What is added or done.
pub(in crate::cli) const GOOD: Style = AnsiColor::Green.on_default();
/// What is removed or failed.
pub(in crate::cli) const BAD: Style = AnsiColor::Red.on_default();
/// What a person should look at.
pub(in crate::cli) const CAUTION: Style = AnsiColor::Yellow.on_default();
/// Where in a diff we are, and notes.
pub(in crate::cli) const NOTE: Style = AnsiColor::Cyan.on_default();
/// What matters less.
pub(in crate::cli) const FAINT: Style = Style::new().dimmed();

/// The style of a rule's decision.
pub(in crate::cli) fn verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Applied => GOOD,
        Verdict::Skipped => FAINT,
        Verdict::Refused => CAUTION,
    }
}

/// The style of a severity.
pub(in crate::cli) fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => CAUTION,
        Severity::Info => NOTE,
        Severity::Ok => GOOD,
    }
}
