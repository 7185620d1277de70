//! `trainmesh completion SHELL`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Status;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Enable completion in the current bash session
  source <(trainmesh completion bash)

  # Install completion for zsh
  trainmesh completion zsh > \"${fpath[1]}/_trainmesh\"")]
pub(super) struct Arguments {
    /// Shell to generate the script for
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mut command = super::Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "trainmesh", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(Status::Success)
}
