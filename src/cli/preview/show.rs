//! The second pass over the input: every document is previewed, printed, and held against the cluster if asked for.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::mpsc;

use super::super::input::failed;
use super::super::live::Live;
use super::super::progress::Progress;
use super::super::{complain, differ, note, stderr};
use super::Arguments;
use trainmesh_core::manifest::{Document, DocumentError};
use trainmesh_core::preview::{Drift, PodReport, Preview, Previewed};

/// What the whole run came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) pods: usize,
    pub(super) changed: bool,
    pub(super) errors: Vec<DocumentError>,
    /// Whether the cluster gave no answer for some pod.
    pub(super) unanswered: bool,
    /// Notes that have been said: one is enough for a thousand jobs.
    said: BTreeSet<String>,
}

/// Shows every document, in the order of the input.
pub(super) fn show(
    arguments: &Arguments,
    documents: mpsc::Receiver<Result<Document, DocumentError>>,
    preview: &Preview,
    live: Option<&Live>,
) -> anyhow::Result<Tally> {
    let color = arguments.color.into();
    let stderr = &mut stderr(color);
    let mut sink = arguments.output.sink(color, preview);
    let mut tally = Tally::default();
    let mut progress = Progress::new();
    for document in documents {
        let previewed = document.and_then(|document| {
            let previewed = preview.document(&document);
            previewed.map_err(|error| failed(&document, &error)).map(|previewed| (document, previewed))
        });
        match previewed {
            Err(error) => {
                complain(stderr, format_args!("{error}"));
                tally.errors.push(error);
            }
            Ok((document, Previewed::PassedOver(kind))) => {
                if arguments.verbose {
                    let Document { source, document, .. } = &document;
                    note(stderr, format_args!("{source}: document {}: {kind} makes no pods", document + 1));
                }
            }
            Ok((document, Previewed::Unknown(what))) => {
                let Document { source, document, .. } = &document;
                note(stderr, format_args!("{source}: document {}: {what}", document + 1));
            }
            Ok((_, Previewed::Pods { reports, notes })) => {
                for report in &reports {
                    progress.tick();
                    sink.report(report)?;
                    tally.pods += 1;
                    tally.changed |= report.changed;
                    tally.unanswered |= live.is_some_and(|live| !compare(live, report, stderr));
                }
                for text in notes {
                    if !tally.said.contains(&text) {
                        note(stderr, format_args!("{text}"));
                        tally.said.insert(text);
                    }
                }
            }
        }
    }
    sink.finish(&tally.errors)?;
    if tally.pods == 0 && tally.errors.is_empty() {
        note(stderr, format_args!("no document of the input makes pods"));
    }
    Ok(tally)
}

/// Tells in what the cluster's answer differs from `report`; returns whether it gave one.
fn compare(live: &Live, report: &PodReport, stderr: &mut impl Write) -> bool {
    let PodReport { kind, namespace, name, role, .. } = report;
    let text = |value: Option<String>| value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:?}"));
    match live.compare(report) {
        Ok(differences) => {
            for Drift { field, shown, live } in differences {
                let (shown, live) = (text(shown), text(live));
                let what =
                    format_args!("{kind} {namespace}/{name} {role}: {field} is {shown} here, {live} in the cluster");
                differ(stderr, what);
            }
            true
        }
        Err(error) => {
            complain(stderr, format_args!("{kind} {namespace}/{name} {role}: {error:#}"));
            false
        }
    }
}
