//! `trainmesh sweep`: lists stuck pods and terminates their sidecars.

use std::io::Write as _;

use anstream::ColorChoice;
use anyhow::bail;
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;

use super::age::format_age;
use super::installation::InstallationArguments;
use super::live::{AbsenceNote, configuration_or_assumed, describe_error, no_pods, runtime};
use super::progress::Progress;
use super::table::format_fitted_table;
use super::terminal::stdout_layout;
use super::{Status, buffered_stdout, print_note, stderr};
use crate::cluster::{client, failure};
use crate::controller::sweep::{StuckPod, SweepOutcome, SweepResult, Sweeper};
use trainmesh_core::names::join_names;

/// Reason why an opted-out pod is left unchanged.
const OPTED_OUT: &str = "skipped: the pod is labeled trainmesh.dev/inject=disabled";
/// Maximum number of pods whose sidecars are terminated concurrently.
const CONCURRENCY: usize = 16;

/// List pods whose proxy keeps running after the main containers have completed, and terminate the proxy
///
/// A pod is stuck if its main containers have completed for good while its proxy or another sidecar still runs, also if
/// no method can terminate the sidecar; the reason names what to configure. Uses your own permissions and needs no
/// controller: `list` and `get` on pods, and with --apply `get` and `create` on pods/exec and pods/portforward.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # List stuck pods in the current namespace
  trainmesh sweep

  # List stuck pods in all namespaces
  trainmesh sweep -A

  # Terminate the sidecars of stuck pods
  trainmesh sweep -n team-a --apply

Pods labeled trainmesh.dev/inject=disabled, and sidecars that no method can
terminate, are listed but never changed.

Exit codes:
  0  success, also if --apply leaves such pods or sidecars unchanged
  2  an error, or --apply could not terminate a sidecar")]
pub(super) struct Arguments {
    /// Namespace to search [default: the namespace of the context]
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Search all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Terminate the sidecars of stuck pods
    #[arg(long)]
    apply: bool,
    /// Name of the kubeconfig context to use
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    #[command(flatten)]
    installation: InstallationArguments,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    runtime()?.block_on(describe_error(arguments.context.as_deref(), sweep(arguments)))
}

async fn sweep(arguments: &Arguments) -> anyhow::Result<Status> {
    let Arguments { namespace, all_namespaces, apply, context, installation } = arguments;
    let client = client::connect(None, context.as_deref()).await?;
    let namespace = match namespace {
        _ if *all_namespaces => None,
        Some(namespace) => Some(namespace.clone()),
        None => Some(client.default_namespace().to_owned()),
    };
    let (configuration, is_assumed) =
        configuration_or_assumed(&client, context.as_deref(), installation, AbsenceNote::Always).await?;
    if *apply && is_assumed {
        // Other settings may select other containers and methods.
        bail!("--apply needs the cluster's settings: try again later, or list the pods without --apply");
    }
    let complete = if is_assumed { Status::Failed } else { Status::Success };
    let sweeper = Sweeper::new(client.clone(), configuration.termination);
    let stuck: Vec<StuckPod> = sweeper.stuck_pods(namespace.as_deref()).try_collect().await?;
    if stuck.is_empty() {
        let stderr = &mut stderr(ColorChoice::Auto);
        // A mistyped namespace looks like one that is done.
        if !sweeper.has_pods(namespace.as_deref()).await? {
            print_note(stderr, format_args!("{}", no_pods(namespace.as_deref())));
            return Ok(complete);
        }
        let scope = namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
        print_note(stderr, format_args!("no stuck pods found in {scope}"));
        return Ok(complete);
    }
    let results = if *apply { Some(terminate(&sweeper, context.as_deref(), &stuck).await) } else { None };
    show(&stuck, results.as_deref())?;
    let failed = results
        .into_iter()
        .flatten()
        .any(|outcome| matches!(outcome, Some(SweepOutcome { result: SweepResult::Failed(_), .. })));
    Ok(if failed { Status::Failed } else { complete })
}

/// Terminates the sidecars of all pods. The results are in the order of the pods, `None` for a pod that is opted out.
async fn terminate(sweeper: &Sweeper, context: Option<&str>, stuck: &[StuckPod]) -> Vec<Option<SweepOutcome>> {
    let mut progress = Progress::with_total(stuck.len());
    let results = stream::iter(stuck).map(|pod| async move {
        if pod.opted_out {
            return None;
        }
        Some(match sweeper.terminate(pod).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let result = SweepResult::Failed(failure::describe(&error, context).await);
                SweepOutcome { terminated: Vec::new(), result }
            }
        })
    });
    results.buffered(CONCURRENCY).inspect(|_| progress.tick()).collect().await
}

/// Prints one row for each pod: the reason why it is stuck, or the result.
fn show(stuck: &[StuckPod], results: Option<&[Option<SweepOutcome>]>) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let last = if results.is_some() { "RESULT" } else { "REASON" };
    let rows = stuck.iter().enumerate().map(|(index, pod)| {
        let since = pod.since.map_or_else(|| "<unknown>".to_owned(), |since| format_age(now.duration_since(since)));
        let reason = match results {
            Some(results) => describe(results.get(index).and_then(Option::as_ref)),
            None if pod.opted_out => format!("{}; {OPTED_OUT}", pod.reason),
            None => pod.reason.clone(),
        };
        vec![pod.namespace.to_string(), pod.name.to_string(), since, reason]
    });
    let header = ["NAMESPACE", "NAME", "SINCE", last];
    let text = format_fitted_table(&header, &rows.collect::<Vec<_>>(), &[last], stdout_layout());
    let mut stdout = buffered_stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

fn describe(outcome: Option<&SweepOutcome>) -> String {
    let Some(SweepOutcome { terminated, result }) = outcome else { return OPTED_OUT.to_owned() };
    let rest = match result {
        SweepResult::Terminated => return "terminated".to_owned(),
        SweepResult::NotNeeded(reason) => format!("not needed: {reason}"),
        SweepResult::Blocked(reason) => format!("not possible: {reason}"),
        SweepResult::Failed(reason) => format!("failed: {reason}"),
    };
    // An action that was taken is never left out.
    if terminated.is_empty() { rest } else { format!("{} terminated; {rest}", join_names(terminated)) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// An action that was taken is reported, whatever its result.
    #[rstest]
    #[case::all(&["istio-proxy"], SweepResult::Terminated, "terminated")]
    #[case::blocked(&[], SweepResult::Blocked("vault".to_owned()), "not possible: vault")]
    #[case::partly_blocked(&["istio-proxy"], SweepResult::Blocked("vault".to_owned()), "istio-proxy terminated; not possible: vault")]
    #[case::partly_failed(&["a", "b"], SweepResult::Failed("c".to_owned()), "a, b terminated; failed: c")]
    fn results(#[case] terminated: &[&str], #[case] result: SweepResult, #[case] expected: &str) {
        let terminated = terminated.iter().map(|name| (*name).into()).collect();
        assert_eq!(describe(Some(&SweepOutcome { terminated, result })), expected);
    }
}
