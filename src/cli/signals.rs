//! The signals that end a server. One owner for the process: nothing else listens for them.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, and SIGINT for a person at a terminal.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens from here on; the signals no longer end the process by themselves.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
