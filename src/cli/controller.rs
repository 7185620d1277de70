//! `trainmesh controller`: puts the controller together and keeps it until a signal ends it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::Status;
use super::background::Background;
use super::certificates::CertificateArguments;
use super::server::{ServerArguments, bind, duration};
use super::signals::Signals;
use crate::cluster::client;
use crate::cluster::events::Events;
use crate::cluster::fabric::pins::PinStore;
use crate::cluster::lease::{self, Candidate, Timing};
use crate::cluster::namespaces::NamespaceCache;
use crate::controller::{Controller, Parts};
use crate::reload::Settings;
use crate::telemetry::{Metrics, Readiness};

/// What this process is called where the system does not tell.
const NAMELESS: &str = "trainmesh";

/// End the proxies of pods whose payload has ended, and keep the certificates of the webhook
///
/// Several replicas may run: one acts, and another takes over when it ends.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// After the signal to end: how long actions in flight may take to finish
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, env = "TRAINMESH_GRACE")]
    grace: Duration,
    #[command(flatten)]
    certificates: CertificateArguments,
    #[command(flatten)]
    server: ServerArguments,
}

/// Runs until a signal has ended it in good order, or the lease is lost.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    arguments.server.start_log();
    let runtime = tokio::runtime::Runtime::new().context("could not start the runtime")?;
    let ended = runtime.block_on(control(arguments));
    // What is still in flight has nobody left to wait for it.
    runtime.shutdown_background();
    ended.map(|()| Status::Done)
}

async fn control(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { grace, certificates, server } = arguments;
    let namespace = server.installation.namespace();
    let mut signals = Signals::new().context("could not listen for signals")?;
    let metrics = Arc::new(Metrics::default());
    let schedule = certificates.schedule()?;
    let client = client::connect(server.kubeconfig.as_deref(), None).await?;
    let namespaces = Arc::new(NamespaceCache::new(client.clone()));
    let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
    let certificates = certificates.rotation(schedule, client.clone(), namespace, Arc::clone(&metrics));
    let identity = lease::identity(&host());
    let shutdown = CancellationToken::new();
    let filled = Arc::clone(&namespaces);
    let parts = Parts {
        admin: bind(server.admin_listen)?,
        client: client.clone(),
        namespaces: Arc::clone(&namespaces),
        settings: Arc::clone(&settings),
        metrics,
        readiness: Readiness::default().with("namespaces", move || filled.filled()),
        events: Events::new(client.clone(), identity.clone()),
        certificates,
        pins: PinStore::new(client.clone(), namespace),
        candidate: Candidate::new(client.clone(), namespace, identity, Timing::default()),
        installation: server.installation.clone(),
        configured_in: server.config.is_none().then(|| namespace.to_owned()),
        grace: *grace,
    };
    let controller = Controller::new(parts, shutdown.clone())?;

    let mut background = Background::default();
    background.spawn("namespaces", |stop| async move { namespaces.run(stop).await });
    server.follow_configuration(client, &settings, &mut background).await?;

    let orders = async {
        signals.next().await;
        shutdown.cancel();
        signals.next().await;
    };
    tokio::select! {
        biased;
        () = orders => bail!("ended by a second signal before actions in flight had finished"),
        ended = background.ended() => return Err(ended),
        ended = controller.run() => ended.context("no longer the leader: ending, so that nothing is done twice")?,
    }
    background.end().await;
    Ok(())
}

/// The name of the host, which is the pod's in a cluster.
fn host() -> String {
    let named = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    named
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok())
        .map_or_else(|| NAMELESS.to_owned(), |name| name.trim().to_owned())
}
