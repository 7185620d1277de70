//! Limits concurrent reviews: a parsed object takes many times the memory of its bytes.
//!
//! An ordinary review takes less time than a switch to another thread; a large one would block all connections of its
//! thread.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task;

use super::failure::Failure;
use super::limits::LARGE_BODY;

/// Bytes of small bodies under review at a time. Some JSON takes 150 times its length, including the copy for
/// verification: the limit bounds the memory to 20 MiB and still keeps two cores busy.
const SMALL_BYTES: usize = 2 * LARGE_BODY;
/// Minimum number of permits of a body: the patch of a fabric adds about this much to every pod.
const MIN_BYTES: usize = 16 * 1024;
/// Number of large reviews at a time: each may take 30 MiB at the limit of nodes.
const LARGE_REVIEWS: usize = 1;

/// Permits for reviews.
pub(super) struct ReviewLimiter {
    small: Semaphore,
    large: Arc<Semaphore>,
}

impl ReviewLimiter {
    pub(super) fn new() -> Self {
        Self { small: Semaphore::new(SMALL_BYTES), large: Arc::new(Semaphore::new(LARGE_REVIEWS)) }
    }

    /// Runs `work` on a body of `length` bytes: inline if it is small, else on a blocking thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        length: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        if length <= LARGE_BODY {
            let bytes = u32::try_from(length.max(MIN_BYTES)).unwrap_or(u32::MAX);
            // The semaphores are never closed.
            let _permit = self.small.acquire_many(bytes).await.ok();
            return Ok(work());
        }
        let permit = Arc::clone(&self.large).acquire_owned().await.ok();
        let done = task::spawn_blocking(move || {
            // Held until the work completes, even if its caller is gone.
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
    async fn only_large_work_moves_to_another_thread() {
        let pool = ReviewLimiter::new();
        let here = thread::current().id();
        assert_eq!(pool.run(LARGE_BODY, || thread::current().id()).await.unwrap(), here);
        assert_ne!(pool.run(LARGE_BODY + 1, || thread::current().id()).await.unwrap(), here);
    }

    #[tokio::test]
    async fn a_panic_in_large_work_is_a_failure() {
        let pool = ReviewLimiter::new();
        let failed = pool.run(LARGE_BODY + 1, || panic!("in large work")).await;
        assert!(matches!(failed, Err(Failure::Panicked)));
        assert_eq!(pool.run(LARGE_BODY + 1, || 1).await.unwrap(), 1, "the permit is released");
    }

    #[tokio::test]
    async fn large_reviews_run_one_at_a_time() {
        let pool = ReviewLimiter::new();
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
        let two = async { tokio::join!(pool.run(LARGE_BODY + 1, work(0)), pool.run(LARGE_BODY + 1, work(1))) };
        let watch = async {
            let mut first = Vec::new();
            while first.is_empty() {
                first.extend(started.try_iter());
                task::yield_now().await;
            }
            assert_eq!(first, [0], "the second waits");
            assert_eq!(pool.large.available_permits(), 0);
            assert_eq!(pool.run(LARGE_BODY, || 1).await.unwrap(), 1, "a small one does not");
            for _ in 0..2 {
                free.send(()).unwrap();
            }
        };
        let (done, ()) = tokio::join!(two, watch);
        assert!(done.0.is_ok() && done.1.is_ok());
    }
}
