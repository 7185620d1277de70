//! Maps items on several threads, and passes the results on in the order of the items.
//!
//! Each thread takes the next items as a batch, so that reading stays sequential. The size of all batches between reading
//! and consumption is limited, and an item above the limit is alone with the batches before it: memory depends neither on
//! the number of items nor on the number of large ones. Sizes are those of the items. Results are larger by a factor that
//! depends on `map`: a preview contains each pod of a manifest twice, and a manifest may have several roles.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// Limits of threads and of the sizes of items.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Number of threads.
    workers: usize,
    /// Size at which a batch is complete.
    batch: usize,
    /// Size of all batches at which no other is taken.
    in_flight: usize,
}

/// Maximum number of threads: the results are consumed on one thread, which is not faster than that.
const MAX_WORKERS: usize = 8;
/// Size at which a batch is complete, in bytes of text: some ten manifests, so that switches between threads take a small
/// fraction of the time.
const BATCH: usize = 16 << 10;
/// Batches in flight for each thread: one in work, one that waits for its turn, and two for manifests that take longer.
const BATCHES_PER_WORKER: usize = 4;

/// Items that the threads share.
struct Queue<I> {
    state: Mutex<State<I>>,
    /// Notified when `in_flight` decreases or the queue is closed.
    changed: Condvar,
    limits: Limits,
}

struct State<I> {
    items: I,
    /// Index of the next batch.
    next: usize,
    /// Size of the batches that are not yet consumed.
    in_flight: usize,
    /// Set at the end of the items, or when no more are needed.
    closed: bool,
}

/// Consecutive items, or their results.
struct Batch<T> {
    index: usize,
    size: usize,
    values: Vec<T>,
}

/// Closes the queue on drop, also if its thread panics: the other threads would wait forever.
struct CloseOnDrop<'queue, I>(&'queue Queue<I>);

impl Limits {
    /// Returns the limits for this machine.
    pub(super) fn of_machine() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers = cores.min(MAX_WORKERS);
        Self { workers, batch: BATCH, in_flight: BATCH * BATCHES_PER_WORKER * workers }
    }
}

/// Computes `map` for all `items` on several threads, and passes the results to `consume` on this thread, in order. `size`
/// returns the size of an item. If `consume` breaks, no further items are read.
pub(super) fn map_in_order<I: Iterator + Send, T: Send, B>(
    limits: Limits,
    items: I,
    size: impl Fn(&I::Item) -> usize + Sync,
    map: impl Fn(I::Item) -> T + Sync,
    consume: impl FnMut(T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let state = State { items, next: 0, in_flight: 0, closed: false };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new(), limits };
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..limits.workers {
            let (sender, queue, size, map) = (sender.clone(), &queue, &size, &map);
            scope.spawn(move || {
                let _close = CloseOnDrop(queue);
                while let Some(Batch { index, size, values }) = queue.take(size) {
                    let values = values.into_iter().map(map).collect();
                    // Without a receiver, the queue is closed.
                    let _ = sender.send(Batch { index, size, values });
                }
            });
        }
        drop(sender);
        let _close = CloseOnDrop(&queue);
        queue.consume(results, consume)
    })
}

impl<I: Iterator> Queue<I> {
    /// Takes the next batch. Waits while too many are in flight.
    fn take(&self, size: impl Fn(&I::Item) -> usize) -> Option<Batch<I::Item>> {
        let mut state = self.lock();
        while state.in_flight >= self.limits.in_flight && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut batch = Batch { index: state.next, size: 0, values: Vec::new() };
        while batch.size < self.limits.batch && !state.closed {
            match state.items.next() {
                Some(item) => {
                    batch.size += size(&item);
                    batch.values.push(item);
                }
                None => state.closed = true,
            }
        }
        state.next += 1;
        state.in_flight += batch.size;
        (!batch.values.is_empty()).then_some(batch)
    }

