//! A stream with a limit for the head of a call, counted from its first byte, and for responses that nobody reads.
//!
//! hyper's own limit counts from the end of the last call: short enough against clients that send a head byte by byte,
//! it would close idle connections under the apiserver's feet.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::slots::{Slot, Step};
use super::unread::WriteDeadline;

/// How long the head of a call may take. The apiserver sends it in one piece.
const HEAD: Duration = Duration::from_secs(2);

/// A stream that reports progress to its slot, and fails once the head of a call or the client's reading takes too long.
pub(super) struct Impatient<S> {
    stream: S,
    slot: Arc<Slot>,
    head: Option<Pin<Box<Sleep>>>,
    write: WriteDeadline,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S, slot: Arc<Slot>) -> Self {
        Self { stream, slot, head: None, write: WriteDeadline::default() }
    }

    fn written<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            self.slot.write_blocked();
        }
        self.write.limit(polled, context)
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
        if !matches!(self.slot.step(), Step::Idle | Step::Head) {
            // The head is complete; how long its body may take is the call's own limit.
            self.head = None;
            return read;
        }
        if self.slot.step() == Step::Idle {
            // Of the call before.
            self.head = None;
        }
        if buffer.filled().len() > before {
            self.slot.received();
            self.head.get_or_insert_with(|| Box::pin(sleep(HEAD)));
        }
        let expired = |limit: &mut Pin<Box<Sleep>>| limit.as_mut().poll(context).is_ready();
        if read.is_pending() && self.head.as_mut().is_some_and(expired) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the head of a call took too long")));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        if polled.is_ready() {
            self.write.clear();
            self.slot.flushed();
        }
        self.written(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.written(polled, context)
    }
}
