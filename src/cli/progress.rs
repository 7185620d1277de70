//! A progress counter for long runs.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Delay before progress is shown.
pub(super) const DISPLAY_DELAY: Duration = Duration::from_secs(2);
/// Update interval of the counter.
const INTERVAL: Duration = Duration::from_millis(200);

/// Counts pods on standard error if that is a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    count: usize,
    total: Option<usize>,
    interval: Duration,
    next: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// Creates a counter for pods that the command prints, which is only shown if standard output is not a terminal.
    pub(super) fn new() -> Self {
        let wanted = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let next = wanted.then(|| Instant::now() + DISPLAY_DELAY);
        Self { count: 0, total: None, interval: INTERVAL, next, shown: false }
    }

    /// Creates a counter that shows each of `total` pods.
    #[cfg(feature = "cluster")]
    pub(super) fn with_total(total: usize) -> Self {
        let next = io::stderr().is_terminal().then(Instant::now);
        Self { count: 0, total: Some(total), interval: Duration::ZERO, next, shown: false }
    }

    /// Counts a pod.
    #[cfg(feature = "cluster")]
    pub(super) fn tick(&mut self) {
        self.add(1);
    }

    /// Counts pods.
    pub(super) fn add(&mut self, pods: usize) {
        self.count += pods;
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            self.next = Some(now + self.interval);
            self.shown = true;
            let total = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
            // A counter that cannot be written is no reason to stop.
            let _ = write!(io::stderr(), "\r{}{total} pods …", self.count);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // A counter that cannot be removed is no reason to stop.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
