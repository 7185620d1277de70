//! HTTP/1.1 servers with and without TLS, with limits on the number of connections and on slow clients, and a graceful
//! shutdown.
//!
//! A server always accepts new connections: at its connection limit it evicts one. The pure module `table` selects it;
//! `slots` carries it out.
//!
//! HTTP/1.1, because the apiserver uses nothing else for webhooks. Callers pass the listener and the [`Shutdown`], so
//! that tests can bind port 0 and shut down at any time. Signals and admission are outside of this module.

mod body;
mod connection;
mod handshake;
mod header_timeout;
mod shutdown;
mod slots;
mod table;
mod write_deadline;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use connection::ConnectionContext;
pub use shutdown::Shutdown;
use slots::{Slot, Slots};

use crate::telemetry::{Metrics, ServerKind};

/// Connection limit of the TLS server. An apiserver keeps at most 25 idle connections and has a few hundred calls in
/// flight. With full buffers, a connection uses about 64 KiB: 32 MiB in total.
const TLS_CONNECTIONS: usize = 512;
/// Connection limit of a plain server: the kubelet's probes and a few scrapers need one each. Together with the TLS
/// server the total stays below 1,024, the limit of file descriptors in many container runtimes.
const PLAIN_CONNECTIONS: usize = 128;
/// Backoff after a failed accept: the usual cause, a lack of file descriptors, does not pass at once.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
/// Length of the kernel's accept queue.
const BACKLOG: u32 = 1024;
/// Size of the kernel's socket buffer in each direction; Linux doubles it. It counts against the container's memory
/// limit, and would otherwise grow to megabytes for a client that does not read. 640 connections use at most 80 MiB.
const SOCKET_BUFFER_SIZE: u32 = 32 * 1024;

/// A server; [`Server::run`] starts it.
pub struct Server {
    listener: TcpListener,
    connections: ConnectionContext,
    slots: Arc<Slots>,
}

/// Listens on `address` with limited socket buffers. `[::]` also accepts IPv4, and is `0.0.0.0` on a node without IPv6.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let (socket, address) = match (address.is_ipv4(), address.ip().is_unspecified()) {
        (true, _) => (TcpSocket::new_v4()?, address),
        (false, false) => (TcpSocket::new_v6()?, address),
        (false, true) => match TcpSocket::new_v6() {
            Ok(socket) => (socket, address),
            Err(_) => (TcpSocket::new_v4()?, (Ipv4Addr::UNSPECIFIED, address.port()).into()),
        },
    };
    // Connections of a previous process may still be in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit both.
    socket.set_recv_buffer_size(SOCKET_BUFFER_SIZE)?;
    socket.set_send_buffer_size(SOCKET_BUFFER_SIZE)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Server {
    /// Creates a plain HTTP server.
    #[must_use]
    pub fn plain(listener: TcpListener, router: Router, metrics: Arc<Metrics>) -> Self {
        let slots = Slots::new(ServerKind::Admin, PLAIN_CONNECTIONS, Arc::clone(&metrics));
        Self::new(listener, None, router, metrics, slots)
    }

    /// Creates an HTTPS server.
    #[must_use]
    pub fn tls(listener: TcpListener, tls: TlsAcceptor, router: Router, metrics: Arc<Metrics>) -> Self {
        let slots = Slots::new(ServerKind::Webhook, TLS_CONNECTIONS, Arc::clone(&metrics));
        Self::new(listener, Some(tls), router, metrics, slots)
    }

    fn new(
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        router: Router,
        metrics: Arc<Metrics>,
        slots: Arc<Slots>,
    ) -> Self {
        let connections = ConnectionContext { tls, service: TowerToHyperService::new(router), metrics };
        Self { listener, connections, slots }
    }

    /// Serves until `shutdown` is closed. Then it stops accepting connections, closes idle ones, and waits for requests
    /// in flight for at most `grace`.
    pub async fn run(self, shutdown: Shutdown, grace: Duration) {
        let Self { listener, connections, slots } = self;
        let connections = Arc::new(connections);
        let mut open = JoinSet::new();
        {
            // Must outlive an iteration: it may hold a connection that waits for its slot.
            let mut next = pin!(accept(&listener, &slots));
            loop {
                tokio::select! {
                    biased;
                    () = shutdown.closed() => break,
                    // Removes finished tasks.
                    Some(_) = open.join_next() => {}
                    (stream, slot) = next.as_mut() => {
                        let (connections, shutdown) = (Arc::clone(&connections), shutdown.clone());
                        open.spawn(async move { connections.serve(stream, slot, shutdown).await });
                        next.set(accept(&listener, &slots));
                    }
                }
            }
        }
        drop(listener);
        let finished = async { while open.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, finished).await.is_err() {
            tracing::warn!(
                connections = open.len(),
                "requests did not finish within the grace period: closing their connections"
            );
            open.shutdown().await;
        }
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Slots>) -> (TcpStream, Slot) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let slot = slots.admit(peer.ip().to_canonical()).await;
                return (stream, slot);
            }
            Err(error) => {
                tracing::warn!("could not accept a connection: {error}");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}
