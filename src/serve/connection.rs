//! Serves one connection: handshake and requests.

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

use super::Shutdown;
use super::body::TrackedBody;
use super::handshake::{HandshakeError, classify, handshake};
use super::header_timeout::HeaderTimeout;
use super::slots::Slot;
use crate::telemetry::Metrics;

/// Idle timeout of a connection. Longer than the 90 s of the apiserver: if the server closed first, a call in transit
/// would fail.
const IDLE_TIMEOUT: Duration = Duration::from_mins(2);

/// Size limit of a header, of read-ahead and of buffered responses, which bounds the memory of a connection. The header
/// of an apiserver's call has about 500 bytes; one TLS record fits.
const BUFFER_SIZE: usize = 16 * 1024;

/// State shared by all connections of a server.
pub(super) struct ConnectionContext {
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) service: TowerToHyperService<Router>,
    pub(super) metrics: Arc<Metrics>,
}

impl ConnectionContext {
    /// Serves `stream` until it closes or its slot is evicted.
    pub(super) async fn serve(&self, stream: TcpStream, slot: Slot, shutdown: Shutdown) {
        let slot = Arc::new(slot);
        tokio::select! {
            biased;
            () = slot.evicted() => tracing::debug!("connection evicted"),
            () = self.serve_stream(stream, &slot, shutdown) => {}
        }
    }

    async fn serve_stream(&self, stream: TcpStream, slot: &Arc<Slot>, shutdown: Shutdown) {
        // Header and body are two writes; Nagle's algorithm would delay the second by about 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("could not set TCP_NODELAY: {error}");
            return;
        }
        let Some(tls) = &self.tls else { return self.serve_http(stream, slot, shutdown).await };
        match handshake(tls, stream, &shutdown).await {
            Ok(stream) => {
                slot.record_handshake(stream.get_ref().1.peer_certificates().is_some());
                self.serve_http(stream, slot, shutdown).await;
            }
            Err(HandshakeError::NotAttempted) => {}
            Err(HandshakeError::Failed(error)) => {
                let reason = classify(&error);
                self.metrics.connections.record_handshake_failure(reason);
                tracing::debug!(reason = reason.name(), "TLS handshake failed: {error}");
            }
        }
    }

    async fn serve_http(&self, stream: impl AsyncRead + AsyncWrite + Unpin, slot: &Arc<Slot>, shutdown: Shutdown) {
        let service = service_fn(|request: Request<Incoming>| {
            slot.record_header();
            let response = self.service.call(request.map(|body| TrackedBody::new(body, Arc::clone(slot))));
            let shutdown = &shutdown;
            async move {
                let mut response = response.await?;
                slot.record_response_start();
                if shutdown.is_draining() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .max_buf_size(BUFFER_SIZE)
            // Counts from the end of the previous request, so it is the idle timeout; `HeaderTimeout` limits the header
            // itself, from its first byte.
            .header_read_timeout(IDLE_TIMEOUT)
            .serve_connection(TokioIo::new(HeaderTimeout::new(stream, Arc::clone(slot))), service);
        let mut connection = pin!(connection);
        let result = tokio::select! {
            biased;
            () = shutdown.closed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            result = connection.as_mut() => result,
        };
        if let Err(error) = result {
            tracing::debug!("connection closed: {error}");
        }
    }
}
