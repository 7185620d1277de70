//! `trainmesh controller`: creates the controller and runs it until a signal arrives.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::Status;
use super::background::BackgroundTasks;
use super::certificate_arguments::CertificateArguments;
use super::server::{ServerArguments, bind, parse_duration};
use super::signals::Signals;
use crate::cluster::client;
use crate::cluster::events::EventRecorder;
use crate::cluster::fabric::pins::PinStore;
use crate::cluster::lease::{self, Candidate, Timing};
use crate::cluster::namespaces::NamespaceCache;
use crate::controller::{Controller, Dependencies};
use crate::reload::Settings;
use crate::telemetry::{Metrics, Readiness};

/// Fallback if the host name is not available.
const FALLBACK_HOST_NAME: &str = "trainmesh";

/// Run the controller, which terminates sidecars of completed pods and rotates the webhook's certificates
///
/// Several replicas may run: one is active, and another takes over when it stops.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Time that actions in flight have to complete after a termination signal
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = parse_duration, env = "TRAINMESH_GRACE")]
    grace: Duration,
    #[command(flatten)]
    certificates: CertificateArguments,
    #[command(flatten)]
    server: ServerArguments,
}

/// Runs until a signal or until the lease is lost.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    arguments.server.init_logging();
    let runtime = tokio::runtime::Runtime::new().context("could not start the runtime")?;
    let result = runtime.block_on(run_controller(arguments));
    // Nothing waits for work that is still in flight.
    runtime.shutdown_background();
    result.map(|()| Status::Success)
}

async fn run_controller(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { grace, certificates, server } = arguments;
    let namespace = server.installation.namespace();
    let mut signals = Signals::new().context("could not listen for signals")?;
    let metrics = Arc::new(Metrics::default());
    let schedule = certificates.schedule()?;
    let client = client::connect(server.kubeconfig.as_deref(), None).await?;
    let namespaces = Arc::new(NamespaceCache::new(client.clone()));
    let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
    let certificates = certificates.rotation(schedule, client.clone(), namespace, Arc::clone(&metrics));
    let identity = lease::identity(&host_name());
    let shutdown = CancellationToken::new();
    let synced = Arc::clone(&namespaces);
    let dependencies = Dependencies {
        admin: bind(server.admin_listen)?,
        client: client.clone(),
        namespaces: Arc::clone(&namespaces),
        settings: Arc::clone(&settings),
        metrics,
        readiness: Readiness::default().with("namespaces not synced", move || synced.is_synced()),
        events: EventRecorder::new(client.clone(), identity.clone()),
        certificates,
        pins: PinStore::new(client.clone(), namespace),
        candidate: Candidate::new(client.clone(), namespace, identity, Timing::default()),
        installation: server.installation.clone(),
        config_map_namespace: server.config.is_none().then(|| namespace.to_owned()),
        grace: *grace,
    };
    let controller = Controller::new(dependencies, shutdown.clone())?;

    let mut background = BackgroundTasks::default();
    background.spawn("namespaces", |stop| async move { namespaces.run(stop).await });
    server.watch_configuration(client, &settings, &mut background).await?;

    let signal = async {
        signals.next().await;
        shutdown.cancel();
        signals.next().await;
    };
    tokio::select! {
        biased;
        () = signal => bail!("interrupted by a second signal before actions in flight completed"),
        error = background.task_exited() => return Err(error),
        result = controller.run() => result.context("exiting, because this replica is no longer the leader")?,
    }
    background.shutdown().await;
    Ok(())
}

/// Returns the host name, which is the pod's name in a cluster.
fn host_name() -> String {
    let variable = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    variable
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok())
        .map_or_else(|| FALLBACK_HOST_NAME.to_owned(), |name| name.trim().to_owned())
}
