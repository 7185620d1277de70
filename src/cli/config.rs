//! `trainmesh config validate|schema|show`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::slice;

use anstream::ColorChoice;
use anyhow::Context as _;
use clap::Subcommand;

use super::{Status, print_error};
use trainmesh_core::config::{self, Configuration};
use trainmesh_core::printable::Printable;

/// Validate, describe and show configurations
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Report all problems of a configuration, with field and line
  trainmesh config validate my-config.yaml

  # Validate the section config of Helm values
  trainmesh config validate my-values.yaml

  # Write the JSON Schema, for an editor
  trainmesh config schema > trainmesh.schema.json

  # Show the effective configuration: the file's fields and the defaults
  trainmesh config show --config my-config.yaml")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Validate a configuration and report all problems; exits with 0 if it is valid, otherwise with 2
    Validate {
        /// Configuration, the manifest of its `ConfigMap`, or Helm values; `-` reads standard input
        #[arg(value_name = "FILE", required_unless_present = "config")]
        file: Option<PathBuf>,
        /// Same as FILE
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        config: Option<PathBuf>,
    },
    /// Print the JSON Schema of the configuration
    Schema,
    /// Print the effective configuration, including defaults
    Show {
        /// Configuration file [default: the embedded configuration]
        #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
        config: Option<PathBuf>,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mut stdout = io::stdout();
    match &arguments.command {
        Command::Validate { file, config } => {
            let Some(path) = file.as_deref().or(config.as_deref()) else { return Ok(Status::Failed) };
            let Some(configuration) = load(path)? else { return Ok(Status::Failed) };
            writeln!(stdout, "{}: valid, hash {}", Printable(path.display()), configuration.hash())?;
        }
        Command::Schema => writeln!(stdout, "{:#}", config::schema())?,
        Command::Show { config } => {
            let Some(configuration) = load_or_default(config.as_deref())? else { return Ok(Status::Failed) };
            write!(stdout, "{}", configuration.to_yaml())?;
        }
    }
    Ok(Status::Success)
}

/// Loads the configuration at `path`, or the embedded one. Prints its problems and returns `None` if it is invalid.
pub(super) fn load_or_default(path: Option<&Path>) -> anyhow::Result<Option<Configuration>> {
    path.map_or_else(|| Ok(Some(Configuration::embedded())), load)
}

fn load(path: &Path) -> anyhow::Result<Option<Configuration>> {
    Ok(load_with_text(path)?.map(|(configuration, _)| configuration))
}

/// Loads the configuration at `path` and its text. Prints its problems and returns `None` if it is invalid.
pub(super) fn load_with_text(path: &Path) -> anyhow::Result<Option<(Configuration, String)>> {
    // One byte more than the limit is enough to reject the text.
    let mut text = String::new();
    let limit = config::MAX_TEXT as u64 + 1;
    let read = if path == Path::new("-") {
        io::stdin().take(limit).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text))
    };
    read.with_context(|| format!("could not read the configuration {}", path.display()))?;
    match Configuration::parse(&text) {
        Ok(configuration) => Ok(Some((configuration, text))),
        Err(problems) => {
            let mut stderr = super::stderr(ColorChoice::Auto);
            let name = path.display().to_string();
            for problem in &problems {
                print_error(&mut stderr, format_args!("{}", config::render(&name, slice::from_ref(problem))));
            }
            Ok(None)
        }
    }
}
