//! Waiting for an event within a deadline.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// Time enough for any one event on a busy machine: where the nodes of two clusters start pods, and clients' back-off has
/// grown to half a minute, some take over one.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Between two looks: soon enough for a person, and seldom enough for an apiserver that many ask.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks until `probe` has found what it looks for, and returns that. Its error is the state that it found instead; the
/// last one is told when the deadline has passed.
pub fn eventually<T, S: Display>(deadline: Duration, what: &str, mut probe: impl FnMut() -> Result<T, S>) -> T {
    let end = Instant::now() + deadline;
    loop {
        match probe() {
            Ok(found) => return found,
            Err(state) if Instant::now() >= end => panic!("not within {deadline:?}: {what}; last seen: {state}"),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
