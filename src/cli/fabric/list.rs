//! `trainmesh fabric list`: prints the profiles as a table, names or JSON.

use std::io::Write as _;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::Source;
use crate::cli::table::{NONE, format_fitted_table};
use crate::cli::terminal::stdout_layout;
use crate::cli::{Status, buffered_stdout, json_stdout};
use trainmesh_core::config::profile::{Amount, Gke, Ratios, Resource, ResourceMode};
use trainmesh_core::config::{Profile, ProfileEntry, Profiles};
use trainmesh_core::render::Layout;

/// List the built-in profiles, and with --config your own
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row for each profile
    Table,
    /// One name on each line
    Name,
    /// JSON with all fields of each profile
    Json,
}

/// Version of the JSON output.
const SCHEMA_VERSION: u32 = 1;

/// Prefix of a device class that is requested as an extended resource (KEP-5004).
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { source, output } = arguments;
    let Some(configuration) = source.load()? else { return Ok(Status::Failed) };
    let profiles = &configuration.fabric.profiles;
    match output {
        Format::Table => {
            let mut out = buffered_stdout();
            out.write_all(text(profiles, stdout_layout()).as_bytes())?;
            out.flush()?;
        }
        Format::Name => {
            let mut out = buffered_stdout();
            for name in profiles.all().keys() {
                writeln!(out, "{name}")?;
            }
            out.flush()?;
        }
        Format::Json => {
            let mut out = json_stdout();
            writeln!(out, "{:#}", to_json(profiles))?;
            out.flush()?;
        }
    }
    Ok(Status::Success)
}

/// Returns all profiles with their defaults.
fn to_json(profiles: &Profiles) -> Value {
    let profile =
        |(name, entry): (&str, &ProfileEntry)| json!({"origin": origin(profiles, name), "profile": entry.profile});
    let all: Vec<Value> = profiles.all().into_iter().map(profile).collect();
    json!({"schemaVersion": SCHEMA_VERSION, "version": env!("CARGO_PKG_VERSION"), "profiles": all})
}

/// Returns where profile `name` is defined.
fn origin(profiles: &Profiles, name: &str) -> &'static str {
    if profiles.is_custom(name) { "custom" } else { "built-in" }
}

/// Formats one line for each profile. If a profile is restricted to some namespaces, the table has a column for them.
/// If a line does not fit, devices and descriptions are in lines of their own.
fn text(profiles: &Profiles, layout: Layout) -> String {
    let entries = profiles.all();
    let restricted = entries.values().any(|entry| entry.profile.namespaces.is_some());
    let rows: Vec<Vec<String>> = entries
        .into_iter()
        .map(|(name, entry)| {
            let Profile { transport, description, .. } = &entry.profile;
            let devices = devices(&entry.profile);
            let mut row = vec![name.to_owned(), origin(profiles, name).to_owned(), transport.to_string(), devices];
            row.extend(restricted.then(|| namespaces(&entry.profile)));
            row.push(description.clone());
            row
        })
        .collect();
    let namespaces = restricted.then_some("NAMESPACES");
    let head = ["NAME", "ORIGIN", "TRANSPORT", "DEVICES"].into_iter().chain(namespaces).chain(["DESCRIPTION"]);
    format_fitted_table(&head.collect::<Vec<_>>(), &rows, &["DEVICES", "DESCRIPTION"], layout)
}

/// Formats the namespaces that may use a profile.
fn namespaces(profile: &Profile) -> String {
    profile.namespaces.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string)
}

/// Formats the devices of a profile in a few words.
fn devices(profile: &Profile) -> String {
    let resources = profile.resources.iter().filter(|resource| !resource.opt_in);
    let mut parts: Vec<String> = resources.map(resource).collect();
    parts.extend(profile.dra.extended_resource.iter().map(|name| format!("{name} per GPU")));
    parts.extend(profile.dra.claims.iter().map(|claim| format!("claim {}", claim.resource_claim_template_name)));
    let Gke { default_interface, interfaces } = &profile.networks.gke;
    let secondary =
        interfaces.iter().filter(|interface| Some(&interface.interface_name) != default_interface.as_ref()).count();
    if parts.is_empty() && secondary > 0 {
        parts.push(format!("{secondary} GKE networks"));
    }
    if parts.is_empty() { NONE.to_owned() } else { parts.join(", ") }
}

fn resource(resource: &Resource) -> String {
    let name = resource.name.as_str();
    let name = name.strip_prefix(DEVICE_CLASS).map_or_else(|| name.to_owned(), |class| format!("device class {class}"));
    match &resource.amount {
        Amount::Memory { quantity } => format!("{quantity} of {name} per container"),
        Amount::Devices { mode: ResourceMode::PerPod, count, .. } => format!("{count} {name} per pod"),
        Amount::Devices { mode: ResourceMode::PerContainer, count, .. } => format!("{count} {name} per container"),
        Amount::Devices { mode: ResourceMode::PerGpu, ratio: Ratios::Fixed(ratio), .. } => {
            format!("{ratio} {name} per GPU")
        }
        Amount::Devices { mode: ResourceMode::PerGpu, ratio: Ratios::ByInstanceType(_), .. } => {
            format!("{name} per GPU, by instance type")
        }
    }
}
