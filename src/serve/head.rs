//! A limit for the head of a call, counted from its first byte.
//!
//! hyper's own limit counts from the end of the last call: short enough against clients that send a head byte by byte,
//! it would close idle connections under the apiserver's feet.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long the head of a call may take. The apiserver sends it in one piece.
const HEAD: Duration = Duration::from_secs(2);

/// Whether a call is being answered on a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy(Arc<AtomicBool>);

/// A call that is being answered, until it is dropped.
pub(super) struct Call(Busy);

/// A stream that fails a read once the head of a call takes too long.
pub(super) struct Impatient<S> {
    stream: S,
    busy: Busy,
    limit: Option<Pin<Box<Sleep>>>,
}

impl Busy {
    /// Marks the begin of a call.
    pub(super) fn call(&self) -> Call {
        self.0.store(true, Ordering::Relaxed);
        Call(self.clone())
    }

    fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S, busy: Busy) -> Self {
        Self { stream, busy, limit: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.busy.now() {
            // The head is complete; how long its body may take is the call's own limit.
            self.limit = None;
            return read;
        }
        if buffer.filled().len() > before {
            self.limit.get_or_insert_with(|| Box::pin(sleep(HEAD)));
        }
        let expired = |limit: &mut Pin<Box<Sleep>>| limit.as_mut().poll(context).is_ready();
        if read.is_pending() && self.limit.as_mut().is_some_and(expired) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the head of a call took too long")));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
