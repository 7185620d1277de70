//! Width of the output.

use std::env;
use std::io::{self, IsTerminal};
#[cfg(unix)]
use std::os::fd::AsFd as AsTerminal;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsTerminal;

use trainmesh_core::render::Layout;

/// Width of a terminal that reports no width, as some in CI and in editors do.
const DEFAULT_WIDTH: usize = 80;
/// Minimum of `COLUMNS`: narrower output has one word in each line.
const MIN_WIDTH: usize = 20;
/// Maximum of `COLUMNS`: lines are not broken then.
const MAX_WIDTH: usize = 10_000;

/// Returns the layout of standard output.
pub(super) fn stdout_layout() -> Layout {
    layout(&io::stdout())
}

/// Returns the layout of standard error.
pub(super) fn stderr_layout() -> Layout {
    layout(&io::stderr())
}

/// Returns the width in `COLUMNS`, which also applies to a file or pipe, or that of the terminal.
fn layout(stream: &(impl IsTerminal + AsTerminal)) -> Layout {
    let columns = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let columns = columns.filter(|columns| (MIN_WIDTH..=MAX_WIDTH).contains(columns));
    let terminal = || stream.is_terminal().then(|| width(stream).unwrap_or(DEFAULT_WIDTH));
    Layout { width: columns.or_else(terminal) }
}

/// Returns the width that the terminal reports. Pseudo-terminals of CI report one without a height.
#[cfg(unix)]
fn width(terminal: &impl AsTerminal) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns the width that the terminal reports.
#[cfg(windows)]
fn width(terminal: &impl AsTerminal) -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(terminal)?;
    Some(usize::from(columns))
}
