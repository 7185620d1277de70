//! The admission server.
//!
//! [`Webhook::new`] puts the parts together and [`Webhook::run`] serves; listeners, clock, sources of facts and the
//! signal to end are arguments, so that a test needs neither a cluster nor a fixed port. It reads bodies, minds deadlines and
//! counts; what is answered is decided by [`trainmesh_core::webhook`].
//!
//! A pod is never refused: an answer admits, and whatever goes wrong is HTTP 500, so that the `failurePolicy` of the
//! registration decides.

mod admission;
mod body;
mod budget;
mod certificate;
mod client_ca;
mod deadline;
mod excerpt;
mod failure;
mod limits;
mod pool;
mod routes;
mod tls;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use admission::{Admission, Reviewer};
pub use certificate::{Certificate, CertificateError, CertificateFiles, CertificateSecret, LoadError, Served};
pub use client_ca::{ClientCaError, ClientCaFile, ClientCaFileError, ClientVerifier};

use crate::cluster::fabric::SharedFacts;
use crate::cluster::namespaces::Namespaces;
use crate::reload::Settings;
use crate::serve::{Server, Stop};
use crate::telemetry::{self, LISTENING, Metrics, Readiness};

/// The wall clock, or one that a test sets.
pub type Clock = fn() -> SystemTime;

/// What an admission server is made of.
pub struct Parts {
    /// Where the apiserver calls.
    pub listener: TcpListener,
    /// Where health, readiness and metrics are asked for.
    pub admin: TcpListener,
    /// The certificate that is served. Without one every handshake fails.
    pub served: Arc<Served>,
    /// Verifies the certificates of clients. Without it every client is served.
    pub clients: Option<Arc<ClientVerifier>>,
    /// The labels of namespaces.
    pub namespaces: Arc<dyn Namespaces>,
    /// What fabrics need to know of the cluster.
    pub facts: SharedFacts,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// How many JSON nodes the object of a review may have.
    pub max_review_nodes: u32,
    /// What counts.
    pub metrics: Arc<Metrics>,
    /// What must hold before work is taken, beside what the server knows itself.
    pub readiness: Readiness,
    /// The time.
    pub clock: Clock,
    /// How it ends.
    pub drain: Drain,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// How long it serves on after it was told to end, while the endpoints of its Service change. In the second half
    /// of this time every answer asks for another connection.
    pub wait: Duration,
    /// How long calls may take to finish after that.
    pub grace: Duration,
}

/// An admission server that is built and does not run yet.
pub struct Webhook {
    calls: Server,
    admin: Server,
    shutdown: CancellationToken,
    drain: Drain,
}

/// Why there is no admission server.
#[derive(Debug, Error)]
pub enum BuildError {
    /// TLS could not be set up.
    #[error("could not set up TLS")]
    Tls(#[source] rustls::Error),
    /// A listener has no address.
    #[error("could not read the address of a listener")]
    Address(#[source] std::io::Error),
}

impl Webhook {
    /// Puts the parts together and tells the addresses. `shutdown` ends [`Self::run`].
    pub fn new(parts: Parts, shutdown: CancellationToken) -> Result<Self, BuildError> {
        let Parts {
            listener,
            admin,
            served,
            clients,
            namespaces,
            facts,
            settings,
            max_review_nodes,
            metrics,
            readiness,
            clock,
            drain,
        } = parts;
        let address = listener.local_addr().map_err(BuildError::Address)?;
        let admin_address = admin.local_addr().map_err(BuildError::Address)?;
        tracing::info!(target: LISTENING, listen = %address, admin = %admin_address, "listening");

        let tls = TlsAcceptor::from(tls::server_config(Arc::clone(&served), clients).map_err(BuildError::Tls)?);
        let readiness = {
            let (settings, shutdown) = (Arc::clone(&settings), shutdown.clone());
            readiness
                .with("certificate", move || served.current().is_some_and(|it| it.valid_at(clock())))
                .with("configuration", move || settings.active().is_some())
                .with("shutting down", move || !shutdown.is_cancelled())
        };
        let reviewer = Reviewer { namespaces, facts, settings, max_nodes: max_review_nodes };
        let admission = Arc::new(Admission::new(reviewer, Arc::clone(&metrics)));
        let routes = routes::router(&admission);
        Ok(Self {
            calls: Server::tls(listener, tls, routes, Arc::clone(&metrics)),
            admin: Server::plain(admin, telemetry::router(readiness, Arc::clone(&metrics)), metrics),
            shutdown,
            drain,
        })
    }

    /// Serves until told to shut down, and drains.
    pub async fn run(self) {
        let Self { calls, admin, shutdown, drain: Drain { wait, grace } } = self;
        let stop = Stop::default();
        let leave = async {
            shutdown.cancelled().await;
            tracing::info!(?wait, ?grace, "draining: no longer ready, still serving");
            sleep(wait / 2).await;
            stop.leave();
            sleep(wait / 2).await;
            tracing::info!("closing: calls in flight finish");
            stop.close();
        };
        // The admin port answers as long as there is something to ask about.
        let stop_admin = Stop::default();
        let calls = async {
            tokio::join!(calls.run(stop.clone(), grace), leave);
            stop_admin.close();
        };
        tokio::join!(calls, admin.run(stop_admin.clone(), Duration::ZERO));
        tracing::info!("drained");
    }
}
