//! A request body that reports its completion.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::slots::Slot;

/// A request body that reports to its slot when its end has been read.
pub(super) struct TrackedBody {
    body: Incoming,
    slot: Arc<Slot>,
}

impl TrackedBody {
    pub(super) fn new(body: Incoming, slot: Arc<Slot>) -> Self {
        if body.is_end_stream() {
            slot.record_request();
        }
        Self { body, slot }
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.slot.record_request();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
