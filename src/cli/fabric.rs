//! `trainmesh fabric list|show|render|sources`.

mod list;
mod name;
mod render;
mod show;
mod sources;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Subcommand;

pub(super) use self::name::ProfileNameParser;
use super::{Status, config};
use crate::manifest::has_extension;
use trainmesh_core::config::{Configuration, Profiles, profile_sources};

/// List, show and render fabric profiles.
///
/// A fabric profile defines what a pod needs to use the network between GPUs: devices, NCCL settings, networks. The
/// label trainmesh.dev/fabric of a namespace or pod selects a profile.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # List all profiles, or only their names
  trainmesh fabric list
  trainmesh fabric list -o name

  # Start a custom profile from a built-in one, which cites its sources
  trainmesh fabric show roce-sriov --as config > my-config.yaml

  # The same as Helm values, to add to those of the release
  trainmesh fabric show roce-sriov --as values > fabric-values.yaml

  # Show the patch for a pod with 8 GPUs on a p5 instance
  trainmesh fabric render eks-efa --gpus 8 --machine p5.48xlarge

  # The same with a custom profile
  trainmesh fabric render my-fabric --gpus 8 --config my-config.yaml

  # Find profiles whose vendor has changed the files they were checked against
  git clone https://github.com/coreweave/nccl-tests
  trainmesh fabric sources --checkout nccl-tests

Exit codes:
  0  success; render: also if the profile does not apply to the pod
  1  render: the profile is refused or falls back to TCP; sources: a file has
     changed or is missing
  2  an error")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    /// Show the patch of a profile for a generated pod, and why
    Render(render::Arguments),
    /// List the files of vendors that profiles were checked against, and compare them with a checkout
    Sources(sources::Arguments),
}

/// Source of custom profiles.
#[derive(Debug, clap::Args)]
struct Source {
    /// Configuration with custom profiles, the manifest of its `ConfigMap`, or Helm values; can be repeated: several files of
    /// Helm values are merged as Helm merges them
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
    config: Vec<PathBuf>,
}

impl Source {
    /// Loads the configuration. Prints its problems and returns `None` if it is invalid.
    fn load(&self) -> anyhow::Result<Option<Configuration>> {
        config::load_or_default(&self.config)
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Render(arguments) => render::run(arguments),
        Command::Sources(arguments) => sources::run(arguments),
    }
}

/// Returns the error for an unknown profile name.
pub(super) fn unknown_profile<T>(profiles: &Profiles, name: &str) -> anyhow::Result<T> {
    unknown_name(profiles.suggestion(name), name)
}

/// Like [`unknown_profile`], for a name that may also be that of no profile.
pub(super) fn unknown_choice<T>(profiles: &Profiles, name: &str) -> anyhow::Result<T> {
    unknown_name(profiles.value_suggestion(name), name)
}

fn unknown_name<T>(suggestion: Option<String>, name: &str) -> anyhow::Result<T> {
    let is_example = profile_sources().any(|source| source.profile == name);
    let hint = match suggestion {
        _ if is_example => format!("it is an example: set --config examples/fabric/{name}.yaml"),
        _ if has_extension(Path::new(name)) => {
            format!("for the profiles of a file, use --config {name}, and their name")
        }
        Some(near) => format!("did you mean {near}?"),
        None => "run `trainmesh fabric list` to list the profiles, and set --config for your own".to_owned(),
    };
    bail!("unknown fabric profile {name}: {hint}")
}
