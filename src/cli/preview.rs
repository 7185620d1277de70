//! `trainmesh preview`: what a manifest's pods would get, and why, offline.

mod show;

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;

use clap::ValueEnum;

use super::input::Input;
use super::installation::InstallationArguments;
use super::live::Live;
use super::output::Format;
use super::{Status, config};
use crate::manifest::Inputs;
use show::show;
use trainmesh_core::preview::{ManifestContext, Preview, namespace_of};

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

  # Does the cluster do what is shown?
  trainmesh preview -f pytorchjob.yaml --cluster

  # With the fabric that a namespace is to get
  trainmesh preview -f pytorchjob.yaml --fabric ib-shared

  # In a namespace that another revision of Istio injects
  trainmesh preview -f jobs/ -R --namespace-labels trainmesh.dev/inject=enabled,istio.io/rev=canary

Exit codes: 0; with --exit-code 1 when some pod would be changed; 2 for an error.")]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Read labels and configuration from the cluster, and compare with what it would make of each pod (a dry run)
    #[arg(long, conflicts_with_all = ["namespace_labels", "config"])]
    cluster: bool,
    /// The context of the kubeconfig to use instead of the current one
    #[arg(long, value_name = "CONTEXT", requires = "cluster")]
    context: Option<String>,
    #[command(flatten)]
    installation: InstallationArguments,
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
    let live =
        arguments.cluster.then(|| Live::connect(arguments.context.as_deref(), &arguments.installation)).transpose()?;
    let configuration = match &live {
        Some(live) => Some(live.configuration()?),
        None => config::load_or_default(arguments.input.config.as_deref())?,
    };
    let Some(configuration) = configuration else { return Ok(Status::Failed) };
    let namespace = arguments.input.namespace();
    let inputs = arguments.input.open()?;
    let mut context = arguments.input.survey(&inputs);
    if let Some(live) = &live {
        ask(live, &inputs, namespace, &mut context)?;
    }
    let facts = live.as_ref().map(|live| live.facts(&configuration)).unwrap_or_default();
    let installation =
        live.as_ref().map_or_else(|| arguments.installation.offline(), |live| live.installation().clone());
    let preview =
        Preview::new(configuration, context, namespace.to_owned()).in_cluster(facts).with_installation(installation);
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

/// What the cluster says of the namespaces of the input.
fn ask(live: &Live, inputs: &Inputs, namespace: &str, context: &mut ManifestContext) -> anyhow::Result<()> {
    let documents = inputs.documents().flatten();
    let namespaces: BTreeSet<String> =
        documents.map(|document| namespace_of(&document, namespace).to_owned()).collect();
    for namespace in namespaces {
        if let Some(labels) = live.labels(&namespace)? {
            context.set(namespace, labels);
        }
    }
    Ok(())
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
