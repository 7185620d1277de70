//! The second pass over the input: previews and prints every document, and compares it with the cluster on request.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::mpsc;

use super::super::input::document_error;
use super::super::live::LiveCluster;
use super::super::progress::Progress;
use super::super::{print_difference, print_error, print_note, stderr};
use super::Arguments;
use trainmesh_core::manifest::{Document, DocumentError};
use trainmesh_core::preview::{DocumentPreview, Drift, PodReport, Preview};

/// Result of a run.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) pods: usize,
    pub(super) changed: bool,
    pub(super) errors: Vec<DocumentError>,
    /// Set if the dry run of some pod failed.
    pub(super) comparison_failed: bool,
    /// Notes that have been printed: each is printed once.
    printed_notes: BTreeSet<String>,
}

/// Prints every document in the order of the input.
pub(super) fn show(
    arguments: &Arguments,
    documents: mpsc::Receiver<Result<Document, DocumentError>>,
    preview: &Preview,
    live: Option<&LiveCluster>,
) -> anyhow::Result<Summary> {
    let color = arguments.color.into();
    let stderr = &mut stderr(color);
    let mut sink = arguments.output.sink(color, preview);
    let mut summary = Summary::default();
    let mut progress = Progress::new();
    for document in documents {
        let previewed = document.and_then(|document| {
            let previewed = preview.document(&document);
            previewed.map_err(|error| document_error(&document, &error)).map(|previewed| (document, previewed))
        });
        match previewed {
            Err(error) => {
                print_error(stderr, format_args!("{error}"));
                summary.errors.push(error);
            }
            Ok((document, DocumentPreview::Skipped(kind))) => {
                if arguments.verbose {
                    let Document { source, document, .. } = &document;
                    print_note(stderr, format_args!("{source}: document {}: {kind} creates no pods", document + 1));
                }
            }
            Ok((document, DocumentPreview::Unsupported(what))) => {
                let Document { source, document, .. } = &document;
                print_note(stderr, format_args!("{source}: document {}: {what}", document + 1));
            }
            Ok((_, DocumentPreview::Pods { reports, notes })) => {
                for report in &reports {
                    progress.tick();
                    sink.report(report)?;
                    summary.pods += 1;
                    summary.changed |= report.changed;
                    summary.comparison_failed |= live.is_some_and(|live| !compare(live, report, stderr));
                }
                for text in notes {
                    if !summary.printed_notes.contains(&text) {
                        print_note(stderr, format_args!("{text}"));
                        summary.printed_notes.insert(text);
                    }
                }
            }
        }
    }
    sink.finish(&summary.errors)?;
    if summary.pods == 0 && summary.errors.is_empty() {
        print_note(stderr, format_args!("no document in the input creates pods"));
    }
    Ok(summary)
}

/// Prints the differences between `report` and the cluster; returns false if the dry run failed.
fn compare(live: &LiveCluster, report: &PodReport, stderr: &mut impl Write) -> bool {
    let PodReport { kind, namespace, name, role, .. } = report;
    let text = |value: Option<String>| value.map_or_else(|| "absent".to_owned(), |value| format!("{value:?}"));
    match live.compare(report) {
        Ok(differences) => {
            for Drift { field, shown, live } in differences {
                let (shown, live) = (text(shown), text(live));
                let what = format_args!(
                    "{kind} {namespace}/{name} {role}: {field} is {shown} in the preview, {live} in the cluster"
                );
                print_difference(stderr, what);
            }
            true
        }
        Err(error) => {
            print_error(stderr, format_args!("{kind} {namespace}/{name} {role}: {error:#}"));
            false
        }
    }
}
