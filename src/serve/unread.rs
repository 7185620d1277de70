//! A limit for a response that its client does not read.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// How long a response may take from the moment at which the client's window is full until all of it is sent. Counted in
/// total, so that reading a byte now and then does not help; enough for a scrape over 100 kbit/s.
const WRITE: Duration = Duration::from_secs(10);

/// The time of a response that is being written, from its first blocked write on.
#[derive(Default)]
pub(super) struct WriteDeadline(Option<Pin<Box<Sleep>>>);

impl WriteDeadline {
    /// Passes `polled` on, or an error once the deadline has passed.
    pub(super) fn limit<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() && self.0.get_or_insert_with(|| Box::pin(sleep(WRITE))).as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read the response")));
        }
        polled
    }

    /// All is sent.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
