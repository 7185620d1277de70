//! HTTP/1.1 servers, with and without TLS: connections are limited in number and in patience, and end in good order.
//!
//! A server never stops accepting because clients keep connections open: when it has as many as it keeps, it evicts one
//! for the newcomer. Which one is decided by the pure `table`; `slots` carries it out.
//!
//! HTTP/1.1 because the apiserver speaks nothing else to a webhook. Whoever builds a [`Server`] brings the listener and
//! the [`Stop`], so that a test binds port 0 and ends it when it likes. What is absent on purpose: signals, and any
//! knowledge of admission.

mod body;
mod connection;
mod handshake;
mod head;
mod slots;
mod stop;
mod table;
mod unread;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use connection::Connections;
use slots::{Slot, Slots};
pub use stop::Stop;

use crate::telemetry::{Metrics, ServerKind};

/// Connections that the TLS server keeps open. An apiserver keeps at most 25 idle ones and makes some hundred calls at a
/// time. With its buffers full, a connection costs some 64 KiB: 32 MiB in all.
const TLS_CONNECTIONS: usize = 512;
/// Connections that a plain server keeps open: the kubelet's probes and a few scrapers need one each. Together with those
/// of TLS they stay below 1,024, the file descriptors that many container runtimes allow.
const PLAIN_CONNECTIONS: usize = 128;
/// Pause after a connection could not be accepted: the usual cause, no free file descriptor, does not pass at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections that the kernel queues until they are accepted.
const BACKLOG: u32 = 1024;
/// What the kernel buffers of a connection in each direction; Linux doubles it. It counts against the container's memory
/// limit, and would otherwise grow to megabytes for a client that does not read. 640 connections: at most 80 MiB.
const KERNEL_BUFFER: u32 = 32 * 1024;

/// A server that is built and does not run yet.
pub struct Server {
    listener: TcpListener,
    connections: Connections,
    slots: Arc<Slots>,
}

/// Listens on `address`, with bounded buffers for each connection.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As every server does: connections of a predecessor may still be closing.
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit both.
    socket.set_recv_buffer_size(KERNEL_BUFFER)?;
    socket.set_send_buffer_size(KERNEL_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Server {
    /// A server of plain HTTP.
    #[must_use]
    pub fn plain(listener: TcpListener, router: Router, metrics: Arc<Metrics>) -> Self {
        let slots = Slots::new(ServerKind::Admin, PLAIN_CONNECTIONS, Arc::clone(&metrics));
        Self::new(listener, None, router, metrics, slots)
    }

    /// A server of HTTP over TLS.
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
        let connections = Connections { tls, service: TowerToHyperService::new(router), metrics };
        Self { listener, connections, slots }
    }

    /// Serves until `stop` says close; then refuses new connections, ends idle ones, and lets the others finish their
    /// call within `grace`.
    pub async fn run(self, stop: Stop, grace: Duration) {
        let Self { listener, connections, slots } = self;
        let connections = Arc::new(connections);
        let mut open = JoinSet::new();
        {
            // Kept over the turns of the loop: it may hold a connection that waits for its slot.
            let mut next = pin!(accept(&listener, &slots));
            loop {
                tokio::select! {
                    biased;
                    () = stop.closing() => break,
                    // Only takes a finished task out of the set.
                    Some(_) = open.join_next() => {}
                    (stream, slot) = next.as_mut() => {
                        let (connections, stop) = (Arc::clone(&connections), stop.clone());
                        open.spawn(async move { connections.serve(stream, slot, stop).await });
                        next.set(accept(&listener, &slots));
                    }
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

async fn accept(listener: &TcpListener, slots: &Arc<Slots>) -> (TcpStream, Slot) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let slot = slots.admit(peer.ip().to_canonical()).await;
                return (stream, slot);
            }
            Err(error) => {
                tracing::warn!("could not accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
