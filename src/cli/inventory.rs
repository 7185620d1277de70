//! `trainmesh inventory`: lists the workloads that use accelerators.

use std::io::Write as _;
use std::path::PathBuf;

use anstream::ColorChoice;
use anyhow::bail;
use clap::{Args, ValueEnum};

use super::diagnose::dump::{self, Dump};
use super::diagnose::scope::ScopeArguments;
use super::table::{NONE, format_fitted_table};
use super::terminal::stdout_layout;
use super::{Status, buffered_stdout, colored_stdout, json_stdout, print_note, stderr};
use trainmesh_core::diagnosis::{Inventory, InventoryEntry, Selection, WorkloadClass, inventory};
use trainmesh_core::render::error_to_json;
use trainmesh_core::yaml;

/// Columns of a table that fits.
const HEADER: [&str; 9] = ["CLASS", "WORKLOAD", "PODS", "GPUS", "ROLES", "GANG", "FABRIC", "MESH", "DEVICES"];
/// Columns below the row in a narrow terminal.
const BELOW: [&str; 4] = ["ROLES", "GANG", "FABRIC", "DEVICES"];
/// The same, if a name does not fit either.
const NAMES_BELOW: [&str; 5] = ["WORKLOAD", "ROLES", "GANG", "FABRIC", "DEVICES"];

/// List the workloads that use accelerators
///
/// Shows for each whether it is probably training, inference or interactive, its size, roles, gang, fabric, mesh and
/// devices, from a cluster with your own permissions, or from a dump. docs/inventory.md describes the signs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # List the workloads of all namespaces
  trainmesh inventory -A

  # List those of a dump, without a cluster
  for type in pods jobs.batch pytorchjobs.kubeflow.org; do
    kubectl get $type -A -o yaml && echo ---
  done > dump.yaml
  trainmesh inventory -f dump.yaml

Exit codes:
  0  success, also if no workload uses accelerators
  2  the command failed, or the input is a manifest without pods")]
pub(super) struct Arguments {
    #[command(flatten)]
    scope: ScopeArguments,
    /// Dump of objects as YAML or JSON, directory of dumps, or `-` for standard input; can be repeated
    #[arg(short, long = "filename", value_name = "DUMP")]
    filename: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row for each workload, and the sums of each class
    Table,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { scope, filename, output } = arguments;
    let (found, errors, is_incomplete) = if filename.is_empty() {
        let (found, is_incomplete) = live(scope)?;
        (found, Vec::new(), is_incomplete)
    } else {
        let selection = Selection { target: None, namespace: scope.namespace.clone() };
        let Dump { snapshot, errors, has_manifests, lacks_logs: _ } = dump::read(filename, false)?;
        if !snapshot.has_pods() && errors.is_empty() {
            if has_manifests {
                bail!(
                    "the input contains no pods: inventory reads those of kubectl get pods -o yaml; for manifests, use trainmesh preview"
                );
            }
            print_note(&mut stderr(ColorChoice::Auto), format_args!("the input contains no pods"));
        }
        let now = dump::time(&snapshot, None)?;
        (inventory(&snapshot, &selection, now), errors, false)
    };
    if let (Some(namespace), Some(hint)) = (&scope.namespace, &found.hint) {
        let note = format_args!("no workload in namespace {namespace}: {hint}");
        print_note(&mut stderr(ColorChoice::Auto), note);
    }
    let errors: Vec<_> = errors.iter().map(error_to_json).collect();
    let json = || found.to_json(env!("CARGO_PKG_VERSION"), &errors);
    match output {
        Format::Table => print(&found)?,
        Format::Json => {
            let mut out = json_stdout();
            writeln!(out, "{:#}", json())?;
            out.flush()?;
        }
        Format::Yaml => {
            let mut out = buffered_stdout();
            out.write_all(yaml::to_string(&json()).as_bytes())?;
            out.flush()?;
        }
    }
    Ok(if errors.is_empty() && !is_incomplete { Status::Success } else { Status::Failed })
}

fn print(found: &Inventory) -> anyhow::Result<()> {
    let mut out = colored_stdout(ColorChoice::Auto);
    let layout = stdout_layout();
    if found.entries.is_empty() {
        writeln!(out, "no workload uses accelerators")?;
        return Ok(out.flush()?);
    }
    let rows: Vec<Vec<String>> = found.entries.iter().map(row).collect();
    let table = format_fitted_table(&HEADER, &rows, &BELOW, layout);
    // The name of a workload may be longer than the terminal is wide.
    let fits = |line: &str| line.starts_with(' ') || layout.fits(line.chars().count());
    let table = if table.lines().all(fits) { table } else { format_fitted_table(&HEADER, &rows, &NAMES_BELOW, layout) };
    write!(out, "{table}")?;
    writeln!(out)?;
    for class in WorkloadClass::ALL {
        let entries = || found.entries.iter().filter(|entry| entry.class == class);
        let accelerators = entries().fold(0_u64, |sum, entry| sum.saturating_add(entry.accelerators));
        let pending = entries().fold(0_u64, |sum, entry| sum.saturating_add(entry.pending));
        if entries().next().is_some() {
            let waiting = if pending == 0 { String::new() } else { format!(", {pending} of them without a node") };
            let name = class.name();
            let (workloads, s) = (entries().count(), if accelerators == 1 { "" } else { "s" });
            let noun = if workloads == 1 { "workload" } else { "workloads" };
            writeln!(out, "{name}: {workloads} {noun}, {accelerators} accelerator{s}{waiting}")?;
        }
    }
    if found.omitted > 0 {
        let noun = if found.omitted == 1 { "workload" } else { "workloads" };
        writeln!(out, "and {} more {noun}", found.omitted)?;
    }
    Ok(out.flush()?)
}

fn row(entry: &InventoryEntry) -> Vec<String> {
    let roles: Vec<String> = entry.roles.iter().map(|(role, pods)| format!("{role}={pods}")).collect();
    let or_none = |text: &str| if text.is_empty() { NONE.to_owned() } else { text.to_owned() };
    vec![
        entry.class.name().to_owned(),
        entry.workload.to_string(),
        entry.pods.to_string(),
        if entry.accelerators == 0 { NONE.to_owned() } else { entry.accelerators.to_string() },
        or_none(&roles.join(",")),
        or_none(entry.gang.unwrap_or_default()),
        or_none(entry.fabric.as_deref().unwrap_or_default()),
        entry.mesh.name().to_owned(),
        entry.devices.name().to_owned(),
    ]
}

#[cfg(feature = "cluster")]
fn live(scope: &ScopeArguments) -> anyhow::Result<(Inventory, bool)> {
    super::diagnose::live::list_cluster(scope)
}

#[cfg(not(feature = "cluster"))]
fn live(_: &ScopeArguments) -> anyhow::Result<(Inventory, bool)> {
    bail!("this build lists only dumps: use -f, or build trainmesh without --no-default-features")
}
