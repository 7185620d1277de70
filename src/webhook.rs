//! The admission webhook server.
//!
//! [`Webhook::new`] creates the server and [`Webhook::run`] serves. Listeners, clock, caches and the shutdown token are
//! arguments, so that tests need neither a cluster nor a fixed port. This module handles bodies, deadlines and metrics;
//! [`trainmesh_core::webhook`] computes the response.
//!
//! A pod is never denied: a response always allows it, and any error is an HTTP error, so that the `failurePolicy` of
//! the webhook configuration decides.

mod admission;
mod body;
mod budget;
mod certificate;
mod client_ca;
mod deadline;
mod excerpt;
mod failure;
mod limiter;
mod limits;
mod routes;
mod tls;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use admission::{AdmissionHandler, Reviewer};
pub use certificate::{
    Certificate, CertificateError, CertificateFileError, CertificateFiles, CertificateResolver, CertificateSecret,
};
pub use client_ca::{ClientCaError, ClientCaFile, ClientCaFileError, ClientVerifier};

use crate::cluster::fabric::SharedFacts;
use crate::cluster::namespaces::Namespaces;
use crate::cluster::workloads::Workloads;
use crate::reload::Settings;
use crate::serve::{Server, Shutdown};
use crate::telemetry::{self, LISTENING, Metrics, Readiness};
use trainmesh_core::gang::GangFacts;

/// The wall clock, or a fake one in tests.
pub type Clock = fn() -> SystemTime;

/// Dependencies of a [`Webhook`].
pub struct Dependencies {
    /// Listener for the apiserver's calls.
    pub listener: TcpListener,
    /// Listener for health, readiness and metrics.
    pub admin: TcpListener,
    /// The serving certificate. Without one every handshake fails.
    pub certificate: Arc<CertificateResolver>,
    /// Verifier of client certificates; `None` accepts every client.
    pub client_verifier: Option<Arc<ClientVerifier>>,
    /// Namespace labels.
    pub namespaces: Arc<dyn Namespaces>,
    /// Cluster facts for fabrics.
    pub facts: SharedFacts,
    /// Workloads that own pods, for gangs.
    pub workloads: Arc<dyn Workloads>,
    /// Facts about gang schedulers and their objects.
    pub gangs: Arc<ArcSwap<GangFacts>>,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// Maximum number of JSON nodes in the object of a review.
    pub max_review_nodes: u32,
    /// Metrics of the process.
    pub metrics: Arc<Metrics>,
    /// Readiness checks in addition to the server's own.
    pub readiness: Readiness,
    /// The clock.
    pub clock: Clock,
    /// Shutdown behavior.
    pub drain: Drain,
}

/// Shutdown behavior of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Time for which the server keeps serving after the shutdown signal, while the endpoints of its Service are
    /// updated. In the second half, each response closes its connection.
    pub wait: Duration,
    /// Time that calls in flight then have to complete.
    pub grace: Duration,
}

/// A webhook server that has not started yet.
pub struct Webhook {
    admission_server: Server,
    admin_server: Server,
    shutdown: CancellationToken,
    drain: Drain,
}

/// An error that prevents the creation of the server.
#[derive(Debug, Error)]
pub enum BuildError {
    /// TLS could not be set up.
    #[error("could not set up TLS")]
    Tls(#[source] rustls::Error),
    /// The address of a listener cannot be read.
    #[error("could not read the address of a listener")]
    Address(#[source] std::io::Error),
}

impl Webhook {
    /// Creates the server and logs the bound addresses. Cancel `shutdown` to stop [`Self::run`].
    pub fn new(dependencies: Dependencies, shutdown: CancellationToken) -> Result<Self, BuildError> {
        let Dependencies {
            listener,
            admin,
            certificate: resolver,
            client_verifier: clients,
            namespaces,
            facts,
            workloads,
            gangs,
            settings,
            max_review_nodes,
            metrics,
            readiness,
            clock,
            drain,
        } = dependencies;
        let address = listener.local_addr().map_err(BuildError::Address)?;
        let admin_address = admin.local_addr().map_err(BuildError::Address)?;
        tracing::info!(target: LISTENING, listen = %address, admin = %admin_address, "listening");

        let tls = TlsAcceptor::from(tls::server_config(Arc::clone(&resolver), clients).map_err(BuildError::Tls)?);
        let readiness = {
            let (settings, shutdown) = (Arc::clone(&settings), shutdown.clone());
            readiness
                .with("no valid certificate", move || {
                    resolver.current().is_some_and(|certificate| certificate.is_valid_at(clock()))
                })
                .with("no valid configuration", move || settings.active().is_some())
                .with("shutting down", move || !shutdown.is_cancelled())
        };
        let reviewer = Reviewer { namespaces, facts, workloads, gangs, settings, max_nodes: max_review_nodes };
        let admission = Arc::new(AdmissionHandler::new(reviewer, Arc::clone(&metrics)));
        let routes = routes::router(&admission);
        Ok(Self {
            admission_server: Server::tls(listener, tls, routes, Arc::clone(&metrics)),
            admin_server: Server::plain(admin, telemetry::router(readiness, Arc::clone(&metrics)), metrics),
            shutdown,
            drain,
        })
    }

    /// Serves until shutdown, then drains.
    pub async fn run(self) {
        let Self { admission_server, admin_server, shutdown, drain: Drain { wait, grace } } = self;
        let stop = Shutdown::default();
        let drain_and_close = async {
            shutdown.cancelled().await;
            tracing::info!(?wait, ?grace, "draining: no longer ready, still serving");
            sleep(wait / 2).await;
            stop.drain();
            sleep(wait / 2).await;
            tracing::info!("closing: waiting for calls in flight");
            stop.close();
        };
        // The admin port is served until all calls have completed.
        let stop_admin = Shutdown::default();
        let calls = async {
            tokio::join!(admission_server.run(stop.clone(), grace), drain_and_close);
            stop_admin.close();
        };
        tokio::join!(calls, admin_server.run(stop_admin.clone(), Duration::ZERO));
        tracing::info!("drained");
    }
}
