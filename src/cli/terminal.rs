//! Width of the output.

use std::env;
use std::io::{self, IsTerminal};
#[cfg(unix)]
use std::os::fd::AsFd as AsTerminal;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsTerminal;

use terminal_size::{Width, terminal_size_of};
use trainmesh_core::render::Layout;

/// Width of a terminal that reports no size, as some in CI and in editors do.
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
    let terminal = || {
        let size = terminal_size_of(stream);
        stream.is_terminal().then(|| size.map_or(DEFAULT_WIDTH, |(Width(columns), _)| usize::from(columns)))
    };
    Layout { width: columns.or_else(terminal) }
}
