//! Diagnoses a live cluster.

use anstream::ColorChoice;
use jiff::Timestamp;
use kube::Client;

use super::Arguments;
use super::scope::ScopeArguments;
use crate::cli::live::{AbsenceNote, configuration_or_assumed, describe_error, no_pods, runtime};
use crate::cli::status_message::with_status;
use crate::cli::{print_note, stderr};
use crate::cluster::diagnosis::{ReadLogs, ReadSnapshot, poll_ras, read_logs, read_snapshot, read_workloads};
use crate::cluster::failure::describe;
use crate::cluster::{client, clock};
use trainmesh_core::config::Termination;
use trainmesh_core::diagnosis::{
    ClusterSnapshot, DiagnosisReport, Inventory, Selection, Target, diagnose, inventory, log_targets, ras_targets,
};

/// The workloads of a cluster to diagnose, and how.
pub(super) struct Subject<'a> {
    arguments: &'a Arguments,
    connection: Connection,
    selection: Selection,
}

/// A report, and notes about what it lacks.
pub(super) struct LiveReport {
    pub(super) report: DiagnosisReport,
    pub(super) notes: Vec<String>,
    /// Notes about requests that failed, so that findings may be missing.
    pub(super) failures: Vec<String>,
    /// True if logs were requested, and none could be read, which a note reports.
    pub(super) lacks_logs: bool,
}

/// A cluster, a namespace, and the settings that determine which containers are sidecars.
struct Connection {
    client: Client,
    /// Namespace; `None` for all.
    namespace: Option<String>,
    settings: Termination,
    /// True if the settings could not be read for a while, so that the usual ones count.
    is_assumed: bool,
}

/// Objects of a cluster at a time of the apiserver.
struct Reading {
    snapshot: ClusterSnapshot,
    now: Timestamp,
    notes: Vec<String>,
    failures: Vec<String>,
}

/// Reads the objects of the selected namespace, or of all, and diagnoses them at the apiserver's time.
/// The second value is true if the report is incomplete: a request failed, or logs were requested, and none could be read.
pub(super) fn diagnose_cluster(
    arguments: &Arguments,
    target: Option<Target>,
) -> anyhow::Result<(DiagnosisReport, bool)> {
    runtime()?.block_on(describe_error(arguments.scope.context.as_deref(), async {
        let subject = Subject::connect(arguments, target).await?;
        let LiveReport { report, notes, failures, lacks_logs } = subject.diagnose().await?;
        print_notes(&notes);
        print_notes(&failures);
        let is_incomplete = lacks_logs || !failures.is_empty() || subject.has_assumed_settings();
        Ok((report, is_incomplete))
    }))
}

/// Lists the workloads that use accelerators. The second value is true if a request failed.
pub(in crate::cli) fn list_cluster(scope: &ScopeArguments) -> anyhow::Result<(Inventory, bool)> {
    runtime()?.block_on(describe_error(scope.context.as_deref(), async {
        let connection = Connection::open(scope).await?;
        let client = &connection.client;
        let now = clock::now(client).await?;
        let reading = read_workloads(client, connection.namespace.as_deref(), connection.settings.clone());
        let read = with_status("reading the cluster", Box::pin(reading)).await?;
        let Reading { snapshot, now, notes, failures } = connection.reading(read, now);
        print_notes(&notes);
        print_notes(&failures);
        let is_incomplete = !failures.is_empty() || connection.is_assumed;
        let selection = Selection { target: None, namespace: connection.namespace };
        Ok((inventory(&snapshot, &selection, now), is_incomplete))
    }))
}

impl<'a> Subject<'a> {
    pub(super) async fn connect(arguments: &'a Arguments, target: Option<Target>) -> anyhow::Result<Self> {
        let connection = Connection::open(&arguments.scope).await?;
        let selection = Selection { target, namespace: connection.namespace.clone() };
        Ok(Self { arguments, connection, selection })
    }

    /// Returns true if the settings of the installation could not be read, so that the usual ones count.
    pub(super) fn has_assumed_settings(&self) -> bool {
        self.connection.is_assumed
    }

