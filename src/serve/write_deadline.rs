//! Deadline for a response that the client does not read.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// Time from the first blocked write of a response until all of it must be sent. It is a total, so that reading single
/// bytes does not extend it; it suffices for a scrape at 100 kbit/s.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Deadline of the current response; it starts with the first blocked write.
#[derive(Default)]
pub(super) struct WriteDeadline(Option<Pin<Box<Sleep>>>);

impl WriteDeadline {
    /// Returns `polled`, or an error after the deadline.
    pub(super) fn limit<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending()
            && self.0.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT))).as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read the response")));
        }
        polled
    }

    /// Clears the deadline after all data was sent.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
