//! The places of a server's connections: the [`Table`] that they share, and the tasks that wait for it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::table::{Admission, Id, Phase, Table};
use crate::telemetry::{EvictionReason, Metrics, ServerKind};

/// How often a newcomer looks again while nobody leaves: an unread response becomes evictable by time alone.
const RECHECK: Duration = Duration::from_millis(100);
/// At most one line in this time reports evictions: a flood must not fill the log too.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// All places of a server.
pub(super) struct Slots {
    kind: ServerKind,
    table: Mutex<Table<Arc<Notify>>>,
    /// A connection has ended, or has changed its phase.
    changed: Notify,
    log: Mutex<EvictionLog>,
    metrics: Arc<Metrics>,
}

/// The place of one connection, until it is dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    id: Id,
    evicted: Arc<Notify>,
    /// The current [`Step`]; only the connection's own task writes it.
    step: AtomicU8,
}

/// How far a connection is with its current request. Finer than [`Phase`], and read without a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    /// Handshake or head are incomplete.
    Head,
    /// No request has begun.
    Idle,
    /// The head is complete, the body is not.
    Body,
    /// The request is complete.
    Serving,
    /// The response is handed to the connection.
    Answered,
    /// The client does not read the response.
    Unread,
}

#[derive(Debug, Default)]
struct EvictionLog {
    evictions: u64,
    written: Option<Instant>,
}

impl Slots {
    pub(super) fn new(kind: ServerKind, limit: usize, metrics: Arc<Metrics>) -> Arc<Self> {
        let (table, log) = (Mutex::new(Table::new(limit)), Mutex::default());
        Arc::new(Self { kind, table, changed: Notify::new(), log, metrics })
    }

    /// Waits for a place for a connection of `peer`: at once where there is room or a connection to evict. Where all serve
    /// reviews, the newcomer waits, and those behind it in the listen queue: each review has its deadline, and a client
    /// that gives up earlier decides so itself. Closing the newcomer would fail a call that a moment later succeeds.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Slot {
        let evicted = Arc::new(Notify::new());
        loop {
            let admission = self.table().admit(peer, &evicted, Instant::now());
            match admission {
                Admission::Admitted(id) => {
                    return Slot { slots: Arc::clone(self), id, evicted, step: AtomicU8::new(Step::Head as u8) };
                }
                Admission::Evict(victim, reason) => {
                    self.count(reason);
                    victim.notify_one();
                }
                Admission::Wait => {}
            }
            // A time-out is as good: the table is asked again.
            let _ = timeout(RECHECK, self.changed.notified()).await;
        }
    }

    fn table(&self) -> MutexGuard<'_, Table<Arc<Notify>>> {
        // No method of the table panics half-way.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, reason: EvictionReason) {
        self.metrics.connections.evicted(self.kind, reason);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.evictions += 1;
        if log.written.is_none_or(|written| written.elapsed() >= LOG_INTERVAL) {
            let (server, evictions) = (self.kind.name(), log.evictions);
            tracing::warn!(server, evictions, reason = reason.name(), "too many connections: evicting");
            *log = EvictionLog { evictions: 0, written: Some(Instant::now()) };
        }
    }
}

impl Slot {
    /// Returns when the connection is to end for another one.
    pub(super) async fn evicted(&self) {
        loop {
            self.evicted.notified().await;
            // A review may have begun in the meantime.
            if self.slots.table().is_evicted(self.id) {
                return;
            }
        }
    }

    pub(super) fn step(&self) -> Step {
        match self.step.load(Ordering::Relaxed) {
            step if step == Step::Idle as u8 => Step::Idle,
            step if step == Step::Body as u8 => Step::Body,
            step if step == Step::Serving as u8 => Step::Serving,
            step if step == Step::Answered as u8 => Step::Answered,
            step if step == Step::Unread as u8 => Step::Unread,
            _ => Step::Head,
        }
    }

    /// The handshake is complete; `verified` says whether it has verified a client certificate. The connection stays
    /// incomplete until its first request is: an apiserver sends one at once, and must not lose its idle connections to
    /// others of its address that never send any.
    pub(super) fn handshake_complete(&self, verified: bool) {
        self.set(Step::Idle);
        if verified {
            self.slots.table().verify(self.id);
        }
    }

    /// Bytes of a request have arrived.
    pub(super) fn received(&self) {
        if self.step() == Step::Idle {
            self.enter(Step::Head, Phase::Incomplete);
        }
    }

    /// The head of a request is complete.
    pub(super) fn head_complete(&self) {
        if self.step() == Step::Head {
            // Its phase, and since when, stay as they are: a request is incomplete from its first byte on.
            self.set(Step::Body);
        } else {
            self.enter(Step::Body, Phase::Incomplete);
        }
    }

    /// The body of a request is complete too.
    pub(super) fn request_complete(&self) {
        if self.step() == Step::Body {
            self.enter(Step::Serving, self.phase_in_call(Phase::Serving));
        }
    }

    /// The response is handed to the connection.
    pub(super) fn answered(&self) {
        self.set(Step::Answered);
    }

    /// Nothing is left to write.
    pub(super) fn flushed(&self) {
        if matches!(self.step(), Step::Answered | Step::Unread) {
            self.enter(Step::Idle, Phase::Idle);
        }
    }

    /// The client does not read.
    pub(super) fn write_blocked(&self) {
        if self.step() == Step::Answered {
            self.enter(Step::Unread, self.phase_in_call(Phase::Unread));
        }
    }

    /// The admin port answers at once and without side effects: its calls need no protection, and while it is flooded they
    /// must not get any.
    fn phase_in_call(&self, phase: Phase) -> Phase {
        match self.slots.kind {
            ServerKind::Webhook => phase,
            ServerKind::Admin => Phase::Idle,
        }
    }

    fn enter(&self, step: Step, phase: Phase) {
        self.set(step);
        self.slots.table().enter(self.id, phase, Instant::now());
        self.slots.changed.notify_one();
    }

    fn set(&self, step: Step) {
        self.step.store(step as u8, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.table().remove(self.id);
        self.slots.changed.notify_one();
    }
}
