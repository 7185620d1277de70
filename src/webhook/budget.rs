//! How much memory bodies may take: one number of bytes for all calls, from their first byte to their answer.
//!
//! Who sends a body slowly, or not at all, must not keep memory from others: where there is none left, the oldest bodies
//! that are still incomplete are dropped, and never one that is complete. Small bodies have a share of their own, so that
//! no number of large ones delays the ordinary review.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout_at};

use super::limits::LARGE;

/// The share of small bodies: more than a hundred of the usual 17 KiB at a time, where each takes a millisecond.
const SMALL_SHARE: usize = 2 * 1024 * 1024;
/// The share of large bodies: two of the longest, and room for some of the usual large ones.
const LARGE_SHARE: usize = 10 * 1024 * 1024;
/// How long a large body is left to be received before it may be dropped for others. An apiserver writes 4 MiB within
/// 40 ms on a network of 1 Gbit/s.
const LARGE_PATIENCE: Duration = Duration::from_millis(100);
/// How often who waits looks for bodies that may be dropped by then.
const LOOK: Duration = Duration::from_millis(50);

/// The memory of all bodies.
pub(super) struct Budget {
    small: Arc<Share>,
    large: Arc<Share>,
}

/// What one body holds of the budget, given back when it is dropped.
pub(super) struct Reservation {
    share: Arc<Share>,
    number: u64,
    evicted: Arc<Notify>,
    held: Option<OwnedSemaphorePermit>,
}

/// Why there is no memory for a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// It was dropped for others.
    Evicted,
    /// None was free in time.
    InTime,
}

struct Share {
    free: Arc<Semaphore>,
    /// How long a body is safe from being dropped.
    patience: Duration,
    incomplete: Mutex<Incomplete>,
}

/// The bodies that are being received, in the order of their beginning.
#[derive(Default)]
struct Incomplete {
    next: u64,
    bodies: BTreeMap<u64, Receiving>,
}

struct Receiving {
    since: Instant,
    held: usize,
    evicted: Arc<Notify>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { small: Share::new(SMALL_SHARE, Duration::ZERO), large: Share::new(LARGE_SHARE, LARGE_PATIENCE) }
    }

    /// Begins with a body of `length` bytes, as far as that is known; it holds nothing yet.
    pub(super) fn begin(&self, length: Option<usize>) -> Reservation {
        let small = length.is_some_and(|length| length <= LARGE);
        let share = Arc::clone(if small { &self.small } else { &self.large });
        let evicted = Arc::new(Notify::new());
        let number = share.lock().add(Arc::clone(&evicted));
        Reservation { share, number, evicted, held: None }
    }
}

impl Reservation {
    /// Waits until `bytes` more are free, at most to `deadline`.
    pub(super) async fn grow(&mut self, bytes: usize, deadline: tokio::time::Instant) -> Result<(), NoRoom> {
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = if let Ok(permit) = Arc::clone(&self.share.free).try_acquire_many_owned(wanted) {
            permit
        } else {
            let waiting = timeout_at(deadline, self.wait(wanted, bytes));
            waiting.await.map_err(|_| NoRoom::InTime)?.ok_or(NoRoom::Evicted)?
        };
        if let Some(receiving) = self.share.lock().bodies.get_mut(&self.number) {
            receiving.held += bytes;
        }
        match &mut self.held {
            Some(held) => held.merge(permit),
            held => *held = Some(permit),
        }
        Ok(())
    }

    /// Waits until this body is dropped for others.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// The body is complete: it is not dropped any more.
    pub(super) fn complete(&self) {
        self.share.lock().bodies.remove(&self.number);
    }

    /// `None` when this body is dropped while it waits.
    async fn wait(&self, wanted: u32, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let mut permit = std::pin::pin!(Arc::clone(&self.share.free).acquire_many_owned(wanted));
        loop {
            self.share.lock().evict(bytes, self.share.patience, self.number);
            tokio::select! {
                biased;
                () = self.evicted() => return None,
                // The semaphore is never closed.
                permit = &mut permit => return permit.ok(),
                () = sleep(LOOK) => {}
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.complete();
    }
}

impl Share {
    fn new(bytes: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(bytes)), patience, incomplete: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Incomplete> {
        self.incomplete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Incomplete {
    fn add(&mut self, evicted: Arc<Notify>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.bodies.insert(number, Receiving { since: Instant::now(), held: 0, evicted });
        number
    }

    /// Drops the oldest bodies that hold something, except `number`, until `bytes` are free.
    fn evict(&mut self, bytes: usize, patience: Duration, number: u64) {
        let mut freed = 0;
        self.bodies.retain(|&found, body| {
            if freed >= bytes || found == number || body.held == 0 || body.since.elapsed() < patience {
                return true;
            }
            freed += body.held;
            body.evicted.notify_one();
            false
        });
    }
}

#[cfg(test)]
mod tests;
