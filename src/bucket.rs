//! A token bucket.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Allows a burst, then a constant rate.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    /// How far `due` may lie in the past: the capacity of the bucket as a duration.
    burst_window: Duration,
    /// Time at which the next token is available.
    due: Mutex<Instant>,
}

impl Bucket {
    /// Creates a full bucket of `burst` tokens that is refilled at `rate` per second.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / rate.max(1);
        let burst_window = interval * burst.saturating_sub(1);
        let now = Instant::now();
        Self { interval, burst_window, due: Mutex::new(now.checked_sub(burst_window).unwrap_or(now)) }
    }

    /// Takes a token if one is available now.
    pub(crate) fn try_take(&self) -> bool {
        self.try_take_at(Instant::now()).is_ok()
    }

    /// Takes a token if one is available at `now`; otherwise returns the time of the next one.
    pub(crate) fn try_take_at(&self, now: Instant) -> Result<(), Instant> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if *due > now {
            return Err(*due);
        }
        *due = (*due).max(now.checked_sub(self.burst_window).unwrap_or(now)) + self.interval;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_a_burst_and_then_the_rate() {
        let bucket = Bucket::new(10, 3);
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let take = |at| bucket.try_take_at(after(at)).is_ok();
        assert_eq!([0; 5].map(take), [true, true, true, false, false]);
        assert_eq!([50, 100, 150, 200, 250].map(take), [false, true, false, true, false]);
        assert_eq!(
            [60_000; 5].map(take),
            [true, true, true, false, false],
            "idle time does not add up to more than the burst"
        );
        let due = bucket.try_take_at(after(60_000)).unwrap_err();
        assert!(due > after(60_000) && due <= after(60_100), "one per 100 ms");
    }
}
