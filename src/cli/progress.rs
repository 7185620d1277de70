//! A progress counter for long runs.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Delay before progress is shown.
pub(super) const DISPLAY_DELAY: Duration = Duration::from_secs(2);
/// Update interval of the counter.
const INTERVAL: Duration = Duration::from_millis(200);

/// Counts pods on standard error if that is a terminal and standard output is not.
#[derive(Debug)]
pub(super) struct Progress {
    count: u64,
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        let wanted = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { count: 0, next: wanted.then(|| Instant::now() + DISPLAY_DELAY), shown: false }
    }

    /// Counts a pod.
    pub(super) fn tick(&mut self) {
        self.count += 1;
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            self.next = Some(now + INTERVAL);
            self.shown = true;
            // A counter that cannot be written is no reason to stop.
            let _ = write!(io::stderr(), "\r{} pods …", self.count);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // As above.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
