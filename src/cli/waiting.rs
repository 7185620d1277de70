//! A sign of life while a cluster is asked.

use std::io::{self, IsTerminal as _, Write as _};

use super::progress::PATIENCE;

/// Waits for `work`; shows `what` on standard error, when that is a terminal, while it takes longer.
pub(super) async fn waiting<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    let shown = io::stderr().is_terminal();
    if shown {
        // A line that cannot be shown is no reason to stop.
        let _ = write!(io::stderr(), "{what} …");
    }
    let done = work.await;
    if shown {
        // As above.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    done
}
