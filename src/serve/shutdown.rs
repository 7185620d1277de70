//! Shutdown of a server in two phases.

use tokio_util::sync::CancellationToken;

/// Shutdown signal of a server and all its connections.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    close: CancellationToken,
}

impl Shutdown {
    /// Starts draining: every response from now on closes its connection; new connections are still accepted.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Stops accepting connections, and closes idle ones.
    pub fn close(&self) {
        self.drain();
        self.close.cancel();
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    pub(super) async fn closed(&self) {
        self.close.cancelled().await;
    }
}