    /// Passes the results of all batches to `consume`, in order.
    fn consume<T, B>(
        &self,
        results: mpsc::Receiver<Batch<T>>,
        mut consume: impl FnMut(T) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut early = BTreeMap::new();
        let mut next = 0;
        for batch in results {
            early.insert(batch.index, batch);
            while let Some(batch) = early.remove(&next) {
                next += 1;
                batch.values.into_iter().try_for_each(&mut consume)?;
                self.lock().in_flight -= batch.size;
                self.changed.notify_all();
            }
        }
        ControlFlow::Continue(())
    }
}

impl<I> Queue<I> {
    fn lock(&self) -> MutexGuard<'_, State<I>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I> Drop for CloseOnDrop<'_, I> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rstest::rstest;

    use super::*;

    /// Size of all items between reading and consumption, now and at most.
    #[derive(Default)]
    struct Meter {
        now: AtomicUsize,
        peak: AtomicUsize,
    }

    impl Meter {
        fn add(&self, size: usize) {
            let now = self.now.fetch_add(size, Ordering::SeqCst) + size;
            self.peak.fetch_max(now, Ordering::SeqCst);
        }

        fn remove(&self, size: usize) {
            self.now.fetch_sub(size, Ordering::SeqCst);
        }
    }

    /// Takes longer for a larger item, so that batches complete out of order.
    fn work(size: usize) -> usize {
        for number in 0..size * 200 {
            std::hint::black_box(number);
        }
        size
    }

    fn limits(workers: usize) -> Limits {
        Limits { workers, batch: 10, in_flight: 40 }
    }

    /// Maps items of these sizes, and checks their order and the peak of their sizes.
    fn check(workers: usize, sizes: &[usize], peak: usize) {
        let meter = Meter::default();
        let items = sizes.iter().copied().inspect(|size| meter.add(*size));
        let mut consumed = Vec::new();
        let done = map_in_order(
            limits(workers),
            items,
            |size| *size,
            work,
            |size| {
                meter.remove(size);
                consumed.push(size);
                ControlFlow::<()>::Continue(())
            },
        );
        assert!(done.is_continue());
        assert_eq!(consumed, sizes);
        let found = meter.peak.into_inner();
        assert!(found <= peak, "{found}");
    }

    /// The limit, and one batch whose last item exceeds it.
    const PEAK: usize = 40 + 10 + 20;

    #[rstest]
    #[case::none(2, Vec::new(), 0)]
    #[case::one(2, vec![1], 1)]
    #[case::one_worker(1, (0..500).map(|number| number * 7 % 20).collect(), PEAK)]
    #[case::two_workers(2, (0..2_000).map(|number| number * 7919 % 20).collect(), PEAK)]
    #[case::many_workers(8, (0..2_000).map(|number| number * 7919 % 20).collect(), PEAK)]
    #[case::large_items(4, vec![100, 1, 1, 100, 100, 1, 100], 40 + 10 + 100)]
    fn results_are_in_order_and_bounded(#[case] workers: usize, #[case] sizes: Vec<usize>, #[case] peak: usize) {
        check(workers, &sizes, peak);
    }

    #[test]
    fn a_break_stops_reading() {
        let read = AtomicUsize::new(0);
        let items = std::iter::repeat(1).inspect(|_| _ = read.fetch_add(1, Ordering::SeqCst));
        let mut consumed = 0;
        let done = map_in_order(
            limits(2),
            items,
            |size| *size,
            work,
            |_| {
                consumed += 1;
                if consumed == 100 { ControlFlow::Break("full") } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!((done, consumed), (ControlFlow::Break("full"), 100));
        assert!(read.into_inner() <= 100 + 40 + 10);
    }

    #[rstest]
    #[case::in_a_worker(true)]
    #[case::in_the_consumer(false)]
    #[should_panic(expected = "panicked")]
    fn a_panic_ends_all_threads(#[case] in_worker: bool) {
        let fail = |size: usize| {
            assert!(size < 100, "panicked");
            size
        };
        let map = |size| if in_worker { fail(size) } else { size };
        let _ = map_in_order(
            limits(2),
            1..,
            |_| 1,
            map,
            |size| {
                let _ = if in_worker { size } else { fail(size) };
                ControlFlow::<()>::Continue(())
            },
        );
    }
}
