//! HTTP/1.1 servers, with and without TLS: connections are limited in number and in patience, and end in good order.
//!
//! HTTP/1.1 because the apiserver speaks nothing else to a webhook. Whoever builds a [`Server`] brings the listener and
//! the [`Stop`], so that a test binds port 0 and ends it when it likes. What is absent on purpose: signals, and any
//! knowledge of admission.

mod connection;
mod head;
mod stop;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use connection::Connections;
pub use stop::Stop;

use crate::telemetry::Metrics;

/// Connections that a server keeps open. An apiserver keeps at most 25 idle ones and makes some hundred calls at a
/// time; beyond this number new ones wait in the listener's queue. At some 40 KiB each they stay below 40 MiB.
const CONNECTIONS: usize = 1024;
/// Pause after a connection could not be accepted: the usual cause, no free file descriptor, does not pass at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that is built and does not run yet.
pub struct Server {
    listener: TcpListener,
    connections: Connections,
}

impl Server {
    /// A server of plain HTTP.
    #[must_use]
    pub fn plain(listener: TcpListener, router: Router, metrics: Arc<Metrics>) -> Self {
        Self::new(listener, None, router, metrics)
    }

    /// A server of HTTP over TLS.
    #[must_use]
    pub fn tls(listener: TcpListener, tls: TlsAcceptor, router: Router, metrics: Arc<Metrics>) -> Self {
        Self::new(listener, Some(tls), router, metrics)
    }

    fn new(listener: TcpListener, tls: Option<TlsAcceptor>, router: Router, metrics: Arc<Metrics>) -> Self {
        Self { listener, connections: Connections { tls, service: TowerToHyperService::new(router), metrics } }
    }

    /// Serves until `stop` says close; then refuses new connections, ends idle ones, and lets the others finish their
    /// call within `grace`.
    pub async fn run(self, stop: Stop, grace: Duration) {
        let Self { listener, connections } = self;
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let connections = Arc::new(connections);
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stop.closing() => break,
                // Only takes a finished task out of the set.
                Some(_) = open.join_next() => {}
                // Gives the permit back when cancelled; accepting itself loses no connection.
                (stream, permit) = accept(&listener, &slots) => {
                    let (connections, stop) = (Arc::clone(&connections), stop.clone());
                    open.spawn(async move {
                        connections.serve(stream, stop).await;
                        drop(permit);
                    });
                }
            }
        }
        drop(listener);
        let finished = async { while open.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, finished).await.is_err() {
            tracing::warn!(connections = open.len(), "calls did not finish in time and are cut off");
            open.shutdown().await;
        }
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there is always a permit in the end.
    let permit = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                tracing::warn!("could not accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
