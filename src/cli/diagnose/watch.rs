//! `--watch`: diagnoses a cluster at an interval, and prints what changes.

use std::convert::Infallible;
use std::io::Write as _;
use std::time::Duration;

use anstream::ColorChoice;
use anyhow::Context as _;
use tokio::time::sleep;

use super::live::{LiveReport, Subject};
use super::{Arguments, Format, print, require_workload, status, text};
use crate::cli::live::{describe_error, runtime};
use crate::cli::signals::Signals;
use crate::cli::terminal::stdout_layout;
use crate::cli::{Status, buffered_stdout, colored_stdout, print_note, stderr};
use trainmesh_core::diagnosis::{DiagnosisReport, Target};
use trainmesh_core::duration;

/// The state of a watch: what was printed last.
struct Watch<'a> {
    arguments: &'a Arguments,
    target: Option<&'a Target>,
    interval: Duration,
    report: Option<DiagnosisReport>,
    /// True if the last result is incomplete, as a note reports.
    is_incomplete: bool,
    notes: Vec<String>,
    failure: Option<String>,
}

/// Diagnoses the cluster until a signal. Returns the status of the last result.
pub(super) fn watch_cluster(
    arguments: &Arguments,
    target: Option<&Target>,
    interval: Duration,
) -> anyhow::Result<Status> {
    runtime()?.block_on(async {
        let mut signals = Signals::new().context("could not listen for signals")?;
        let (report, notes, failure) = (None, Vec::new(), None);
        let mut watch = Watch { arguments, target, interval, report, is_incomplete: false, notes, failure };
        tokio::select! {
            biased;
            () = signals.next() => {}
            ended = Box::pin(watch.run()) => match ended? {},
        }
        // Without a complete result, it is not known if there are findings.
        let report = watch.report.filter(|_| !watch.is_incomplete);
        Ok(report.map_or(Status::Failed, |report| status(&report, &[])))
    })
}

impl Watch<'_> {
    /// Returns only an error: of the first diagnosis, or of the output. Later diagnoses that fail are reported in a note.
    async fn run(&mut self) -> anyhow::Result<Infallible> {
        let context = self.arguments.scope.context.as_deref();
        let subject = describe_error(context, Subject::connect(self.arguments, self.target.cloned())).await?;
        loop {
            match describe_error(context, subject.diagnose()).await {
                // Findings about objects that could not be read are not resolved.
                Ok(LiveReport { failures, .. }) if !failures.is_empty() && self.report.is_some() => {
                    self.print_failure(failures.join("; "));
                }
                Ok(LiveReport { report, notes, failures, lacks_logs }) => {
                    self.failure = None;
                    self.is_incomplete = lacks_logs || !failures.is_empty() || subject.has_assumed_settings();
                    self.print_notes([notes, failures].concat());
                    self.print(report)?;
                }
                Err(error) if self.report.is_none() => return Err(error),
                Err(error) => self.print_failure(error.to_string()),
            }
            sleep(self.interval).await;
        }
    }

    /// Prints the first report completely, and then only changes.
    fn print(&mut self, report: DiagnosisReport) -> anyhow::Result<()> {
        let output = self.arguments.output;
        match &self.report {
            None => {
                require_workload(&report, self.target, true)?;
                print(output, &report, &[])?;
            }
            Some(previous) => {
                let changes = report.changes_since(previous);
                match output {
                    _ if changes.is_empty() => {}
                    Format::Table => {
                        let out = &mut colored_stdout(ColorChoice::Auto);
                        writeln!(out)?;
                        text::print_changes(out, &report, &changes, stdout_layout())?;
                    }
                    Format::Json => print(output, &report, &[])?,
                    Format::Yaml => {
                        writeln!(buffered_stdout(), "---")?;
                        print(output, &report, &[])?;
                    }
                }
            }
        }
        self.report = Some(report);
        Ok(())
    }

    /// Prints the notes that the previous diagnosis did not have.
    fn print_notes(&mut self, notes: Vec<String>) {
        for note in notes.iter().filter(|note| !self.notes.contains(note)) {
            print_note(&mut stderr(ColorChoice::Auto), format_args!("{note}"));
        }
        self.notes = notes;
    }

    /// Prints a failure once until it changes.
    fn print_failure(&mut self, reason: String) {
        if self.failure.as_ref() != Some(&reason) {
            let interval = duration::format(self.interval);
            print_note(&mut stderr(ColorChoice::Auto), format_args!("{reason}; trying again every {interval}"));
        }
        self.failure = Some(reason);
    }
}
