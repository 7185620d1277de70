//! The second pass over the input: previews and prints every document, and compares it with the cluster on request.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::bail;
use serde_json::Value;

use super::super::input::placeholder_note;
use super::super::live::LiveCluster;
use super::super::notes::Notes;
use super::super::output::{Format, Printer};
use super::super::premise::{self, AssumedNamespaces, premise, print_premise};
use super::super::progress::Progress;
use super::super::skipped_files::SkippedFiles;
use super::super::terminal::stdout_layout;
use super::super::{colored_stdout, print_difference, print_error, print_note, print_warning, stderr};
use super::Arguments;
use super::cluster_state::read_groups;
use super::compute::{Computation, Content, Workload};
use super::fail_on::Causes;
use crate::manifest::Inputs;
use trainmesh_core::finding::Severity;
use trainmesh_core::manifest::{DocumentError, DocumentWarning};
use trainmesh_core::preview::{FieldDifference, PodReport, Preview, Summary, find_differences};
use trainmesh_core::printable::Printable;
use trainmesh_core::render::{Closing, TextOptions};

/// Columns by which the lines after the first one of counts are indented.
const SUMMARY_INDENT: usize = 4;

/// Result of a run.
#[derive(Debug, Default)]
pub(super) struct Shown {
    summary: Summary,
    pub(super) errors: Vec<DocumentError>,
    warnings: Vec<DocumentWarning>,
    /// Set if the dry run of some pod failed.
    pub(super) comparison_failed: bool,
    /// Counts of each file with `--summary`, in the order of the input.
    by_file: Vec<(String, Summary)>,
    assumed: AssumedNamespaces,
    skipped: SkippedFiles,
    pub(super) causes: Causes,
    notes: Notes,
    /// Roles of the input.
    roles: BTreeSet<String>,
}

/// Prints every document in the order of the input.
pub(super) fn show(
    arguments: &Arguments,
    inputs: &Inputs,
    preview: &Preview,
    live: Option<&LiveCluster>,
) -> anyhow::Result<Shown> {
    let color = arguments.color.into();
    let stderr = &mut stderr(color);
    let premise = premise(preview.context(), live.is_some());
    let options = TextOptions { layout: stdout_layout(), verbose: arguments.verbose, premise: premise.clone() };
    let mut printer = (!arguments.summary).then(|| arguments.output.printer(color, options, preview));
    let mut shown = Shown::default();
    for warning in preview.override_warnings() {
        shown.add_warning(arguments, warning, stderr);
    }
    let mut progress = Progress::new();
    let computation = Computation { arguments, preview, is_compared: live.is_some() };
    inputs.map_documents(
        |document| computation.preview(document),
        |previewed| {
            let content = previewed.and_then(|(previewed, warnings)| {
                for warning in warnings.into_iter().chain(previewed.warnings) {
                    shown.add_warning(arguments, warning, stderr);
                }
                previewed.content
            });
            match content {
                Err(error) if shown.skipped.add(&error, arguments.verbose, stderr) => {}
                Err(error) => {
                    print_error(stderr, format_args!("{error}"));
                    shown.count(arguments, &error.source, Summary { errors: 1, ..Summary::default() });
                    shown.errors.push(error);
                }
                Ok(Content::Namespace(warnings)) => {
                    for warning in warnings {
                        shown.add_warning(arguments, warning, stderr);
                    }
                }
                Ok(Content::Unrendered(source, number, note)) => shown.notes.add(note, &source, number),
                Ok(Content::Skipped(reason)) => {
                    if arguments.verbose {
                        print_note(stderr, format_args!("{reason}"));
                    }
                }
                Ok(Content::Unsupported(source, message)) => {
                    print_note(stderr, format_args!("{message}"));
                    shown.causes.add_unsupported(&arguments.conditions, &message);
                    shown.count(arguments, &source, Summary { unsupported: 1, ..Summary::default() });
                }
                Ok(Content::Workload(workload)) => {
                    progress.add(workload.summary.pods);
                    shown.add_workload(arguments, *workload, preview, printer.as_mut(), live, stderr)?;
                }
            }
            anyhow::Ok(())
        },
    )?;
    drop(progress);
    shown.require_role(arguments.role.as_deref())?;
    // Other formats contain the labels.
    if arguments.summary || !arguments.output.has_premise() || arguments.verbose && !arguments.output.is_text() {
        print_premise(&premise, &shown.assumed.labels, stderr);
    }
    shown.finish(arguments, printer)?;
    let missing = premise::missing_namespaces(preview.context(), live.is_some(), &shown.assumed);
    if let Some(note) = missing.filter(|_| arguments.output != Format::Json) {
        print_note(stderr, format_args!("{note}"));
    }
    shown.skipped.print(arguments.verbose, stderr);
    shown.print_notes(stderr);
    shown.causes.print(stderr);
    Ok(shown)
}

