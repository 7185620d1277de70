//! `trainmesh fabric list|show|render`.

mod list;
mod render;

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::bail;
use clap::Subcommand;
use serde_json::json;

use super::{Status, config};
use trainmesh_core::config::{Configuration, Profiles, profile_source};
use trainmesh_core::yaml;

/// List, print and try fabric profiles.
///
/// A fabric profile says what a pod needs to use the network between GPUs: devices, settings of NCCL, networks. The label
/// trainmesh.dev/fabric of a namespace or pod names one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which profiles are there?
  trainmesh fabric list

  # One to start from: every value with its source
  trainmesh fabric show roce-sriov > my-fabric.yaml

  # What a pod with 8 GPUs on a p5 would get
  trainmesh fabric render eks-efa --gpus 8 --machine p5.48xlarge

  # The same by a profile of your own
  trainmesh fabric render my-fabric --gpus 8 --config my-config.yaml

Exit codes: 0; 2 for an error.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the profiles: those built in, and with --config your own
    List {
        #[command(flatten)]
        source: Source,
    },
    /// Print a profile as YAML: a built-in one with its comments
    Show {
        /// The profile's name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        source: Source,
    },
    /// Show what a pod of one container would get by a profile, and why
    Render(render::Arguments),
}

/// Where profiles of one's own come from.
#[derive(Debug, clap::Args)]
struct Source {
    /// A configuration with profiles of your own, or the manifest of its config map
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
    config: Option<PathBuf>,
}

impl Source {
    /// The configuration; `None`: its problems have been reported.
    fn load(&self) -> anyhow::Result<Option<Configuration>> {
        config::load_or_default(self.config.as_deref())
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    match &arguments.command {
        Command::List { source } => {
            let Some(configuration) = source.load()? else { return Ok(Status::Failed) };
            write!(io::stdout(), "{}", list::text(&configuration.fabric.profiles))?;
            Ok(Status::Done)
        }
        Command::Show { name, source } => {
            let Some(configuration) = source.load()? else { return Ok(Status::Failed) };
            write!(io::stdout(), "{}", text_of(&configuration.fabric.profiles, name)?)?;
            Ok(Status::Done)
        }
        Command::Render(arguments) => render::run(arguments),
    }
}

/// The YAML of profile `name`: with its comments where it is built in, else complete with defaults.
fn text_of(profiles: &Profiles, name: &str) -> anyhow::Result<String> {
    let Some(entry) = profiles.find(name) else { return unknown(profiles, name) };
    let built_in = profile_source(name).filter(|_| !profiles.is_own(name));
    Ok(built_in.map_or_else(|| yaml::to_string(&json!(entry.profile)), str::to_owned))
}

/// The error for a name that no profile has.
fn unknown<T>(profiles: &Profiles, name: &str) -> anyhow::Result<T> {
    let cure = profiles
        .nearest(name)
        .map_or_else(|| "trainmesh fabric list shows the names".to_owned(), |near| format!("did you mean {near}?"));
    bail!("no profile is called {name}: {cure}")
}
