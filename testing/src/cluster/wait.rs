//! Polls for a condition until a deadline.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// Deadline for any one event. On a busy machine with two clusters and clients that back off for half a minute, some
/// take minutes. It is shorter than the controller's resync, which would hide that it has missed a change.
pub const TIMEOUT: Duration = Duration::from_mins(4);

/// Interval between two probes: short for a test, but long enough for an apiserver that many tests poll.
const INTERVAL: Duration = Duration::from_millis(100);

/// Calls `probe` until it succeeds and returns its value. Panics when the deadline has passed, with `what` and the last
/// error, which describes the state that `probe` observed.
pub fn eventually<T, S: Display>(deadline: Duration, what: &str, probe: impl FnMut() -> Result<T, S>) -> T {
    match within(deadline, probe) {
        Ok(found) => found,
        Err(state) => panic!("timed out after {deadline:?}: {what}; last state: {state}"),
    }
}

/// Calls `probe` until it succeeds, or the deadline has passed. Returns its last result.
pub fn within<T, S>(deadline: Duration, mut probe: impl FnMut() -> Result<T, S>) -> Result<T, S> {
    let end = Instant::now() + deadline;
    loop {
        match probe() {
            Err(_) if Instant::now() < end => thread::sleep(INTERVAL),
            result => return result,
        }
    }
}
