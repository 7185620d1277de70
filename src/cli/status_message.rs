//! A status message during slow requests.

use std::io::{self, IsTerminal as _, Write as _};

use super::progress::DISPLAY_DELAY;

/// Runs `work`, and shows `message` on standard error, if that is a terminal, while it takes long.
pub(super) async fn with_status<T>(message: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(DISPLAY_DELAY, &mut work).await {
        return done;
    }
    let _shown = io::stderr().is_terminal().then(|| ShownMessage::new(message));
    work.await
}

/// A message on the terminal. It is removed when this is dropped, also if the work is canceled.
struct ShownMessage;

impl ShownMessage {
    fn new(message: &str) -> Self {
        // A message that cannot be written is no reason to stop.
        let _ = write!(io::stderr(), "{message} …");
        Self
    }
}

impl Drop for ShownMessage {
    fn drop(&mut self) {
        // Nor is one that cannot be removed.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
