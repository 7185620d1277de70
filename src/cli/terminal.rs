//! Width of the terminal.

use std::io;

use terminal_size::{Width, terminal_size_of};
use trainmesh_core::render::Layout;

/// Returns the layout of standard output.
pub(super) fn stdout_layout() -> Layout {
    layout(terminal_size_of(io::stdout()))
}

/// Returns the layout of standard error.
pub(super) fn stderr_layout() -> Layout {
    layout(terminal_size_of(io::stderr()))
}

fn layout<T>(size: Option<(Width, T)>) -> Layout {
    Layout { width: size.map(|(Width(columns), _)| usize::from(columns)) }
}
