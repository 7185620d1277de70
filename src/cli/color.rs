//! The flag `--color`.

use anstream::ColorChoice;
use clap::ValueEnum;

/// When the output is colored.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also when writing to a file or pipe
    Always,
    /// Never
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}
