//! Connection slots of a server: the shared [`ConnectionTable`], and the tasks that wait for a slot.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::table::{AdmitResult, ConnectionId, ConnectionPhase, ConnectionTable};
use crate::telemetry::{EvictionReason, Metrics, ServerKind};

/// Interval at which a waiting connection retries: an unread response becomes evictable as time passes.
const RECHECK: Duration = Duration::from_millis(100);
/// Minimum interval between log messages about evictions, so that a flood of connections does not flood the log.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// All slots of a server.
pub(super) struct Slots {
    kind: ServerKind,
    table: Mutex<ConnectionTable<Arc<Notify>>>,
    /// Notified when a connection has closed or changed its phase.
    changed: Notify,
    log: Mutex<EvictionLog>,
    metrics: Arc<Metrics>,
}

/// The slot of one connection; dropping it frees the slot.
pub(super) struct Slot {
    slots: Arc<Slots>,
    id: ConnectionId,
    evicted: Arc<Notify>,
    /// The current [`RequestState`]; only the connection's own task writes it.
    state: AtomicU8,
}

/// State of a connection's current request. More detailed than [`ConnectionPhase`], and read without a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RequestState {
    /// The handshake or the request header is incomplete.
    Header,
    /// No request has started.
    Idle,
    /// The header is complete, the body is not.
    Body,
    /// The request is complete.
    Serving,
    /// The response is being written.
    Responding,
    /// The client does not read the response.
    Unread,
}

#[derive(Debug, Default)]
struct EvictionLog {
    evictions: u64,
    logged_at: Option<Instant>,
}

impl Slots {
    pub(super) fn new(kind: ServerKind, limit: usize, metrics: Arc<Metrics>) -> Arc<Self> {
        let (table, log) = (Mutex::new(ConnectionTable::new(limit)), Mutex::default());
        Arc::new(Self { kind, table, changed: Notify::new(), log, metrics })
    }

    /// Waits for a slot for a connection from `peer`. It returns at once if a slot is free or a connection can be
    /// evicted. If all connections serve reviews, it waits, and so does the accept queue: each review has a deadline.
    /// Closing the new connection instead would fail a call that may succeed a moment later.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Slot {
        let evicted = Arc::new(Notify::new());
        loop {
            let admission = self.table().admit(peer, &evicted, Instant::now());
            match admission {
                AdmitResult::Admitted(id) => {
                    return Slot {
                        slots: Arc::clone(self),
                        id,
                        evicted,
                        state: AtomicU8::new(RequestState::Header as u8),
                    };
                }
                AdmitResult::Evict(notify, reason) => {
                    self.record_eviction(reason);
                    notify.notify_one();
                }
                AdmitResult::Wait => {}
            }
            // After a timeout the table is checked again.
            let _ = timeout(RECHECK, self.changed.notified()).await;
        }
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable<Arc<Notify>>> {
        // The table's methods do not panic with an inconsistent state.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_eviction(&self, reason: EvictionReason) {
        self.metrics.connections.record_eviction(self.kind, reason);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.evictions += 1;
        if log.logged_at.is_none_or(|logged_at| logged_at.elapsed() >= LOG_INTERVAL) {
            let (server, evictions) = (self.kind.name(), log.evictions);
            tracing::warn!(server, evictions, reason = reason.name(), "connection limit reached: evicting connections");
            *log = EvictionLog { evictions: 0, logged_at: Some(Instant::now()) };
        }
    }
}

impl Slot {
    /// Returns when the connection has been evicted.
    pub(super) async fn evicted(&self) {
        loop {
            self.evicted.notified().await;
            // A review that started in the meantime cancels the eviction.
            if self.slots.table().is_evicted(self.id) {
                return;
            }
        }
    }

    pub(super) fn state(&self) -> RequestState {
        match self.state.load(Ordering::Relaxed) {
            state if state == RequestState::Idle as u8 => RequestState::Idle,
            state if state == RequestState::Body as u8 => RequestState::Body,
            state if state == RequestState::Serving as u8 => RequestState::Serving,
            state if state == RequestState::Responding as u8 => RequestState::Responding,
            state if state == RequestState::Unread as u8 => RequestState::Unread,
            _ => RequestState::Header,
        }
    }

    /// Records that the handshake is complete; `verified` is true if a client certificate was verified. The connection
    /// stays incomplete until its first request is complete: an apiserver sends one at once, and must not lose idle
    /// connections to other connections from its address that never send one.
    pub(super) fn record_handshake(&self, verified: bool) {
        self.set(RequestState::Idle);
        if verified {
            self.slots.table().mark_verified(self.id);
        }
    }

    /// Records that bytes of a request have arrived.
    pub(super) fn record_received(&self) {
        if self.state() == RequestState::Idle {
            self.enter(RequestState::Header, ConnectionPhase::Incomplete);
        }
    }

    /// Records that the header of a request is complete.
    pub(super) fn record_header(&self) {
        if self.state() == RequestState::Header {
            // Phase and time are unchanged: a request is incomplete from its first byte.
            self.set(RequestState::Body);
        } else {
            self.enter(RequestState::Body, ConnectionPhase::Incomplete);
        }
    }

    /// Records that the body of a request is complete.
    pub(super) fn record_request(&self) {
        if self.state() == RequestState::Body {
            self.enter(RequestState::Serving, self.protected_phase(ConnectionPhase::Serving));
        }
    }

    /// Records that the response is being written.
    pub(super) fn record_response_start(&self) {
        self.set(RequestState::Responding);
    }

    /// Records that all data was written.
    pub(super) fn record_flush(&self) {
        if matches!(self.state(), RequestState::Responding | RequestState::Unread) {
            self.enter(RequestState::Idle, ConnectionPhase::Idle);
        }
    }

    /// Records that the client does not read.
    pub(super) fn record_blocked_write(&self) {
        if self.state() == RequestState::Responding {
            self.enter(RequestState::Unread, self.protected_phase(ConnectionPhase::Unread));
        }
    }

    /// Returns the phase of a connection with a request in progress. Requests to the admin port are fast and have no
    /// side effects: protecting them from eviction would only help a flood.
    fn protected_phase(&self, phase: ConnectionPhase) -> ConnectionPhase {
        match self.slots.kind {
            ServerKind::Webhook => phase,
            ServerKind::Admin => ConnectionPhase::Idle,
        }
    }

    fn enter(&self, state: RequestState, phase: ConnectionPhase) {
        self.set(state);
        self.slots.table().enter(self.id, phase, Instant::now());
        self.slots.changed.notify_one();
    }

    fn set(&self, state: RequestState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.table().remove(self.id);
        self.slots.changed.notify_one();
    }
}
