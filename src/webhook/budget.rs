//! Limits the memory of request bodies, from their first byte to the response.
//!
//! A client that sends a body slowly, or not at all, must not block others: if the budget is exhausted, the oldest
//! incomplete bodies are evicted, never a complete one. Small bodies have a budget of their own, so that large ones
//! never delay ordinary reviews.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout_at};

use super::limits::LARGE_BODY;

/// Budget of small bodies: more than a hundred of the usual 17 KiB, each of which takes a millisecond.
const SMALL_SHARE: usize = 2 * 1024 * 1024;
/// Budget of large bodies: two of the maximum length, and some more of the usual large ones.
const LARGE_SHARE: usize = 10 * 1024 * 1024;
/// Time for which a large body is protected from eviction. An apiserver sends 4 MiB within 40 ms at 1 Gbit/s.
const LARGE_GRACE: Duration = Duration::from_millis(100);
/// Interval at which a waiting body evicts others that have lost their protection.
const EVICTION_INTERVAL: Duration = Duration::from_millis(50);

/// The memory budget of all bodies.
pub(super) struct Budget {
    small: Arc<Share>,
    large: Arc<Share>,
}

/// Memory reserved for a body, released on drop.
pub(super) struct Reservation {
    share: Arc<Share>,
    id: u64,
    evicted: Arc<Notify>,
    held: Option<OwnedSemaphorePermit>,
}

/// Reason why a body gets no memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReserveError {
    /// The body was evicted in favor of others.
    Evicted,
    /// No memory became available in time.
    Timeout,
}

struct Share {
    free: Arc<Semaphore>,
    /// Time for which a body is protected from eviction.
    grace: Duration,
    incomplete: Mutex<IncompleteBodies>,
}

/// Bodies that are being received, oldest first.
#[derive(Default)]
struct IncompleteBodies {
    next_id: u64,
    bodies: BTreeMap<u64, IncompleteBody>,
}

struct IncompleteBody {
    since: Instant,
    held: usize,
    evicted: Arc<Notify>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { small: Share::new(SMALL_SHARE, Duration::ZERO), large: Share::new(LARGE_SHARE, LARGE_GRACE) }
    }

    /// Registers a body of `length` bytes, if known. It holds no memory yet.
    pub(super) fn begin(&self, length: Option<usize>) -> Reservation {
        let small = length.is_some_and(|length| length <= LARGE_BODY);
        let share = Arc::clone(if small { &self.small } else { &self.large });
        let evicted = Arc::new(Notify::new());
        let id = share.lock().add(Arc::clone(&evicted));
        Reservation { share, id, evicted, held: None }
    }
}

impl Reservation {
    /// Waits until `bytes` more are available, at most until `deadline`.
    pub(super) async fn grow(&mut self, bytes: usize, deadline: tokio::time::Instant) -> Result<(), ReserveError> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = if let Ok(permit) = Arc::clone(&self.share.free).try_acquire_many_owned(permits) {
            permit
        } else {
            let waiting = timeout_at(deadline, self.wait(permits, bytes));
            waiting.await.map_err(|_| ReserveError::Timeout)?.ok_or(ReserveError::Evicted)?
        };
        if let Some(receiving) = self.share.lock().bodies.get_mut(&self.id) {
            receiving.held += bytes;
        }
        match &mut self.held {
            Some(held) => held.merge(permit),
            held => *held = Some(permit),
        }
        Ok(())
    }

    /// Waits until this body is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Marks the body as complete: it can no longer be evicted.
    pub(super) fn complete(&self) {
        self.share.lock().bodies.remove(&self.id);
    }

    /// Waits for `permits`; returns `None` if this body is evicted meanwhile.
    async fn wait(&self, permits: u32, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let mut permit = std::pin::pin!(Arc::clone(&self.share.free).acquire_many_owned(permits));
        loop {
            self.share.lock().evict(bytes, self.share.grace, self.id);
            tokio::select! {
                biased;
                () = self.evicted() => return None,
                // The semaphore is never closed.
                permit = &mut permit => return permit.ok(),
                () = sleep(EVICTION_INTERVAL) => {}
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
    fn new(bytes: usize, grace: Duration) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(bytes)), grace, incomplete: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, IncompleteBodies> {
        self.incomplete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IncompleteBodies {
    fn add(&mut self, evicted: Arc<Notify>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.bodies.insert(id, IncompleteBody { since: Instant::now(), held: 0, evicted });
        id
    }

    /// Evicts the oldest bodies that hold memory, except `id`, until `bytes` are available.
    fn evict(&mut self, bytes: usize, grace: Duration, id: u64) {
        let mut freed = 0;
        self.bodies.retain(|&found, body| {
            if freed >= bytes || found == id || body.held == 0 || body.since.elapsed() < grace {
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