impl Shown {
    /// Prints and counts the pods of a workload, and compares them with the cluster.
    fn add_workload(
        &mut self,
        arguments: &Arguments,
        workload: Workload,
        preview: &Preview,
        printer: Option<&mut Printer<'_>>,
        live: Option<&LiveCluster>,
        stderr: &mut impl Write,
    ) -> anyhow::Result<()> {
        let Workload { source, line, namespace, roles, summary, causes, warnings, notes, results, mut reports } =
            workload;
        for warning in warnings {
            self.add_warning(arguments, warning, stderr);
        }
        if arguments.role.is_some() {
            self.roles.extend(roles);
        }
        if summary.pods > 0 {
            self.count(arguments, &source, summary);
            self.causes.add(causes);
            self.assumed.record(preview.context(), &namespace, &source, line);
        }
        let created: Vec<anyhow::Result<Value>> =
            live.into_iter().flat_map(|live| reports.iter().map(|report| live.dry_run(report))).collect();
        if let Some(live) = live {
            read_groups(live, &mut reports);
        }
        if let Some(live) = live.filter(|_| arguments.quota) {
            let account = live.account(&reports, &created);
            if let Some(first) = reports.first_mut() {
                first.quota = account;
            }
        }
        if let Some(printer) = printer {
            printer.print(&reports, results.transpose()?.as_ref())?;
        }
        // The output contains the pods and nothing about them.
        if !arguments.summary && matches!(arguments.output, Format::Yaml | Format::Patch) {
            for report in &reports {
                for cause in report.invalid_values() {
                    print_warning(stderr, format_args!("{}", cause.describe(report)));
                }
            }
        }
        for (report, created) in reports.iter().zip(&created) {
            self.comparison_failed |= !print_differences(report, created, stderr);
        }
        for text in notes {
            self.notes.add(text, &source, line);
        }
        Ok(())
    }

    /// Counts the documents or pods of `source`.
    fn count(&mut self, arguments: &Arguments, source: &str, counts: Summary) {
        self.summary += counts;
        if !arguments.summary {
            return;
        }
        match self.by_file.last_mut() {
            Some((file, summary)) if file == source => *summary += counts,
            _ => self.by_file.push((source.to_owned(), counts)),
        }
    }

    /// Prints and counts a warning about a document. One that is information is only printed.
    fn add_warning(&mut self, arguments: &Arguments, warning: DocumentWarning, stderr: &mut impl Write) {
        if warning.severity == Severity::Info {
            return print_note(stderr, format_args!("{warning}"));
        }
        print_warning(stderr, format_args!("{warning}"));
        let counts = Summary { manifest_warnings: 1, ..Summary::default() };
        if warning.line.is_some() {
            self.count(arguments, &warning.source, counts);
        } else {
            self.summary += counts;
        }
        self.causes.add_warning(&arguments.conditions, &warning);
        self.warnings.push(warning);
    }

    /// Fails if pods were found, but none with the requested role.
    fn require_role(&self, role: Option<&str>) -> anyhow::Result<()> {
        let Some(role) = role.filter(|role| !self.roles.is_empty() && !self.roles.contains(*role)) else {
            return Ok(());
        };
        if let Some(near) = self.roles.iter().find(|known| known.eq_ignore_ascii_case(role)) {
            bail!("no pod has the role {role}: did you mean {near}?");
        }
        let mut roles: Vec<&str> = self.roles.iter().map(String::as_str).collect();
        roles.sort_by_key(|role| role.to_lowercase());
        bail!("no pod has the role {role}: use {}", roles.join(" or "))
    }

    /// Completes the output.
    fn finish(&self, arguments: &Arguments, printer: Option<Printer<'_>>) -> anyhow::Result<()> {
        if let Some(mut printer) = printer {
            let (errors, warnings) = (self.errors.as_slice(), self.warnings.as_slice());
            let closing =
                Closing { errors, warnings, assumed: Some(&self.assumed.labels), summary: Some(&self.summary) };
            return Ok(printer.sink().finish(&closing)?);
        }
        let mut out = colored_stdout(arguments.color.into());
        let layout = stdout_layout();
        let files = if self.by_file.len() > 1 { self.by_file.as_slice() } else { &[] };
        for (file, summary) in files {
            writeln!(out, "{}", layout.wrap(&format!("{}: {summary}", Printable(file)), 0, SUMMARY_INDENT))?;
        }
        writeln!(out, "{}", layout.wrap(&self.summary.to_string(), 0, SUMMARY_INDENT))?;
        Ok(out.flush()?)
    }

    /// Prints the notes.
    fn print_notes(&self, stderr: &mut impl Write) {
        self.notes.print(stderr);
        if let Some(note) = placeholder_note(&self.errors) {
            print_note(stderr, format_args!("{note}"));
        }
        if self.summary.pods == 0 && self.summary.unsupported == 0 && self.errors.is_empty() {
            print_note(stderr, format_args!("no document in the input creates pods"));
        }
    }
}

/// Prints the differences between `report` and the pod that the cluster would create; returns false if the dry run failed.
fn print_differences(report: &PodReport, created: &anyhow::Result<Value>, stderr: &mut impl Write) -> bool {
    let PodReport { source, line, kind, namespace, name, role, .. } = report;
    let subject = format!("{source}:{}: {kind} {namespace}/{name} {role}", line.unwrap_or_default());
    let text = |value: Option<String>| value.map_or_else(|| "absent".to_owned(), |value| format!("{value:?}"));
    match created {
        Ok(created) => {
            for FieldDifference { field, shown, live } in find_differences(report, created) {
                let (shown, live) = (text(shown), text(live));
                let what = format_args!("{subject}: {field} is {shown} in the preview, {live} in the cluster");
                print_difference(stderr, what);
            }
            true
        }
        Err(error) => {
            print_error(stderr, format_args!("{subject}: {error:#}"));
            false
        }
    }
}