    pub(super) async fn diagnose(&self) -> anyhow::Result<LiveReport> {
        let Self { arguments, connection, selection } = self;
        let Reading { mut snapshot, now, mut notes, failures } = connection.read().await?;
        let cluster = (&connection.client, arguments.scope.context.as_deref());
        let mut lacks_logs = false;
        if arguments.logs {
            lacks_logs = !add_logs(cluster, &mut snapshot, selection, &mut notes).await?;
        }
        if arguments.ras {
            add_ras(cluster, &mut snapshot, selection, now, &mut notes).await;
        }
        Ok(LiveReport { report: diagnose(&snapshot, selection, now), notes, failures, lacks_logs })
    }
}

impl Connection {
    async fn open(scope: &ScopeArguments) -> anyhow::Result<Self> {
        let ScopeArguments { namespace, all_namespaces, context, installation } = scope;
        let client = client::connect(None, context.as_deref()).await?;
        let default = || client.default_namespace().to_owned();
        let namespace = (!all_namespaces).then(|| namespace.clone().unwrap_or_else(default));
        let (configuration, is_assumed) =
            configuration_or_assumed(&client, context.as_deref(), installation, AbsenceNote::NamespaceGiven).await?;
        Ok(Self { client, namespace, settings: configuration.termination, is_assumed })
    }

    async fn read(&self) -> anyhow::Result<Reading> {
        let Self { client, namespace, settings, is_assumed: _ } = self;
        // Read first: later objects are newer than it, never older.
        let now = clock::now(client).await?;
        let reading = read_snapshot(client, namespace.as_deref(), settings.clone());
        let read = with_status("reading the cluster", Box::pin(reading)).await?;
        Ok(self.reading(read, now))
    }

    /// Returns the objects with notes about what is missing.
    fn reading(&self, read: ReadSnapshot, now: Timestamp) -> Reading {
        let ReadSnapshot { snapshot, forbidden, failed } = read;
        let mut notes = Vec::new();
        if !forbidden.is_empty() {
            notes.push(format!("not checked, because you may not list them: {}", forbidden.join(", ")));
        }
        if !snapshot.has_pods() {
            notes.push(no_pods(self.namespace.as_deref()));
        }
        let failures = failed.into_iter().map(|(cause, resources)| {
            format!("not checked, because the requests failed: {}: {cause}: try again later", resources.join(", "))
        });
        Reading { snapshot, now, notes, failures: failures.collect() }
    }
}

fn print_notes(notes: &[String]) {
    for note in notes {
        print_note(&mut stderr(ColorChoice::Auto), format_args!("{note}"));
    }
}

/// Reads the logs of the selected workloads, and notes what is missing. Returns false if there are logs, and none could be read.
async fn add_logs(
    (client, context): (&Client, Option<&str>),
    snapshot: &mut ClusterSnapshot,
    selection: &Selection,
    notes: &mut Vec<String>,
) -> anyhow::Result<bool> {
    let containers = log_targets(snapshot, selection);
    let reading = read_logs(client, &containers);
    let ReadLogs { logs, forbidden, omitted, failed, reason } = with_status("reading logs", Box::pin(reading)).await;
    for namespace in forbidden {
        notes.push(format!("no logs of namespace {namespace}: you need get on pods/log there"));
    }
    if omitted > 0 {
        notes.push(format!("{omitted} logs beyond the limit were not read: select one job"));
    }
    if let Some(reason) = reason {
        let reason = describe(&reason, context).await;
        notes.push(format!("{failed} of {} logs could not be read: {reason}", containers.len()));
    }
    let has_logs = !logs.is_empty() || containers.is_empty();
    if !has_logs {
        notes.push("no log was checked: the exit code is 2".to_owned());
    }
    for log in logs {
        snapshot.add_log(log)?;
    }
    Ok(has_logs)
}

/// Polls RAS of the selected jobs, and notes which of them have none.
async fn add_ras(
    (client, context): (&Client, Option<&str>),
    snapshot: &mut ClusterSnapshot,
    selection: &Selection,
    now: Timestamp,
    notes: &mut Vec<String>,
) {
    let targets = ras_targets(snapshot, selection, now);
    if targets.is_empty() {
        notes.push("no RAS: no selected job with several ranks runs".to_owned());
    }
    let results = with_status("polling RAS twice", Box::pin(poll_ras(client, &targets))).await;
    for (target, result) in targets.iter().zip(results) {
        match result {
            Ok(result) => snapshot.add_ras(target.record(result)),
            Err(error) => {
                let reason = describe(&error, context).await;
                notes.push(format!("RAS of {}: {}: {reason}", target.workload, target.pod));
            }
        }
    }
}
