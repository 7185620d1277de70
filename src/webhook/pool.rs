//! Where large reviews are read and worked on, so that they keep nobody waiting.
//!
//! A review of the usual size takes less time than handing it to another thread; a large one would hold up every other
//! connection of its thread.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;

use super::failure::Failure;

/// Bodies from this length on are large. A pod of this length is rare: etcd takes 1.5 MiB at most.
pub(super) const LARGE: usize = 256 * 1024;
/// Large bodies in memory: at 8 MiB each, and some times that once parsed, more would not fit a small pod's limit.
const BODIES: usize = 4;
/// Large reviews worked on at a time: two threads make one large one not wait for another, and leave cores free.
const WORKERS: usize = 2;

/// The room for large reviews.
pub(super) struct Pool {
    bodies: Arc<Semaphore>,
    workers: Arc<Semaphore>,
}

/// Where a review is worked on: where it is, or apart with the room that it holds.
pub(super) struct Place {
    room: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// Where it is.
    pub(super) fn here() -> Self {
        Self { room: None }
    }

    pub(super) fn apart(&self) -> bool {
        self.room.is_some()
    }
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { bodies: Arc::new(Semaphore::new(BODIES)), workers: Arc::new(Semaphore::new(WORKERS)) }
    }

    /// Waits for room for a large body.
    pub(super) async fn room(&self) -> Place {
        // The semaphore is never closed.
        Place { room: Arc::clone(&self.bodies).acquire_owned().await.ok() }
    }

    /// Does `work` in its `place`.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        place: &Place,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        if !place.apart() {
            return Ok(work());
        }
        let worker = Arc::clone(&self.workers).acquire_owned().await;
        let done = task::spawn_blocking(move || {
            // Kept until the work ends, also when nobody waits for it any more.
            let _worker = worker;
            work()
        });
        done.await.map_err(|_| Failure::Panicked)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn small_work_stays_and_large_work_leaves_its_thread() {
        let pool = Pool::new();
        let here = thread::current().id();
        assert_eq!(pool.run(&Place::here(), || thread::current().id()).await.unwrap(), here);
        assert_ne!(pool.run(&pool.room().await, || thread::current().id()).await.unwrap(), here);
    }

    #[tokio::test]
    async fn a_panic_in_large_work_is_a_failure() {
        let pool = Pool::new();
        let failed = pool.run(&pool.room().await, || panic!("in large work")).await;
        assert!(matches!(failed, Err(Failure::Panicked)));
        assert_eq!(pool.run(&pool.room().await, || 1).await.unwrap(), 1, "its room is free again");
    }

    #[tokio::test]
    async fn two_large_reviews_at_a_time() {
        let pool = Pool::new();
        let (starting, started) = mpsc::channel();
        let (free, freed) = mpsc::channel::<()>();
        let freed = Arc::new(Mutex::new(freed));
        let work = |number: usize| {
            let (starting, freed) = (starting.clone(), Arc::clone(&freed));
            move || {
                starting.send(number).unwrap();
                freed.lock().unwrap().recv().unwrap();
            }
        };
        let rooms = [pool.room().await, pool.room().await, pool.room().await];
        let three = async {
            tokio::join!(pool.run(&rooms[0], work(0)), pool.run(&rooms[1], work(1)), pool.run(&rooms[2], work(2)))
        };
        let watch = async {
            let mut first = Vec::new();
            while first.len() < 2 {
                first.extend(started.try_iter());
                task::yield_now().await;
            }
            assert_eq!(pool.workers.available_permits(), 0);
            assert_eq!(first.len(), 2, "the third waits");
            for _ in 0..3 {
                free.send(()).unwrap();
            }
        };
        let (done, ()) = tokio::join!(three, watch);
        assert!(done.0.is_ok() && done.1.is_ok() && done.2.is_ok());
    }
}
