//! The two steps in which a server ends.

use tokio_util::sync::CancellationToken;

/// Tells a server, and all its connections, how far its end has come.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    leave: CancellationToken,
    close: CancellationToken,
}

impl Stop {
    /// Every answer from now on asks its client to take another connection; new connections are still served.
    pub fn leave(&self) {
        self.leave.cancel();
    }

    /// No new connections; idle ones are closed.
    pub fn close(&self) {
        self.leave();
        self.close.cancel();
    }

    pub(super) fn leaving(&self) -> bool {
        self.leave.is_cancelled()
    }

    pub(super) async fn closing(&self) {
        self.close.cancelled().await;
    }
}
