//! Sends a POST request to a port of a pod's loopback interface through the `portforward` subresource.

use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::{Instant, timeout, timeout_at};

use super::{ContainerRef, MAX_RESPONSE, ResponseTooLong, connect_error, connect_timeout, outcome, response_too_long};
use trainmesh_core::error::chain;
use trainmesh_core::lifecycle::{AttemptOutcome, AttemptResult};

/// Time to wait for the kubelet's reason after the stream has ended.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// Aborts the forwarder on drop; by itself it would keep its connection.
struct Forwarder(Portforwarder);

/// Limits the bytes read from a stream: a server can send interim (1xx) responses without end.
struct LimitedStream {
    stream: DuplexStream,
    remaining: usize,
}

/// Posts to `path` at `port` until `deadline`.
pub(super) async fn post(
    pods: &Api<Pod>,
    target: ContainerRef<'_>,
    port: u16,
    path: &str,
    deadline: Instant,
) -> AttemptOutcome {
    let mut forwarder = match timeout_at(deadline, pods.portforward(target.pod, &[port])).await {
        Ok(Ok(forwarder)) => Forwarder(forwarder),
        Ok(Err(error)) => return connect_error::classify(&error),
        Err(_) => return connect_timeout(),
    };
    let (stream, reason) = (forwarder.0.take_stream(port), forwarder.0.take_error(port));
    let (Some(stream), Some(reason)) = (stream, reason) else {
        return outcome(AttemptResult::Failed, format!("no stream to port {port}"));
    };
    match timeout_at(deadline, exchange(stream, path)).await {
        Ok(Ok(status)) if status.is_success() => outcome(AttemptResult::Sent, format!("HTTP {status}")),
        Ok(Ok(status)) => outcome(AttemptResult::Refused, format!("HTTP {status}")),
        Ok(Err(error)) if error.is_response_too_long() => response_too_long(&format!("port {port}")),
        Ok(Err(error)) => match timeout(REASON_TIMEOUT, reason).await {
            Ok(Some(reason)) => connect_failed(port, &reason),
            _ => closed_early(&error),
        },
        Err(_) => outcome(AttemptResult::TimedOut, format!("no response from port {port} in time")),
    }
}

async fn exchange(stream: DuplexStream, path: &str) -> Result<StatusCode, ExchangeError> {
    let request = Request::post(path).header(HOST, "localhost").header(CONNECTION, "close");
    let request = request.body(Empty::<Bytes>::new()).map_err(ExchangeError::Request)?;
    let stream = LimitedStream { stream, remaining: MAX_RESPONSE };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(ExchangeError::Stream)?;
    // The response is dropped with its body, so the connection closes.
    let response = async move { sender.send_request(request).await.map(|response| response.status()) };
    let (response, _) = tokio::join!(response, connection);
    response.map_err(ExchangeError::Stream)
}

#[derive(Debug, thiserror::Error)]
enum ExchangeError {
    #[error("invalid path")]
    Request(#[source] hyper::http::Error),
    #[error("the connection closed")]
    Stream(#[source] hyper::Error),
}

impl ExchangeError {
    fn is_response_too_long(&self) -> bool {
        let Self::Stream(error) = self else { return false };
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        cause.and_then(io::Error::get_ref).is_some_and(<dyn std::error::Error + Send + Sync>::is::<ResponseTooLong>)
    }
}

/// Classifies the kubelet's reason for a failed connection.
fn connect_failed(port: u16, reason: &str) -> AttemptOutcome {
    if reason.contains("connection refused") {
        return outcome(AttemptResult::Refused, format!("connection to port {port} refused"));
    }
    // The cause is at the end of a long chain.
    let cause = reason.rsplit_once("failed to ").map_or(reason, |(_, cause)| cause);
    outcome(AttemptResult::Failed, format!("could not connect to port {port}: {cause}"))
}

/// Classifies a connection without a response, as from a proxy that exits at once.
fn closed_early(error: &ExchangeError) -> AttemptOutcome {
    let result = match error {
        ExchangeError::Stream(_) => AttemptResult::Sent,
        ExchangeError::Request(_) => AttemptResult::Failed,
    };
    outcome(result, chain(error))
}

impl AsyncRead for LimitedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len().saturating_sub(before);
        match self.remaining.checked_sub(read) {
            Some(remaining) => {
                self.remaining = remaining;
                polled
            }
            None => Poll::Ready(Err(io::Error::other(ResponseTooLong))),
        }
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Checks the result from a server that reads the request, writes `response` and closes.
    #[rstest]
    #[case::envoy("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nOK\n\r\n0\r\n\r\n", Ok(200))]
    #[case::refused("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nForbidden", Ok(403))]
    #[case::missing_body("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Ok(200))]
    #[case::empty("", Err(AttemptResult::Sent))]
    #[case::incomplete_status_line("HTTP/1.1 2", Err(AttemptResult::Sent))]
    #[tokio::test]
    async fn classifies_responses(#[case] answer: &str, #[case] expected: Result<u16, AttemptResult>) {
        let (client, mut server_end) = tokio::io::duplex(4096);
        let server = async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(server_end.read_u8().await.unwrap());
            }
            server_end.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(head).unwrap()
        };
        let (found, head) = tokio::join!(exchange(client, "/quitquitquit"), server);
        assert!(head.starts_with("POST /quitquitquit HTTP/1.1\r\n"), "{head}");
        assert_eq!(found.map(|status| status.as_u16()).map_err(|error| closed_early(&error).result), expected);
    }

    /// Runs a server that repeats `response` for as long as it is read.
    #[rstest]
    #[case::interim_responses("HTTP/1.1 100 Continue\r\n\r\n")]
    #[case::one_line("x")]
    #[case::fields("HTTP/1.1 200 OK\r\na: b\r\n")]
    #[tokio::test]
    async fn an_endless_response_is_rejected(#[case] response: &str) {
        let (client, mut server_end) = tokio::io::duplex(4096);
        let server = async move {
            let mut sent = 0;
            while server_end.write_all(response.as_bytes()).await.is_ok() {
                sent += response.len();
            }
            sent
        };
        let (found, sent) = tokio::join!(exchange(client, "/quitquitquit"), server);
        assert!(sent <= 2 * MAX_RESPONSE, "{sent} bytes were read");
        let error = found.unwrap_err();
        // Anything that is not HTTP fails earlier.
        assert!(error.is_response_too_long() || response != "HTTP/1.1 100 Continue\r\n\r\n", "{error:?}");
    }

    #[rstest]
    #[case::connection_refused(
        "error forwarding port 15020 to pod 8ab, uid : failed to execute portforward: failed to connect to localhost:15020 inside namespace, IPv4: dial tcp4 127.0.0.1:15020: connect: connection refused",
        AttemptResult::Refused,
        "connection to port 15020 refused"
    )]
    #[case::anything_else(
        "error forwarding port 15020 to pod 8ab, uid : failed to find sandbox",
        AttemptResult::Failed,
        "could not connect to port 15020: find sandbox"
    )]
    fn classifies_failed_connections(#[case] reason: &str, #[case] expected: AttemptResult, #[case] detail: &str) {
        assert_eq!(connect_failed(15020, reason), AttemptOutcome { result: expected, detail: detail.to_owned() });
    }
}
