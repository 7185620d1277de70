//! A status message during slow requests.

use std::io::{self, IsTerminal as _, Write as _};

use super::progress::DISPLAY_DELAY;

/// Runs `work`, and shows `message` on standard error, if that is a terminal, while it takes long.
pub(super) async fn with_status<T>(message: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(DISPLAY_DELAY, &mut work).await {
        return done;
    }
    let shown = io::stderr().is_terminal();
    if shown {
        // A message that cannot be written is no reason to stop.
        let _ = write!(io::stderr(), "{message} …");
    }
    let done = work.await;
    if shown {
        // A message that cannot be removed is no reason to stop.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    done
}
