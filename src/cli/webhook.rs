//! `trainmesh webhook`: puts the admission server together and keeps it until a signal ends it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::Status;
use super::background::Background;
use super::server::{ServerArguments, bind, duration};
use super::signals::Signals;
use crate::cluster::client;
use crate::cluster::fabric::FactCache;
use crate::cluster::namespaces::NamespaceCache;
use crate::cluster::secret::Secrets;
use crate::files;
use crate::reload::Settings;
use crate::telemetry::{Metrics, Readiness};
use crate::webhook::{CertificateFiles, CertificateSecret, ClientCaFile, Drain, Parts, Served, Webhook};
use trainmesh_core::objects::{SERVICE, service_host};
use trainmesh_core::webhook::review;

/// Serve admission reviews
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Address for the apiserver's calls over TLS; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:10250", env = "TRAINMESH_LISTEN")]
    listen: SocketAddr,
    /// Certificate with its chain, PEM; read again when it changes [default: Secret trainmesh-webhook-tls, watched]
    #[arg(long, value_name = "FILE", env = "TRAINMESH_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", env = "TRAINMESH_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// CAs that sign the client certificate of the apiserver, PEM; read again when they change [default: none is required]
    #[arg(long, value_name = "FILE", env = "TRAINMESH_CLIENT_CA")]
    client_ca: Option<PathBuf>,
    /// Service that the apiserver calls; a certificate in the Secret must be made for it
    #[arg(long, value_name = "NAME", default_value = SERVICE, env = "TRAINMESH_SERVICE")]
    service: String,
    /// JSON nodes that the object of a review may have; above it the review gets HTTP 413, and failurePolicy decides
    #[arg(
        long, value_name = "COUNT", default_value_t = review::DEFAULT_NODES, env = "TRAINMESH_MAX_REVIEW_NODES",
        value_parser = clap::value_parser!(u32).range(i64::from(review::MIN_NODES)..=i64::from(review::MAX_NODES))
    )]
    max_review_nodes: u32,
    /// After the signal to end: how long to serve on, no longer ready, until nobody calls here any more
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, env = "TRAINMESH_DRAIN")]
    drain: Duration,
    /// After that: how long calls may take to finish before they are cut off
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, env = "TRAINMESH_GRACE")]
    grace: Duration,
    #[command(flatten)]
    server: ServerArguments,
}

/// Where the certificate comes from.
enum Source {
    /// Files that somebody else renews.
    Files(CertificateFiles),
    /// The Secret that our controller renews.
    Secret(CertificateSecret),
}

impl Source {
    fn served(&self) -> Arc<Served> {
        match self {
            Self::Files(files) => files.served(),
            Self::Secret(secret) => secret.served(),
        }
    }

    async fn follow(self, stop: CancellationToken) {
        match self {
            Self::Files(files) => files.follow(files::INTERVAL, stop).await,
            Self::Secret(secret) => secret.follow(stop).await,
        }
    }
}

/// Serves until a signal has ended it in good order.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    arguments.server.start_log();
    let runtime = tokio::runtime::Runtime::new().context("could not start the runtime")?;
    let ended = runtime.block_on(serve(arguments));
    // A review that is still being worked on has nobody left to wait for it.
    runtime.shutdown_background();
    ended.map(|()| Status::Done)
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
    let settings = Arc::new(Settings::new(Arc::clone(&metrics)));
    let shutdown = CancellationToken::new();
    let filled = Arc::clone(&namespaces);
    let parts = Parts {
        listener: bind(*listen)?,
        admin: bind(server.admin_listen)?,
        served: certificate.served(),
        clients: client_ca.as_ref().map(ClientCaFile::verifier),
        namespaces: Arc::clone(&namespaces) as _,
        facts: facts.facts(),
        settings: Arc::clone(&settings),
        max_review_nodes: *max_review_nodes,
        metrics,
        readiness: Readiness::default().with("namespaces", move || filled.filled()),
        clock: SystemTime::now,
        drain: Drain { wait: *drain, grace: *grace },
    };
    let webhook = Webhook::new(parts, shutdown.clone())?;

    let mut background = Background::default();
    background.spawn("certificate", |stop| certificate.follow(stop));
    if let Some(client_ca) = client_ca {
        background.spawn("client CA", |stop| client_ca.follow(files::INTERVAL, stop));
    }
    background.spawn("namespaces", |stop| async move { namespaces.run(stop).await });
    background.spawn("fabric", {
        let settings = Arc::clone(&settings);
        |stop| async move { facts.run(settings, stop).await }
    });
    server.follow_configuration(client, &settings, &mut background).await?;
    let orders = async {
        signals.next().await;
        shutdown.cancel();
        signals.next().await;
    };
    tokio::select! {
        biased;
        () = orders => bail!("ended by a second signal before calls in flight had finished"),
        ended = background.ended() => return Err(ended),
        () = webhook.run() => {}
    }
    background.end().await;
    Ok(())
}
