//! `trainmesh man DIRECTORY`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::Status;

/// Write the man pages of all commands
///
/// For packages of trainmesh, not for daily use: the help of each command has the same text.
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  # Install the man pages
  trainmesh man /usr/local/share/man/man1"
)]
pub(super) struct Arguments {
    /// Directory for the pages, which is created
    directory: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(super::Arguments::command(), directory))
        .with_context(|| format!("write man pages to {}", directory.display()))?;
    Ok(Status::Success)
}
