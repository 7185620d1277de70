//! A token bucket.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many at once, and then so many a second.
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

    /// Takes a token if it is there now.
    pub(crate) fn try_take(&self) -> bool {
        self.try_take_at(Instant::now()).is_ok()
    }

    /// Takes a token if it is there at `now`; `Err` says when the next one is.
    pub(crate) fn try_take_at(&self, now: Instant) -> Result<(), Instant> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if *due > now {
            return Err(*due);
        }
        *due = (*due).max(now.checked_sub(self.saved).unwrap_or(now)) + self.interval;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_rate() {
        let bucket = Bucket::new(10, 3);
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let take = |at| bucket.try_take_at(after(at)).is_ok();
        assert_eq!([0; 5].map(take), [true, true, true, false, false]);
        assert_eq!([50, 100, 150, 200, 250].map(take), [false, true, false, true, false]);
        assert_eq!([60_000; 5].map(take), [true, true, true, false, false], "no more is saved up than the burst");
        let due = bucket.try_take_at(after(60_000)).unwrap_err();
        assert!(due > after(60_000) && due <= after(60_100), "one comes each tenth of a second");
    }
}
