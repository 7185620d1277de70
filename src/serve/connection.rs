//! One connection: handshake, calls, end.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Stop;
use super::head::{Busy, Impatient};
use crate::telemetry::Metrics;

/// How long a client may take for its handshake, from the connection on.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a connection may lie idle between calls. Longer than the 90 s after which the apiserver closes it: were we
/// the first, a call just on its way would fail.
const IDLE: Duration = Duration::from_mins(2);

/// The longest head, and the most that is read ahead of a body: it bounds what a connection costs.
const BUFFER: usize = 64 * 1024;

/// What all connections of a server share.
pub(super) struct Connections {
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) service: TowerToHyperService<Router>,
    pub(super) metrics: Arc<Metrics>,
}

/// Why a handshake gave no connection.
enum NoTls {
    /// Nobody tried: the client said nothing and went away, as a port check does, or the server ends.
    NotTried,
    /// It failed, or took too long.
    Failed(io::Error),
}

impl Connections {
    /// Serves `stream` to its end.
    pub(super) async fn serve(&self, stream: TcpStream, stop: Stop) {
        // Head and body leave in two writes; Nagle's algorithm would hold the second back for some 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("connection ended before it began: {error}");
            return;
        }
        let Some(tls) = &self.tls else { return self.http(stream, stop).await };
        match handshake(tls, stream, &stop).await {
            Ok(stream) => self.http(stream, stop).await,
            Err(NoTls::NotTried) => {}
            Err(NoTls::Failed(error)) => {
                self.metrics.handshake_failure();
                tracing::debug!("TLS handshake failed: {error}");
            }
        }
    }

    async fn http(&self, stream: impl AsyncRead + AsyncWrite + Unpin, stop: Stop) {
        let busy = Busy::default();
        let service = service_fn(|request| {
            let call = busy.call();
            let answering = self.service.call(request);
            let stop = &stop;
            async move {
                let _call = call;
                let mut response = answering.await?;
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
            .serve_connection(TokioIo::new(Impatient::new(stream, busy.clone())), service);
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

async fn handshake(tls: &TlsAcceptor, stream: TcpStream, stop: &Stop) -> Result<TlsStream<TcpStream>, NoTls> {
    let accepted = async move {
        spoken(&stream, stop).await?;
        tls.accept(stream).await.map_err(NoTls::Failed)
    };
    timeout(HANDSHAKE, accepted).await.unwrap_or_else(|_| Err(NoTls::Failed(io::ErrorKind::TimedOut.into())))
}

/// Waits for the client's first byte, and leaves it where it is.
async fn spoken(stream: &TcpStream, stop: &Stop) -> Result<(), NoTls> {
    let mut first = [0];
    tokio::select! {
        biased;
        () = stop.closing() => Err(NoTls::NotTried),
        seen = stream.peek(&mut first) => match seen {
            Ok(0) | Err(_) => Err(NoTls::NotTried),
            Ok(_) => Ok(()),
        },
    }
}
