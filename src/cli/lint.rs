//! `trainmesh lint`: what looks wrong in a manifest's pods, offline.

mod json;
mod sarif;
mod text;

use std::collections::BTreeSet;
use std::io::Write;

use anstream::ColorChoice;
use anyhow::bail;
use clap::ValueEnum;

use super::input::{Input, failed};
use super::{Status, complain, config, json, note, painted, stderr};
use crate::manifest::Inputs;
use trainmesh_core::config::Configuration;
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::keys;
use trainmesh_core::manifest::{Document, DocumentError};
use trainmesh_core::preview::{PodReport, Preview, Previewed};
use trainmesh_core::workload::SOLE_ROLE;

/// Say what looks wrong in the pods of a manifest that use RDMA or NCCL.
///
/// Reads the same manifests as preview, works out their pods as the operator would create them, and runs the checks FP001
/// to FP035 over each: after trainmesh's patch where a fabric profile is named, else as they are. Needs no cluster:
/// checks that look at nodes or quotas stay silent. docs/lint.md tells of every check.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What is wrong, why, and the cure
  trainmesh lint -f pytorchjob.yaml

  # In a pipeline: a warning is enough to fail
  trainmesh lint -f jobs/ -R --fail-on W

  # As the pods would be with a fabric
  trainmesh lint -f pytorchjob.yaml --fabric ib-shared

  # For a code review's annotations
  trainmesh lint -f jobs/ -R -o sarif > lint.sarif

Exit codes: 0; 1 when something is found at --fail-on or above; 2 for an error.")]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// The weight from which on a finding ends in exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", ignore_case = true, default_value_t = FailOn::E)]
    fail_on: FailOn,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// The findings, each with its reason and cure
    Text,
    /// Everything, for machines
    Json,
    /// SARIF 2.1.0, for code reviews
    Sarif,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailOn {
    /// What would break
    #[value(name = "E")]
    E,
    /// What is likely wrong
    #[value(name = "W")]
    W,
    /// What is worth knowing
    #[value(name = "I")]
    I,
}

/// Warnings of the rule that knows the sidecar containers: they are not about a fabric, and no check of the lint.
const MANAGED: &str = "termination.managed: ";

/// The findings of one role's pod.
#[derive(Debug)]
struct Linted {
    /// Line of the source where the document starts.
    line: u64,
    report: PodReport,
    findings: Vec<Finding>,
}

/// What the whole run came to.
#[derive(Debug, Default)]
struct Run {
    pods: usize,
    /// The pods in which something was found.
    linted: Vec<Linted>,
    errors: Vec<DocumentError>,
    /// What could not be linted, and why.
    notes: BTreeSet<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Some(configuration) = config::load_or_default(arguments.input.config.as_deref())? else {
        return Ok(Status::Failed);
    };
    let inputs = arguments.input.open()?;
    if let Some(name) = &arguments.input.fabric {
        known(&configuration, name)?;
    }
    // Nothing is said of a mesh of which nothing is known.
    let context = arguments.input.survey(&inputs).without_mesh();
    let preview = Preview::new(configuration, context, arguments.input.namespace().to_owned());
    let run = lint(&inputs, &preview);
    let stderr = &mut stderr(ColorChoice::Auto);
    run.errors.iter().for_each(|error| complain(stderr, format_args!("{error}")));
    run.notes.iter().for_each(|text| note(stderr, format_args!("{text}")));
    match arguments.output {
        Format::Text => text::print(&mut painted(ColorChoice::Auto), &run)?,
        Format::Json => json::print(&mut json(), &run, preview.config_hash())?,
        Format::Sarif => sarif::print(&mut json(), &run)?,
    }
    if run.pods == 0 && run.errors.is_empty() {
        note(stderr, format_args!("no document of the input makes pods"));
    }
    Ok(run.status(arguments.fail_on))
}

/// Refuses a profile that is not there, because without it other pods would be linted than were asked about.
fn known(configuration: &Configuration, name: &str) -> anyhow::Result<()> {
    let profiles = &configuration.fabric.profiles;
    if name == keys::NO_FABRIC || profiles.find(name).is_some() {
        return Ok(());
    }
    match profiles.nearest(name) {
        Some(near) => bail!("no fabric profile is called {name}: did you mean {near}?"),
        None => bail!("no fabric profile is called {name}"),
    }
}

fn lint(inputs: &Inputs, preview: &Preview) -> Run {
    let mut run = Run::default();
    for document in inputs.documents() {
        let previewed = document.and_then(|document| {
            let previewed = preview.document(&document);
            previewed.map_err(|error| failed(&document, &error)).map(|previewed| (document, previewed))
        });
        match previewed {
            Err(error) => run.errors.push(error),
            Ok((document, Previewed::Unknown(what))) => {
                let Document { source, document, .. } = document;
                run.notes.insert(format!("{source}: document {}: {what}", document + 1));
            }
            Ok((_, Previewed::PassedOver(_))) => {}
            Ok((document, Previewed::Pods { reports, .. })) => {
                run.pods += reports.len();
                for report in &reports {
                    let warnings = report.warnings.iter().filter(|warning| warning.starts_with(MANAGED));
                    run.notes.extend(warnings.map(|warning| format!("{}: {warning}", name(report))));
                }
                let linted = reports.into_iter().map(|report| {
                    let findings = preview.lint(&report);
                    Linted { line: document.line, report, findings }
                });
                run.linted.extend(linted.filter(|linted| !linted.findings.is_empty()));
            }
        }
    }
    run
}

impl Run {
    fn status(&self, fail_on: FailOn) -> Status {
        let bound = match fail_on {
            FailOn::E => Severity::Error,
            FailOn::W => Severity::Warning,
            FailOn::I => Severity::Info,
        };
        let mut findings = self.linted.iter().flat_map(|linted| &linted.findings);
        if !self.errors.is_empty() {
            Status::Failed
        } else if findings.any(|finding| finding.severity <= bound) {
            Status::Found
        } else {
            Status::Done
        }
    }
}

/// `PyTorchJob default/llama Worker`.
fn name(report: &PodReport) -> String {
    let PodReport { kind, namespace, name, role, .. } = report;
    let role = if role == SOLE_ROLE { String::new() } else { format!(" {role}") };
    format!("{kind} {namespace}/{name}{role}")
}

/// Writes what all forms for machines end with.
fn end(out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out)?;
    Ok(out.flush()?)
}
