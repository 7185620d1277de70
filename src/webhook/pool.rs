//! Where reviews are worked on, and how many at a time: a parsed object takes many times the memory of its bytes.
//!
//! A review of the usual size takes less time than handing it to another thread; a large one would hold up every other
//! connection of its thread.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task;

use super::failure::Failure;
use super::limits::LARGE;

/// Bytes of small bodies worked on at a time. Some JSON takes 150 times its length with the copy that is checked: this
/// many bytes keep it below 20 MiB, and never keep two cores waiting.
const SMALL_BYTES: usize = 2 * LARGE;
/// What the shortest body counts for: a fabric writes much the same into every pod.
const LEAST_BYTES: usize = 16 * 1024;
/// Large reviews worked on at a time: each may take some 30 MiB at the limit on nodes.
const LARGE_REVIEWS: usize = 1;

/// The room for work.
pub(super) struct Pool {
    small: Semaphore,
    large: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { small: Semaphore::new(SMALL_BYTES), large: Arc::new(Semaphore::new(LARGE_REVIEWS)) }
    }

    /// Does `work` on a body of `length` bytes: here when it is small, else on another thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        length: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        if length <= LARGE {
            let bytes = u32::try_from(length.max(LEAST_BYTES)).unwrap_or(u32::MAX);
            // The semaphores are never closed.
            let _permit = self.small.acquire_many(bytes).await.ok();
            return Ok(work());
        }
        let permit = Arc::clone(&self.large).acquire_owned().await.ok();
        let done = task::spawn_blocking(move || {
            // Kept until the work ends, also when nobody waits for it any more.
            let _permit = permit;
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
        assert_eq!(pool.run(LARGE, || thread::current().id()).await.unwrap(), here);
        assert_ne!(pool.run(LARGE + 1, || thread::current().id()).await.unwrap(), here);
    }

    #[tokio::test]
    async fn a_panic_in_large_work_is_a_failure() {
        let pool = Pool::new();
        let failed = pool.run(LARGE + 1, || panic!("in large work")).await;
        assert!(matches!(failed, Err(Failure::Panicked)));
        assert_eq!(pool.run(LARGE + 1, || 1).await.unwrap(), 1, "its place is free again");
    }

    #[tokio::test]
    async fn one_large_review_at_a_time() {
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
        let two = async { tokio::join!(pool.run(LARGE + 1, work(0)), pool.run(LARGE + 1, work(1))) };
        let watch = async {
            let mut first = Vec::new();
            while first.is_empty() {
                first.extend(started.try_iter());
                task::yield_now().await;
            }
            assert_eq!(first, [0], "the second waits");
            assert_eq!(pool.large.available_permits(), 0);
            assert_eq!(pool.run(LARGE, || 1).await.unwrap(), 1, "a small one does not");
            for _ in 0..2 {
                free.send(()).unwrap();
            }
        };
        let (done, ()) = tokio::join!(two, watch);
        assert!(done.0.is_ok() && done.1.is_ok());
    }
}
