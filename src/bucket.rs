//! A token bucket.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many at once, and then so many a second. Whoever comes is served in the order of coming.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    /// How far the due time may lie behind: what has been saved up.
    saved: Duration,
    /// When the next token is due.
    due: Mutex<Instant>,
}

impl Bucket {
    /// A full bucket of `burst` tokens, to which `rate` come a second.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / rate.max(1);
        let saved = interval * burst.saturating_sub(1);
        let now = Instant::now();
        Self { interval, saved, due: Mutex::new(now.checked_sub(saved).unwrap_or(now)) }
    }

    /// Takes a token, and waits until it is there. One that is no longer waited for is lost.
    pub(crate) async fn take(&self) {
        let wait = self.reserve(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a token if it is there now.
    pub(crate) fn try_take(&self) -> bool {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if *due > now {
            return false;
        }
        *due = (*due).max(now.checked_sub(self.saved).unwrap_or(now)) + self.interval;
        true
    }

    /// How long to wait for the next token.
    fn reserve(&self, now: Instant) -> Duration {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(self.saved).unwrap_or(now);
        let mine = (*due).max(earliest);
        *due = mine + self.interval;
        mine.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_rate() {
        let bucket = Bucket::new(10, 3);
        let now = Instant::now();
        let waits = |count: usize, now| (0..count).map(|_| bucket.reserve(now).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits(5, now), [0, 0, 0, 100, 200]);
        assert_eq!(waits(1, now + Duration::from_millis(250)), [50], "what is reserved counts");
        assert_eq!(waits(4, now + Duration::from_mins(1)), [0, 0, 0, 100], "no more is saved up than the burst");
        assert!(!bucket.try_take(), "the next ones are reserved");
    }

    #[test]
    fn who_does_not_wait_reserves_nothing() {
        let bucket = Bucket::new(1, 2);
        assert_eq!([0; 4].map(|_| bucket.try_take()), [true, true, false, false]);
    }
}
