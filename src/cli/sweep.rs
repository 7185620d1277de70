//! `trainmesh sweep`: for the person on call, who asks why a job hangs.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::ColorChoice;
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;

use super::age::age;
use super::installation::InstallationArguments;
use super::live::runtime;
use super::table::table;
use super::{Status, note, plain, stderr};
use crate::cluster::{client, live};
use crate::controller::sweep::{Hanging, Sweeper, Swept};
use trainmesh_core::config::Configuration;
use trainmesh_core::error::chain;
use trainmesh_core::scope::Installation;

/// Why a pod is left alone.
const OPTED_OUT: &str = "left alone: the pod is labelled trainmesh.dev/inject=disabled";
/// Pods that are ended at once.
const AT_ONCE: usize = 16;

/// List the pods that hang on their proxy, and end them
///
/// A pod hangs when its payload has ended for good, and a proxy or a helper still runs. Works with your own rights, and
/// needs no controller: `list` and `get` on pods, and with --apply `get` and `create` on pods/exec and pods/portforward.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # Which pods of my namespace hang, and since when?
  trainmesh sweep

  # In the whole cluster
  trainmesh sweep -A

  # End them: each is read anew before, and seen terminated after
  trainmesh sweep -n team-a --apply

Pods labelled trainmesh.dev/inject=disabled are listed, and never ended.

Exit codes: 0; 2 for an error, or when some pod could not be ended.")]
pub(super) struct Arguments {
    /// The namespace to look into [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Look into all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// End what hangs
    #[arg(long)]
    apply: bool,
    /// The context of the kubeconfig to use instead of the current one
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    #[command(flatten)]
    installation: InstallationArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    runtime()?.block_on(sweep(arguments))
}

async fn sweep(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { namespace, all_namespaces, apply, context, installation } = arguments;
    let client = client::connect(None, context.as_deref()).await?;
    let namespace = match namespace {
        _ if *all_namespaces => None,
        Some(namespace) => Some(namespace.clone()),
        None => Some(client.default_namespace().to_owned()),
    };
    let installation = installation.discover(&client).await;
    let sweeper = Sweeper::new(client.clone(), configuration(&client, &installation).await.termination);
    let hanging: Vec<Hanging> = sweeper.hanging(namespace.as_deref()).try_collect().await?;
    if hanging.is_empty() {
        let place = namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
        note(&mut stderr(ColorChoice::Auto), format_args!("no pod hangs on its proxy in {place}"));
        return Ok(Status::Done);
    }
    let results = if *apply { Some(end(&sweeper, &hanging).await) } else { None };
    show(&hanging, results.as_deref())?;
    let failed = results.into_iter().flatten().any(|result| matches!(result, Some(Swept::Failed(_))));
    Ok(if failed { Status::Failed } else { Status::Done })
}

/// The configuration in force. Whoever may not read it still knows the names that everybody uses.
async fn configuration(client: &Client, installation: &Installation) -> Configuration {
    let why = match live::configuration(client, installation.namespace()).await {
        Ok(None) => return Configuration::embedded(),
        Ok(Some(text)) => match Configuration::parse(&text) {
            Ok(configuration) => return configuration,
            Err(_) => "the cluster's configuration is refused".to_owned(),
        },
        Err(error) => chain(&error),
    };
    note(&mut stderr(ColorChoice::Auto), format_args!("{why}: the embedded configuration is used"));
    Configuration::embedded()
}

/// Ends what may be ended; the results stand in the order of the pods, `None` for those that are left alone.
async fn end(sweeper: &Sweeper, hanging: &[Hanging]) -> Vec<Option<Swept>> {
    let mut progress = Progress { done: 0, all: hanging.len(), shown: io::stderr().is_terminal() };
    let ended =
        stream::iter(hanging).map(|pod| async move { if pod.opted_out { None } else { Some(sweeper.end(pod).await) } });
    ended.buffered(AT_ONCE).inspect(|_| progress.tick()).collect().await
}

/// One row for each pod: why it hangs, or what came of ending it.
fn show(hanging: &[Hanging], results: Option<&[Option<Swept>]>) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let header = ["NAMESPACE", "NAME", "SINCE", if results.is_some() { "RESULT" } else { "WHY" }];
    let rows = hanging.iter().enumerate().map(|(index, pod)| {
        let since = pod.since.map_or_else(|| "<unknown>".to_owned(), |since| age(now.duration_since(since)));
        let last = match results {
            Some(results) => result(results.get(index).and_then(Option::as_ref)),
            None if pod.opted_out => format!("{}; {OPTED_OUT}", pod.why),
            None => pod.why.clone(),
        };
        vec![pod.namespace.to_string(), pod.name.to_string(), since, last]
    });
    let text = table(&header, &rows.collect::<Vec<_>>());
    let mut stdout = plain();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

fn result(swept: Option<&Swept>) -> String {
    match swept {
        None => OPTED_OUT.to_owned(),
        Some(Swept::Ended) => "ended".to_owned(),
        Some(Swept::Changed(why)) => format!("nothing to do: {why}"),
        Some(Swept::Failed(why)) => format!("not ended: {why}"),
    }
}

/// A counter on a terminal.
struct Progress {
    done: usize,
    all: usize,
    shown: bool,
}

impl Progress {
    fn tick(&mut self) {
        self.done += 1;
        if self.shown {
            // A counter that cannot be shown is no reason to stop.
            let _ = write!(io::stderr(), "\r{} of {} pods …", self.done, self.all);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // As above.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
