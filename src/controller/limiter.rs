//! How many actions run at once: in the cluster, on one node, and for one namespace.
//!
//! Pods wait in one line for each namespace, and the lines take turns, so that no number of pods in one namespace delays
//! another. A waiting pod holds nothing: it gets a [`Turn`] when an action could start now, is read again under it, and
//! only then takes a place on its node by [`Turn::start`].
//!
//! How long an action lasts is up to the pod: the command runs in its container. So a namespace whose actions take long
//! keeps a small share of the places, and a node whose kubelet does not answer is left alone for a doubling time.

mod limits;
mod namespace;
mod node;
mod schedule;
#[cfg(test)]
mod simulation;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use limits::{FULL, TAKEN};
use schedule::{Claim, Next, Schedule};
use trainmesh_core::lifecycle::AttemptResult;

/// The one limiter of a controller.
pub(super) struct ActionLimiter {
    shared: Arc<Shared>,
}

/// The head of a line: the pod may be read again now. Charged to its namespace alone.
pub(super) struct Turn {
    shared: Arc<Shared>,
    /// `None` once it is spent.
    claim: Option<Claim>,
}

/// A place for one action; given back when it is dropped.
pub(super) struct Permit {
    shared: Arc<Shared>,
    /// `None` once it is given back.
    claim: Option<Claim>,
    started: Instant,
}

struct Shared {
    state: Mutex<State>,
}

struct State {
    schedule: Schedule<oneshot::Sender<Result<Turn, Duration>>>,
    /// Whether a task waits for the next token.
    timer: bool,
}

impl ActionLimiter {
    pub(super) fn new() -> Self {
        let state = State { schedule: Schedule::new(), timer: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state) }) }
    }

    /// Waits in line for an action in a pod of `namespace` on `node`. `Err` says when to try again: the node does not
    /// answer, or the line is full.
    pub(super) async fn turn(&self, namespace: &str, node: &str) -> Result<Turn, Duration> {
        let (sender, receiver) = oneshot::channel();
        self.shared.lock().schedule.enqueue(namespace, node, sender, Instant::now())?;
        serve(&self.shared);
        // The limiter outlives everyone in line.
        receiver.await.unwrap_or(Err(FULL))
    }
}

impl Turn {
    /// Takes a place on the node. `Err` says when to try again: others were faster.
    pub(super) fn start(mut self) -> Result<Permit, Duration> {
        let Some(claim) = self.claim.take() else { return Err(TAKEN) };
        let now = Instant::now();
        let started = self.shared.lock().schedule.start(claim, now);
        serve(&self.shared);
        let claim = started?;
        Ok(Permit { shared: Arc::clone(&self.shared), claim: Some(claim), started: now })
    }

    /// Gives it back; the caller serves the line.
    fn cancel(mut self) {
        if let Some(claim) = self.claim.take() {
            self.shared.lock().schedule.give_up(&claim);
        }
    }
}

impl Permit {
    /// Gives the place back, and notes what came of an action that might have lasted `limit`.
    pub(super) fn finish(mut self, result: AttemptResult, limit: Duration) {
        if let Some(claim) = self.claim.take() {
            let lasted = self.started.elapsed();
            self.shared.lock().schedule.finish(&claim, result, lasted, limit, Instant::now());
            serve(&self.shared);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls everyone who may go now.
fn serve(shared: &Arc<Shared>) {
    loop {
        let mut state = shared.lock();
        let next = state.schedule.next(Instant::now());
        let wait = match next {
            Next::Nobody => return,
            Next::At(_) if state.timer => return,
            Next::At(time) => {
                state.timer = true;
                time
            }
            Next::Go(waiter, claim) => {
                drop(state);
                let turn = Turn { shared: Arc::clone(shared), claim: Some(claim) };
                // Who has gone away meanwhile leaves the turn to others.
                if let Err(Ok(turn)) = waiter.send(Ok(turn)) {
                    turn.cancel();
                }
                continue;
            }
            Next::Refuse(waiter, wait) => {
                drop(state);
                // Who has gone away meanwhile needs no answer.
                let _ = waiter.send(Err(wait));
                continue;
            }
        };
        drop(state);
        drop(tokio::spawn(serve_at(Arc::downgrade(shared), wait)));
        return;
    }
}

/// Serves the line when the next token is there.
async fn serve_at(shared: Weak<Shared>, time: Instant) {
    tokio::time::sleep_until(time.into()).await;
    if let Some(shared) = shared.upgrade() {
        shared.lock().timer = false;
        serve(&shared);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            self.shared.lock().schedule.give_up(&claim);
            serve(&self.shared);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            self.shared.lock().schedule.release(&claim);
            serve(&self.shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn places_come_back() {
        let limiter = ActionLimiter::new();
        for round in 0..20 {
            let turn = limiter.turn("team-a", "a").await.expect("a turn");
            let permit = turn.start().expect("a place");
            // Finished, or cut off with the task that had it.
            if round % 2 == 0 { permit.finish(AttemptResult::Sent, LIMIT) } else { drop(permit) }
        }
        assert_eq!(limiter.shared.lock().schedule.in_use(), 0);
    }

    #[tokio::test]
    async fn whoever_goes_away_leaves_the_turn_to_others() {
        let limiter = ActionLimiter::new();
        // A new namespace has one place on a node.
        let first = limiter.turn("team-a", "a").await.expect("a turn");
        {
            let mut gone = std::pin::pin!(limiter.turn("team-a", "a"));
            assert!(futures::poll!(gone.as_mut()).is_pending(), "waits in line");
        }
        let mut next = std::pin::pin!(limiter.turn("team-a", "a"));
        assert!(futures::poll!(next.as_mut()).is_pending(), "waits in line");
        drop(first);
        assert!(next.await.is_ok());
        assert_eq!(limiter.shared.lock().schedule.in_use(), 0);
    }

    /// More than the bucket holds at once: the rest is served by the timer.
    #[tokio::test]
    async fn everyone_is_served() {
        let limiter = Arc::new(ActionLimiter::new());
        let mut all = tokio::task::JoinSet::new();
        for pod in 0..120 {
            let limiter = Arc::clone(&limiter);
            all.spawn(async move {
                let turn = limiter.turn(&format!("team-{}", pod % 10), "a").await.expect("a turn");
                // The place may be another's: the turn was what was waited for.
                if let Ok(permit) = turn.start() {
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
