//! Limits concurrent actions: in total, per node and per namespace.
//!
//! Pods wait in one queue per namespace, served round-robin, so that the pods of one namespace never delay another. A
//! queued pod holds no slot: it gets a [`Turn`] when an action could start, is read again, and only then takes a slot
//! on its node with [`Turn::acquire`].
//!
//! The pod determines how long an action takes, because the command runs in its container. A namespace with slow
//! actions is limited to a small share of the slots, and a node whose kubelet does not respond is paused with
//! exponential backoff.

mod limits;
mod namespace;
mod node;
mod schedule;
#[cfg(test)]
mod simulation;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use limits::{QUEUE_FULL_DELAY, SLOT_TAKEN_DELAY};
use schedule::{Claim, Next, Schedule};
use trainmesh_core::lifecycle::AttemptResult;

/// The controller's limiter.
pub(super) struct ActionLimiter {
    shared: Arc<Shared>,
}

/// Permission to read a queued pod again, before it takes a slot. Counts against `MAX_TURNS` and the quota of its
/// namespace.
pub(super) struct Turn {
    shared: Arc<Shared>,
    /// `None` once it is used.
    claim: Option<Claim>,
}

/// A slot for one action, released on drop.
pub(super) struct Permit {
    shared: Arc<Shared>,
    /// `None` once it is released.
    claim: Option<Claim>,
    started: Instant,
}

struct Shared {
    state: Mutex<State>,
}

struct State {
    schedule: Schedule<oneshot::Sender<Result<Turn, Duration>>>,
    /// Set while a task waits for the next token.
    timer_running: bool,
}

impl ActionLimiter {
    pub(super) fn new() -> Self {
        let state = State { schedule: Schedule::new(), timer_running: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state) }) }
    }

    /// Waits in the queue for an action in a pod of `namespace` on `node`. Returns the delay before a retry if the node
    /// does not respond or the queue is full.
    pub(super) async fn wait_for_turn(&self, namespace: &str, node: &str) -> Result<Turn, Duration> {
        let (sender, receiver) = oneshot::channel();
        self.shared.lock().schedule.enqueue(namespace, node, sender, Instant::now())?;
        dispatch(&self.shared);
        // The limiter outlives all waiters.
        receiver.await.unwrap_or(Err(QUEUE_FULL_DELAY))
    }
}

impl Turn {
    /// Takes a slot on the node. Returns the delay before a retry if all have been taken meanwhile.
    pub(super) fn acquire(mut self) -> Result<Permit, Duration> {
        let Some(claim) = self.claim.take() else { return Err(SLOT_TAKEN_DELAY) };
        let now = Instant::now();
        let started = self.shared.lock().schedule.acquire(claim, now);
        dispatch(&self.shared);
        let claim = started?;
        Ok(Permit { shared: Arc::clone(&self.shared), claim: Some(claim), started: now })
    }

    /// Releases the turn; the caller then dispatches.
    fn cancel(mut self) {
        if let Some(claim) = self.claim.take() {
            self.shared.lock().schedule.cancel_turn(&claim);
        }
    }
}

impl Permit {
    /// Releases the slot and records the result of an action that was allowed to take up to `limit`.
    pub(super) fn finish(mut self, result: AttemptResult, limit: Duration) {
        if let Some(claim) = self.claim.take() {
            let elapsed = self.started.elapsed();
            self.shared.lock().schedule.finish(&claim, result, elapsed, limit, Instant::now());
            dispatch(&self.shared);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notifies all waiters that can proceed.
fn dispatch(shared: &Arc<Shared>) {
    loop {
        let mut state = shared.lock();
        let next = state.schedule.next(Instant::now());
        let wait = match next {
            Next::Idle => return,
            Next::WaitUntil(_) if state.timer_running => return,
            Next::WaitUntil(time) => {
                state.timer_running = true;
                time
            }
            Next::Grant(waiter, claim) => {
                drop(state);
                let turn = Turn { shared: Arc::clone(shared), claim: Some(claim) };
                // If the receiver is gone, the turn goes to the next waiter.
                if let Err(Ok(turn)) = waiter.send(Ok(turn)) {
                    turn.cancel();
                }
                continue;
            }
            Next::Reject(waiter, wait) => {
                drop(state);
                // A receiver that is gone needs no response.
                let _ = waiter.send(Err(wait));
                continue;
            }
        };
        drop(state);
        drop(tokio::spawn(dispatch_at(Arc::downgrade(shared), wait)));
        return;
    }
}

/// Dispatches when the next token is available.
async fn dispatch_at(shared: Weak<Shared>, time: Instant) {
    tokio::time::sleep_until(time.into()).await;
    if let Some(shared) = shared.upgrade() {
        shared.lock().timer_running = false;
        dispatch(&shared);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            self.shared.lock().schedule.cancel_turn(&claim);
            dispatch(&self.shared);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            self.shared.lock().schedule.release(&claim);
            dispatch(&self.shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::limits::MIN_PER_NODE;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn slots_are_released() {
        let limiter = ActionLimiter::new();
        for round in 0..20 {
            let turn = limiter.wait_for_turn("team-a", "a").await.expect("a turn");
            let permit = turn.acquire().expect("a slot");
            // Finished, or dropped with a canceled task.
            if round % 2 == 0 { permit.finish(AttemptResult::Sent, LIMIT) } else { drop(permit) }
        }
        assert_eq!(limiter.shared.lock().schedule.in_use(), 0);
    }

    #[tokio::test]
    async fn a_dropped_waiter_leaves_its_turn_to_the_next() {
        let limiter = ActionLimiter::new();
        let mut turns = Vec::new();
        for _ in 0..MIN_PER_NODE / 4 {
            turns.push(limiter.wait_for_turn("team-a", "a").await.expect("a turn"));
        }
        {
            let mut gone = std::pin::pin!(limiter.wait_for_turn("team-a", "a"));
            assert!(futures::poll!(gone.as_mut()).is_pending(), "queued");
        }
        let mut next = std::pin::pin!(limiter.wait_for_turn("team-a", "a"));
        assert!(futures::poll!(next.as_mut()).is_pending(), "queued");
        turns.pop();
        assert!(next.await.is_ok());
        drop(turns);
        assert_eq!(limiter.shared.lock().schedule.in_use(), 0);
    }

    /// The bucket is smaller than the number of pods; the timer serves the rest.
    #[tokio::test]
    async fn every_waiter_gets_a_turn() {
        let limiter = Arc::new(ActionLimiter::new());
        let mut all = tokio::task::JoinSet::new();
        for pod in 0..120 {
            let limiter = Arc::clone(&limiter);
            all.spawn(async move {
                let turn = limiter.wait_for_turn(&format!("team-{}", pod % 10), "a").await.expect("a turn");
                // Another pod may have the slot; only the turn matters here.
                if let Ok(permit) = turn.acquire() {
                    permit.finish(AttemptResult::Sent, LIMIT);
                }
            });
        }
        while let Some(done) = all.join_next().await {
            done.expect("no panic");
        }
        assert_eq!(limiter.shared.lock().schedule.in_use(), 0);
    }
}
