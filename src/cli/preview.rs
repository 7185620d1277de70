//! `trainmesh preview`: what a manifest's pods would get, and why, offline.

mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use clap::ValueEnum;

use super::live::Live;
use super::output::Format;
use super::{Status, config};
use crate::keys;
use crate::manifest::Inputs;
use crate::preview::{Preview, SURROUNDING_KINDS, Surroundings, namespace_of};
use show::show;

/// How many documents are read while one is shown. One keeps both busy, and documents may be large.
const READ_AHEAD: usize = 2;

/// Show the patch that the pods of a manifest would get, and why.
///
/// Reads Pods, training jobs and every other kind that makes pods, works out the pods as their operator would create
/// them (one for each role), and runs the webhook's own rules over them. Needs no cluster.
///
/// Namespace documents in the input give the labels of their namespace. A namespace of which nothing is known is taken
/// as opted in and injected (trainmesh.dev/inject=enabled,istio-injection=enabled).
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A diff for each role, with the rules' reasons
  trainmesh preview -f pytorchjob.yaml

  # As a table of rules
  trainmesh preview -f pytorchjob.yaml -o explain

  # The patched pods, from a pipe
  kubectl create job x --image=i --dry-run=client -o yaml | trainmesh preview -f - -o yaml

  # Does the cluster do what is shown?
  trainmesh preview -f pytorchjob.yaml --cluster

  # With the fabric that a namespace is to get
  trainmesh preview -f pytorchjob.yaml --fabric ib-shared

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
    /// Label every namespace trainmesh.dev/fabric=PROFILE; a pod's own label beats it
    #[arg(long, value_name = "PROFILE")]
    fabric: Option<String>,
    /// Read labels and configuration from the cluster, and compare with what it would make of each pod (a dry run)
    #[arg(long, conflicts_with_all = ["namespace_labels", "config"])]
    cluster: bool,
    /// The context of the kubeconfig to use instead of the current one
    #[arg(long, value_name = "CONTEXT", requires = "cluster")]
    context: Option<String>,
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

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let live = arguments.cluster.then(|| Live::connect(arguments.context.as_deref())).transpose()?;
    let configuration = match &live {
        Some(live) => Some(live.configuration()?),
        None => config::load_or_default(arguments.config.as_deref())?,
    };
    let Some(configuration) = configuration else { return Ok(Status::Failed) };
    let namespace = if arguments.namespace.is_empty() { "default" } else { &arguments.namespace };
    let inputs = Inputs::open(&arguments.filename, arguments.recursive, io::stdin())?;
    let surroundings = survey(&inputs, arguments, namespace, live.as_ref())?;
    let facts = live.as_ref().map(|live| live.facts(&configuration)).unwrap_or_default();
    let preview = Preview::new(configuration, surroundings, namespace.to_owned()).in_cluster(facts);
    let (sender, documents) = mpsc::sync_channel(READ_AHEAD);
    let tally = thread::scope(|scope| {
        let shown = scope.spawn(|| show(arguments, documents, &preview, live.as_ref()));
        for document in inputs.documents() {
            if sender.send(document).is_err() {
                // Showing has ended early, with an error that it returns.
                break;
            }
        }
        drop(sender);
        shown.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(match (tally.errors.is_empty() && !tally.unanswered, tally.changed && arguments.exit_code) {
        (false, _) => Status::Failed,
        (true, true) => Status::Changed,
        (true, false) => Status::Done,
    })
}

/// The first pass: what the input says of namespaces and runtimes, wherever it stands. Errors are left to the second.
fn survey(
    inputs: &Inputs,
    arguments: &Arguments,
    namespace: &str,
    live: Option<&Live>,
) -> anyhow::Result<Surroundings> {
    let mut surroundings = Surroundings::new(arguments.namespace_labels.clone());
    if let Some(fabric) = &arguments.fabric {
        surroundings = surroundings.with_label(keys::FABRIC, fabric);
    }
    let words = SURROUNDING_KINDS.map(str::as_bytes);
    for document in inputs.documents_mentioning(&words).flatten() {
        surroundings.note(&document, namespace);
    }
    if let Some(live) = live {
        let documents = inputs.documents().flatten();
        let namespaces: BTreeSet<String> =
            documents.map(|document| namespace_of(&document, namespace).to_owned()).collect();
        for namespace in namespaces {
            if let Some(labels) = live.labels(&namespace)? {
                surroundings.set(namespace, labels);
            }
        }
    }
    Ok(surroundings)
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
