//! `trainmesh lint`: checks the pods of manifests, offline.

mod json;
mod sarif;
mod summary;
mod text;

use std::collections::BTreeSet;
use std::io::Write;

use clap::ValueEnum;

use super::color::Color;
use super::input::{InputArguments, document_error, placeholder_note};
use super::installation::OfflineInstallationArguments;
use super::notes::Notes;
use super::premise::{self, AssumedNamespaces, premise, print_premise};
use super::skipped_files::SkippedFiles;
use super::terminal::stdout_layout;
use super::{Status, colored_stdout, config, json_stdout, print_error, print_note, print_warning, stderr};
use crate::manifest::Inputs;
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::lint::NAMESPACE_FIELD;
use trainmesh_core::manifest::{DocumentError, DocumentWarning};
use trainmesh_core::preview::{DocumentPreview, PodReport, Preview, locate};
use trainmesh_core::printable::Printable;
use trainmesh_core::render::style;
use trainmesh_core::workload::SOLE_ROLE;

/// Check manifests for problems of NCCL, RDMA and training jobs.
///
/// Reads the same manifests as preview, computes their pods as the operator would create them, and runs every check
/// on each: after trainmesh's patch if a fabric profile is selected or the check is about the mesh, else unchanged.
/// Needs no cluster; checks that depend on nodes or quotas are skipped. docs/lint.md describes every check.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Check a manifest
  trainmesh lint -f pytorchjob.yaml

  # Also fail on warnings, for example in CI
  trainmesh lint -f jobs/ -R --fail-on W

  # Check the pods as patched for a fabric profile
  trainmesh lint -f pytorchjob.yaml --fabric ib-shared

  # Check a manifest with placeholders, as for envsubst
  trainmesh lint -f nccl-tests.yaml --set NUM_NODES=2 --set GPU_PER_NODE=8

  # Check the templates of a Helm chart
  helm template train charts/train -n team-a | trainmesh lint -f - -n team-a

  # Count the findings of each check
  trainmesh lint -f jobs/ -R --summary

  # Write SARIF, for annotations in code reviews
  trainmesh lint -f jobs/ -R -o sarif > lint.sarif

Exit codes:
  0  success
  1  there are findings of severity --fail-on or above
  2  an error")]
pub(super) struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    installation: OfflineInstallationArguments,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Minimum severity of a finding that causes exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", ignore_case = true, default_value_t = FailOn::E)]
    fail_on: FailOn,
    /// Print only the number of findings of each check
    #[arg(long, conflicts_with = "output")]
    summary: bool,
    /// When to color the output
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// List the files of directories that are skipped because they are not manifests
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Findings with their explanation and fix
    Text,
    /// JSON
    Json,
    /// SARIF 2.1.0, for code review tools
    Sarif,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailOn {
    /// Or `E`: would break the job
    #[value(name = "error", alias = "E")]
    E,
    /// Or `W`: likely wrong
    #[value(name = "warning", alias = "W")]
    W,
    /// Or `I`: information
    #[value(name = "info", alias = "I")]
    I,
}

/// Findings of one role's pod.
#[derive(Debug)]
struct PodFindings {
    /// Line of the source at which the object starts.
    line: u64,
    report: PodReport,
    findings: Vec<Finding>,
}

