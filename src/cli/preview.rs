//! `trainmesh preview`: what a manifest's pods would get, and why, offline.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use clap::ValueEnum;

use super::output::Format;
use super::progress::Progress;
use super::{Status, complain, config, note};
use crate::manifest::{Document, DocumentError, Inputs};
use crate::preview::{Preview, Previewed, SURROUNDING_KINDS, Surroundings};

/// How many documents are read while one is shown. One keeps both busy, and documents may be large.
const READ_AHEAD: usize = 2;

/// Show the patch that the pods of a manifest would get, and why.
///
/// Reads Pods, training jobs and every other kind that makes pods, works out the pods as their operator would create
/// them (one for each role), and runs the webhook's own rules over them. Needs no cluster.
///
/// Namespace documents in the input give the labels of their namespace. A namespace of which nothing is known is taken
/// as opted in and injected (trainmesh.dev/inject=enabled,istio-injection=enabled).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A diff for each role, with the rules' reasons
  trainmesh preview -f pytorchjob.yaml

  # As a table of rules
  trainmesh preview -f pytorchjob.yaml -o explain

  # The patched pods, from a pipe
  kubectl create job x --image=i --dry-run=client -o yaml | trainmesh preview -f - -o yaml

  # In a namespace that another revision of Istio injects
  trainmesh preview -f jobs/ -R --namespace-labels trainmesh.dev/inject=enabled,istio.io/rev=canary

Exit codes: 0; with --exit-code 1 when some pod would be changed; 2 for an error.")]
pub(super) struct Arguments {
    /// A manifest, a folder of manifests, or `-` for standard input; may be given several times
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Read sub-folders too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// The namespace of documents that name none
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// A configuration instead of the embedded one, or the manifest of its config map
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CONFIG")]
    config: Option<PathBuf>,
    /// The labels of every namespace, completely; empty for none
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = labels)]
    namespace_labels: Option<BTreeMap<String, String>>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Diff)]
    output: Format,
    /// End with exit code 1 when some pod would be changed
    #[arg(long)]
    exit_code: bool,
    /// Colour the output
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// Name the documents that make no pods
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also into a file or pipe
    Always,
    /// Not at all
    Never,
}

/// What the whole run came to.
#[derive(Debug, Default)]
struct Tally {
    pods: usize,
    changed: bool,
    errors: Vec<DocumentError>,
    /// Notes that have been said: one is enough for a thousand jobs.
    said: BTreeSet<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Some(configuration) = config::load_or_default(arguments.config.as_deref())? else { return Ok(Status::Failed) };
    let inputs = Inputs::open(&arguments.filename, arguments.recursive, io::stdin())?;
    let surroundings = survey(&inputs, arguments);
    let preview = Preview::new(configuration, surroundings, arguments.namespace.clone());
    let (sender, documents) = mpsc::sync_channel(READ_AHEAD);
    let tally = thread::scope(|scope| {
        let shown = scope.spawn(|| show(arguments, documents, &preview));
        for document in inputs.documents() {
            if sender.send(document).is_err() {
                // Showing has ended early, with an error that it returns.
                break;
            }
        }
        drop(sender);
        shown.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(match (tally.errors.is_empty(), tally.changed && arguments.exit_code) {
        (false, _) => Status::Failed,
        (true, true) => Status::Changed,
        (true, false) => Status::Done,
    })
}

/// The first pass: what the input says of namespaces and runtimes, wherever it stands. Errors are left to the second.
fn survey(inputs: &Inputs, arguments: &Arguments) -> Surroundings {
    let mut surroundings = Surroundings::new(arguments.namespace_labels.clone());
    let words = SURROUNDING_KINDS.map(str::as_bytes);
    for document in inputs.documents_mentioning(&words).flatten() {
        surroundings.note(&document, &arguments.namespace);
    }
    surroundings
}

/// The second pass: every document, in the order of the input.
fn show(
    arguments: &Arguments,
    documents: mpsc::Receiver<Result<Document, DocumentError>>,
    preview: &Preview,
) -> anyhow::Result<Tally> {
    let color = arguments.color.into();
    let stderr = &mut super::stderr(color);
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
            Ok((_, Previewed::Pods { reports, notes })) => {
                for report in &reports {
                    progress.tick();
                    sink.report(report)?;
                    tally.pods += 1;
                    tally.changed |= report.changed;
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

/// An error that the manifest's kind found, with the document's place.
fn failed(document: &Document, error: &crate::workload::RenderError) -> DocumentError {
    let kind = document.value.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
    DocumentError {
        source: document.source.clone(),
        document: document.document,
        line: Some(document.line),
        message: format!("{kind}: {error}"),
    }
}

fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| match entry.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(format!("{entry:?} is no KEY=VALUE")),
        })
        .collect()
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}
