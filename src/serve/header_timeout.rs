//! A stream with a timeout for the request header, counted from its first byte, and for responses that the client does
//! not read.
//!
//! hyper's own timeout counts from the end of the previous request: a value that stops clients from sending a header
//! byte by byte would also close the apiserver's idle connections.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::slots::{RequestState, Slot};
use super::write_deadline::WriteDeadline;

/// Timeout of a request header. The apiserver sends it in one segment.
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);

/// A stream that reports progress to its slot, and fails if the request header or reading the response takes too long.
pub(super) struct HeaderTimeout<S> {
    stream: S,
    slot: Arc<Slot>,
    header_deadline: Option<Pin<Box<Sleep>>>,
    write_deadline: WriteDeadline,
}

impl<S> HeaderTimeout<S> {
    pub(super) fn new(stream: S, slot: Arc<Slot>) -> Self {
        Self { stream, slot, header_deadline: None, write_deadline: WriteDeadline::default() }
    }

    fn limit_write<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            self.slot.record_blocked_write();
        }
        self.write_deadline.limit(polled, context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeaderTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if !matches!(self.slot.state(), RequestState::Idle | RequestState::Header) {
            // The header is complete; the handler limits the time of the body.
            self.header_deadline = None;
            return read;
        }
        if self.slot.state() == RequestState::Idle {
            // A leftover of the previous request.
            self.header_deadline = None;
        }
        if buffer.filled().len() > before {
            self.slot.record_received();
            self.header_deadline.get_or_insert_with(|| Box::pin(sleep(HEADER_TIMEOUT)));
        }
        let expired = |limit: &mut Pin<Box<Sleep>>| limit.as_mut().poll(context).is_ready();
        if read.is_pending() && self.header_deadline.as_mut().is_some_and(expired) {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "timed out while reading the request header",
            )));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeaderTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit_write(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.limit_write(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        if polled.is_ready() {
            self.write_deadline.clear();
            self.slot.record_flush();
        }
        self.limit_write(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit_write(polled, context)
    }
}
