//! Diagnoses a live cluster.

use anstream::ColorChoice;
use jiff::Timestamp;
use kube::Client;

use super::Arguments;
use crate::cli::installation::InstallationArguments;
use crate::cli::live::{configuration_or_embedded, describe_error, runtime};
use crate::cli::status_message::with_status;
use crate::cli::{print_note, stderr};
use crate::cluster::diagnosis::{ReadLogs, ReadSnapshot, poll_ras, read_logs, read_snapshot};
use crate::cluster::{client, clock};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, DiagnosisReport, Inventory, Selection, diagnose, inventory, log_targets, ras_targets,
};

/// Objects of a cluster, and what they were read with.
struct Reading {
    client: Client,
    snapshot: ClusterSnapshot,
    /// Namespace; `None` for all.
    namespace: Option<String>,
    now: Timestamp,
}

/// Reads the objects of the selected namespace, or of all, and diagnoses them at the apiserver's time.
pub(super) fn diagnose_cluster(arguments: &Arguments) -> anyhow::Result<DiagnosisReport> {
    let Arguments { target, namespace, all_namespaces, logs, ras, context, installation, .. } = arguments;
    runtime()?.block_on(describe_error(context.as_deref(), async {
        let reading = read(namespace.as_deref(), *all_namespaces, context.as_deref(), installation).await?;
        let Reading { client, mut snapshot, namespace, now } = reading;
        let selection = Selection { target: target.clone(), namespace };
        if *logs {
            add_logs(&client, &mut snapshot, &selection).await?;
        }
        if *ras {
            add_ras(&client, &mut snapshot, &selection, now).await;
        }
        Ok(diagnose(&snapshot, &selection, now))
    }))
}

/// Lists the workloads that use accelerators in `namespace`, that of the context, or all.
pub(in crate::cli) fn list_cluster(
    namespace: Option<&str>,
    all_namespaces: bool,
    context: Option<&str>,
    installation: &InstallationArguments,
) -> anyhow::Result<Inventory> {
    runtime()?.block_on(describe_error(context, async {
        let reading = read(namespace, all_namespaces, context, installation).await?;
        let Reading { snapshot, namespace, now, .. } = reading;
        Ok(inventory(&snapshot, &Selection { target: None, namespace }, now))
    }))
}

async fn read(
    namespace: Option<&str>,
    all_namespaces: bool,
    context: Option<&str>,
    installation: &InstallationArguments,
) -> anyhow::Result<Reading> {
    let client = client::connect(None, context).await?;
    let namespace = match namespace {
        _ if all_namespaces => None,
        Some(namespace) => Some(namespace.to_owned()),
        None => Some(client.default_namespace().to_owned()),
    };
    let installation = installation.discover(&client).await?;
    let settings = configuration_or_embedded(&client, &installation).await?.termination;
    // Read first: later objects are newer than it, never older.
    let now = clock::now(&client).await?;
    let reading = read_snapshot(&client, namespace.as_deref(), settings);
    let ReadSnapshot { snapshot, forbidden } = with_status("reading the cluster", Box::pin(reading)).await?;
    if !forbidden.is_empty() {
        let resources = forbidden.join(", ");
        print_note(
            &mut stderr(ColorChoice::Auto),
            format_args!("not checked, because you may not list them: {resources}"),
        );
    }
    Ok(Reading { client, snapshot, namespace, now })
}

/// Reads the logs of the selected workloads, and prints what is missing.
async fn add_logs(client: &Client, snapshot: &mut ClusterSnapshot, selection: &Selection) -> anyhow::Result<()> {
    let containers = log_targets(snapshot, selection);
    let reading = read_logs(client, &containers);
    let ReadLogs { logs, forbidden, omitted, failed, reason } = with_status("reading logs", Box::pin(reading)).await;
    let stderr = &mut stderr(ColorChoice::Auto);
    for namespace in forbidden {
        let permission = "get on pods/log";
        print_note(stderr, format_args!("no logs of namespace {namespace}: you need {permission} there"));
    }
    if omitted > 0 {
        print_note(stderr, format_args!("{omitted} logs beyond the limit were not read: select one job"));
    }
    if let Some(reason) = reason {
        print_note(stderr, format_args!("{failed} of {} logs could not be read: {reason}", containers.len()));
    }
    for log in logs {
        snapshot.add_log(log)?;
    }
    Ok(())
}

/// Polls RAS of the selected jobs, and prints which of them have none.
async fn add_ras(client: &Client, snapshot: &mut ClusterSnapshot, selection: &Selection, now: Timestamp) {
    let targets = ras_targets(snapshot, selection, now);
    let stderr = &mut stderr(ColorChoice::Auto);
    if targets.is_empty() {
        print_note(stderr, format_args!("no RAS: no selected job with several ranks runs"));
    }
    let results = with_status("polling RAS twice", Box::pin(poll_ras(client, &targets))).await;
    for (target, result) in targets.iter().zip(results) {
        match result {
            Ok(result) => snapshot.add_ras(target, result),
            Err(reason) => print_note(stderr, format_args!("RAS of {}: {}: {reason}", target.workload, target.pod)),
        }
    }
}
