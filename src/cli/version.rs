//! `trainmesh version`.

use std::io::Write as _;

use clap::ValueEnum;
use serde_json::json;

use super::Status;
use trainmesh_core::config;

/// Kubernetes release whose Pod type patches are verified against.
const KUBERNETES: &str = "1.36";

/// Version of the JSON format.
const SCHEMA_VERSION: u32 = 1;

/// Print the version of trainmesh, of its configuration API and of the supported Kubernetes API
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Plain text
    Text,
    /// JSON
    Json,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let mut stdout = std::io::stdout();
    let version = env!("CARGO_PKG_VERSION");
    match arguments.output {
        Format::Text => {
            writeln!(stdout, "trainmesh {version}\nconfiguration {}\nkubernetes {KUBERNETES}", config::API_VERSION)?;
        }
        Format::Json => writeln!(
            stdout,
            "{}",
            json!({
                "schemaVersion": SCHEMA_VERSION,
                "version": version,
                "configuration": config::API_VERSION,
                "kubernetes": KUBERNETES,
            })
        )?,
    }
    Ok(Status::Success)
}