/// Source, line, code and message of the findings about labels of Namespaces, each of which all pods of its namespace have.
#[derive(Debug, Default)]
struct ReportedLabels(BTreeSet<(String, u64, &'static str, String)>);

/// Result of linting the input.
#[derive(Debug, Default)]
struct LintReport {
    /// Roles that were checked, with one pod each.
    pods: usize,
    /// Pods with findings.
    pod_findings: Vec<PodFindings>,
    errors: Vec<DocumentError>,
    warnings: Vec<DocumentWarning>,
    /// Assumptions, and documents whose pods were not checked.
    notes: Notes,
    skipped: SkippedFiles,
    assumed: AssumedNamespaces,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Some((configuration, of_values)) = config::load_with_installation(&arguments.input.config)? else {
        return Ok(Status::Failed);
    };
    let inputs = arguments.input.open()?;
    arguments.input.require_profile(&configuration)?;
    let context = arguments.input.read_context(&inputs)?;
    let preview = Preview::new(configuration, context, arguments.input.namespace().to_owned())
        .with_installation(arguments.installation.with_values(of_values));
    let stderr = &mut stderr(arguments.color.into());
    let lint_report = lint(arguments, &inputs, &preview, stderr);
    lint_report.errors.iter().for_each(|error| print_error(stderr, format_args!("{error}")));
    if let Some(note) = placeholder_note(&lint_report.errors) {
        print_note(stderr, format_args!("{note}"));
    }
    for warning in &lint_report.warnings {
        if warning.severity == Severity::Info {
            print_note(stderr, format_args!("{warning}"));
        } else {
            print_warning(stderr, format_args!("{warning}"));
        }
    }
    lint_report.notes.print(stderr);
    match arguments.output {
        Format::Text => {
            let premise = premise(preview.context(), false);
            let premise = Printable(premise.text(!lint_report.assumed.labels.is_empty())).to_string();
            let (out, layout, dim) = (&mut colored_stdout(arguments.color.into()), stdout_layout(), style::DIM);
            if !premise.is_empty() {
                writeln!(out, "{dim}{}{dim:#}\n", layout.wrap(&premise, 0, 4))?;
            }
            let print = if arguments.summary { summary::print } else { text::print };
            print(out, &lint_report, layout)?;
        }
        Format::Json => json::print(&mut json_stdout(), &lint_report, preview.config_hash())?,
        Format::Sarif => {
            sarif::print(&mut json_stdout(), &lint_report)?;
            print_premise(&premise(preview.context(), false), &lint_report.assumed.labels, stderr);
            // A code review tool reads the file; the person who runs the command sees whether it found anything.
            print_note(stderr, format_args!("{}", summary::Counts(&lint_report)));
        }
    }
    if !matches!(arguments.output, Format::Json)
        && let Some(note) = premise::missing_namespaces(preview.context(), false, &lint_report.assumed)
    {
        print_note(stderr, format_args!("{note}"));
    }
    lint_report.skipped.print(arguments.verbose, stderr);
    if lint_report.pods == 0 && lint_report.errors.is_empty() {
        print_note(stderr, format_args!("no document in the input creates pods"));
    }
    Ok(lint_report.status(arguments.fail_on))
}

fn lint(arguments: &Arguments, inputs: &Inputs, preview: &Preview, stderr: &mut impl Write) -> LintReport {
    let verbose = arguments.verbose;
    let mut lint_report = LintReport { warnings: preview.override_warnings(), ..LintReport::default() };
    let mut reported = ReportedLabels::default();
    for mut document in inputs.documents() {
        let mut warnings: Vec<DocumentWarning> =
            document.iter_mut().flat_map(|document| preview.take_warnings(document)).collect();
        let previewed = document.and_then(|document| match preview.document(&document) {
            Ok(previewed) => Ok((document, previewed)),
            Err(error) => {
                Preview::remove_repeated(&mut warnings, &error);
                Err(document_error(preview, &document, &error))
            }
        });
        lint_report.warnings.extend(warnings);
        match previewed {
            Err(error) if lint_report.skipped.add(&error, verbose, stderr) => {}
            Err(error) => lint_report.errors.push(error),
            Ok((document, DocumentPreview::Unsupported(reason) | DocumentPreview::Unrendered(reason))) => {
                lint_report.notes.add(reason, &document.source, document.object_line());
            }
            Ok((_, DocumentPreview::Namespace(warnings))) => lint_report.warnings.extend(warnings),
            Ok((_, DocumentPreview::Skipped(_))) => {}
            Ok((document, DocumentPreview::Pods { reports, notes: _, warnings })) => {
                lint_report.warnings.extend(warnings);
                lint_report.pods += reports.len();
                for note in arguments.input.notes(&reports) {
                    lint_report.notes.add(note, &document.source, document.object_line());
                }
                for report in &reports {
                    let line = report.line.unwrap_or(document.line);
                    lint_report.assumed.record(preview.context(), &report.namespace, &report.source, line);
                }
                let pods = reports.into_iter().map(|report| {
                    let mut findings = preview.lint(&report);
                    locate(&mut findings, &document, &report);
                    findings.retain(|finding| reported.is_new(finding));
                    PodFindings { line: report.line.unwrap_or(document.line), report, findings }
                });
                lint_report.pod_findings.extend(pods.filter(|pod| !pod.findings.is_empty()));
            }
        }
    }
    lint_report
}

impl ReportedLabels {
    /// Returns false for a finding about a label of a Namespace in the input that was reported before.
    fn is_new(&mut self, finding: &Finding) -> bool {
        let Finding { code, message, subject, line, source, .. } = finding;
        let position = source.as_ref().filter(|_| subject == NAMESPACE_FIELD).zip(*line);
        position.is_none_or(|(source, line)| self.0.insert((source.clone(), line, code, message.to_string())))
    }
}

impl LintReport {
    fn status(&self, fail_on: FailOn) -> Status {
        let bound = match fail_on {
            FailOn::E => Severity::Error,
            FailOn::W => Severity::Warning,
            FailOn::I => Severity::Info,
        };
        let findings = self.pod_findings.iter().flat_map(|pod| &pod.findings).map(|finding| finding.severity);
        let warnings = self.warnings.iter().map(|warning| warning.severity);
        if !self.errors.is_empty() {
            Status::Failed
        } else if findings.chain(warnings).any(|severity| severity <= bound) {
            Status::Findings
        } else {
            Status::Success
        }
    }
}

/// Returns the name of a pod: `PyTorchJob default/llama Worker`.
fn pod_name(report: &PodReport) -> String {
    let PodReport { kind, namespace, name, role, .. } = report;
    let role = if role == SOLE_ROLE { String::new() } else { format!(" {role}") };
    format!("{kind} {namespace}/{name}{role}")
}

/// Ends the output of the machine-readable formats.
fn finish(out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out)?;
    Ok(out.flush()?)
}
