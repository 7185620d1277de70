//! `trainmesh webhook`: creates the admission server and runs it until a signal arrives.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::Status;
use super::background::BackgroundTasks;
use super::server::{ServerArguments, bind, parse_duration};
use super::signals::Signals;
use crate::cluster::client;
use crate::cluster::fabric::FactCache;
use crate::cluster::gang::announced::AnnouncementReader;
use crate::cluster::namespaces::NamespaceCache;
use crate::cluster::secret::Secrets;
use crate::cluster::workloads::WorkloadCache;
use crate::files;
use crate::reload::Settings;
use crate::telemetry::{Metrics, Readiness};
use crate::webhook::{
    CertificateFiles, CertificateResolver, CertificateSecret, ClientCaFile, Dependencies, Drain, Webhook,
};
use trainmesh_core::objects::{SERVICE, service_host};
use trainmesh_core::webhook::review;

/// Run the admission webhook
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Address to serve admission reviews on over TLS; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:10250", env = "TRAINMESH_LISTEN")]
    listen: SocketAddr,
    /// Serving certificate with its chain, PEM; reloaded when it changes [default: watch the Secret
    /// trainmesh-webhook-tls]
    #[arg(long, value_name = "FILE", env = "TRAINMESH_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the serving certificate, PEM
    #[arg(long, value_name = "FILE", env = "TRAINMESH_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// CAs that sign the apiserver's client certificate, PEM; reloaded when they change [default: no client certificate
    /// is required]
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CLIENT_CA")]
    client_ca: Option<PathBuf>,
    /// Name of the Service that the apiserver calls, which a certificate in the Secret must be valid for
    #[arg(long, value_name = "NAME", default_value = SERVICE, env = "TRAINMESH_SERVICE")]
    service: String,
    /// Maximum number of JSON nodes in the object of a review; beyond it the response is HTTP 413, and failurePolicy
    /// applies
    #[arg(
        long, value_name = "COUNT", default_value_t = review::DEFAULT_NODES, env = "TRAINMESH_MAX_REVIEW_NODES",
        value_parser = clap::value_parser!(u32).range(i64::from(review::MIN_NODES)..=i64::from(review::MAX_NODES))
    )]
    max_review_nodes: u32,
    /// Time to keep serving, while not ready, after a termination signal, so that the apiserver stops calling this
    /// replica
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration, env = "TRAINMESH_DRAIN")]
    drain: Duration,
    /// Time that calls in flight then have to complete
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = parse_duration, env = "TRAINMESH_GRACE")]
    grace: Duration,
    #[command(flatten)]
    server: ServerArguments,
}

/// Source of the serving certificate.
enum Source {
    /// Externally renewed files.
    Files(CertificateFiles),
    /// The Secret that the controller renews.
    Secret(CertificateSecret),
}

impl Source {
    fn resolver(&self) -> Arc<CertificateResolver> {
        match self {
            Self::Files(files) => files.resolver(),
            Self::Secret(secret) => secret.resolver(),
        }
    }

    async fn run(self, stop: CancellationToken) {
        match self {
            Self::Files(files) => files.run(files::INTERVAL, stop).await,
            Self::Secret(secret) => secret.run(stop).await,
        }
    }
}

/// Runs until a signal arrives, then drains.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    arguments.server.init_logging();
    let runtime = tokio::runtime::Runtime::new().context("could not start the runtime")?;
    let result = runtime.block_on(serve(arguments));
    // Nothing waits for a review that is still in progress.
    runtime.shutdown_background();
    result.map(|()| Status::Success)
}

async fn serve(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { listen, tls_cert, tls_key, client_ca, service, max_review_nodes, drain, grace, server } = arguments;
    let mut signals = Signals::new().context("could not listen for signals")?;
    let metrics = Arc::new(Metrics::default());
    let client = client::connect(server.kubeconfig.as_deref(), None).await?;
    let certificate = if let (Some(chain), Some(key)) = (tls_cert, tls_key) {
        Source::Files(CertificateFiles::load(chain.clone(), key.clone(), Arc::clone(&metrics)).await?)
    } else {
        let secrets = Secrets::new(client.clone(), server.installation.namespace());
        let host = service_host(service, server.installation.namespace());
        Source::Secret(CertificateSecret::new(secrets, host, Arc::clone(&metrics), SystemTime::now))
    };
    let client_ca = match client_ca {
        Some(path) => Some(ClientCaFile::load(path.clone()).await?),
        None => None,
    };
    let namespaces = Arc::new(NamespaceCache::new(client.clone()));
    let facts = Arc::new(FactCache::new(client.clone(), server.installation.namespace()));
    let announcements = AnnouncementReader::new(client.clone(), server.installation.namespace(), Arc::clone(&metrics));
    let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
    let shutdown = CancellationToken::new();
    let (synced, settled, configured) = (Arc::clone(&namespaces), Arc::clone(&facts), Arc::clone(&settings));
    let dependencies = Dependencies {
        listener: bind(*listen)?,
        admin: bind(server.admin_listen)?,
        certificate: certificate.resolver(),
        client_verifier: client_ca.as_ref().map(ClientCaFile::verifier),
        namespaces: Arc::clone(&namespaces) as _,
        facts: facts.facts(),
        workloads: Arc::new(WorkloadCache::new(client.clone())),
        gangs: announcements.facts(),
        settings: Arc::clone(&settings),
        max_review_nodes: *max_review_nodes,
        metrics,
        readiness: Readiness::default()
            .with("namespaces not synced", move || synced.is_synced())
            .with("claims not listed", move || configured.active().is_none() || settled.is_settled()),
        clock: SystemTime::now,
        drain: Drain { wait: *drain, grace: *grace },
    };
    let webhook = Webhook::new(dependencies, shutdown.clone())?;

    let mut background = BackgroundTasks::default();
    background.spawn("certificate", |stop| certificate.run(stop));
    if let Some(client_ca) = client_ca {
        background.spawn("client CA", |stop| client_ca.run(files::INTERVAL, stop));
    }
    background.spawn("namespaces", |stop| async move { namespaces.run(stop).await });
    background.spawn("fabric", {
        let settings = Arc::clone(&settings);
        |stop| async move { facts.run(settings, stop).await }
    });
    background.spawn("gangs", {
        let settings = Arc::clone(&settings);
        |stop| async move { announcements.run(settings, stop).await }
    });
    server.watch_configuration(client, &settings, &mut background).await?;
    let signal = async {
        signals.next().await;
        shutdown.cancel();
        signals.next().await;
    };
    tokio::select! {
        biased;
        () = signal => bail!("interrupted by a second signal before calls in flight completed"),
        error = background.task_exited() => return Err(error),
        () = webhook.run() => {}
    }
    background.shutdown().await;
    Ok(())
}
