//! `trainmesh completion SHELL`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Status;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  source <(trainmesh completion bash)
  trainmesh completion zsh > \"${fpath[1]}/_trainmesh\"")]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mut command = super::Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "trainmesh", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(Status::Done)
}
