//! One connection: handshake, calls, end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::Stop;
use super::body::Tracked;
use super::handshake::{NoTls, classify, handshake};
use super::head::Impatient;
use super::slots::Slot;
use crate::telemetry::Metrics;

/// How long a connection may lie idle between calls. Longer than the 90 s after which the apiserver closes it: were we
/// the first, a call just on its way would fail.
const IDLE: Duration = Duration::from_mins(2);

/// The longest head, and the most that is read ahead of a body and buffered of responses: it bounds what a connection
/// costs. The head of an apiserver's call has some 500 bytes; one TLS record fits.
const BUFFER: usize = 16 * 1024;

/// What all connections of a server share.
pub(super) struct Connections {
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) service: TowerToHyperService<Router>,
    pub(super) metrics: Arc<Metrics>,
}

impl Connections {
    /// Serves `stream` to its end, or until its slot is evicted.
    pub(super) async fn serve(&self, stream: TcpStream, slot: Slot, stop: Stop) {
        let slot = Arc::new(slot);
        tokio::select! {
            biased;
            () = slot.evicted() => tracing::debug!("connection evicted"),
            () = self.serve_all(stream, &slot, stop) => {}
        }
    }

    async fn serve_all(&self, stream: TcpStream, slot: &Arc<Slot>, stop: Stop) {
        // Head and body leave in two writes; Nagle's algorithm would hold the second back for some 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("connection ended before it began: {error}");
            return;
        }
        let Some(tls) = &self.tls else { return self.http(stream, slot, stop).await };
        match handshake(tls, stream, &stop).await {
            Ok(stream) => {
                slot.handshake_complete(stream.get_ref().1.peer_certificates().is_some());
                self.http(stream, slot, stop).await;
            }
            Err(NoTls::NotTried) => {}
            Err(NoTls::Failed(error)) => {
                let reason = classify(&error);
                self.metrics.connections.handshake_failure(reason);
                tracing::debug!(reason = reason.name(), "TLS handshake failed: {error}");
            }
        }
    }

    async fn http(&self, stream: impl AsyncRead + AsyncWrite + Unpin, slot: &Arc<Slot>, stop: Stop) {
        let service = service_fn(|request: Request<Incoming>| {
            slot.head_complete();
            let answering = self.service.call(request.map(|body| Tracked::new(body, Arc::clone(slot))));
            let stop = &stop;
            async move {
                let mut response = answering.await?;
                slot.answered();
                if stop.leaving() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .max_buf_size(BUFFER)
            // Counts from the end of the last call, so it is the limit for an idle connection; the head itself is
            // limited by `Impatient`, from its first byte.
            .header_read_timeout(IDLE)
            .serve_connection(TokioIo::new(Impatient::new(stream, Arc::clone(slot))), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            () = stop.closing() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            ended = connection.as_mut() => ended,
        };
        if let Err(error) = ended {
            tracing::debug!("connection ended: {error}");
        }
    }
}
