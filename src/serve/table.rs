//! Selects the connection to evict at the connection limit. Without sockets and clock.
//!
//! Order of eviction:
//! 1. a connection whose handshake or request is incomplete, or that has never sent a request,
//! 2. an idle connection,
//! 3. the oldest connection whose client does not read its response.
//!
//! For the first two kinds, the table selects the oldest connection of the peer with the most connections. A peer with
//! few connections keeps an incomplete one for a second; otherwise a flood of connections that cannot be evicted yet
//! would evict the kubelet's probe.
//!
//! Connections with a review in progress or a verified client certificate are never evicted: an apiserver does not
//! retry a call whose connection was reset. A peer is an IP address; there is no limit per peer, because the kubelet,
//! scrapers on the host network and clients behind source NAT share addresses.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::telemetry::EvictionReason;

/// Minimum time before eviction for an unread response, and for an incomplete request of a peer with few connections.
/// An apiserver reads and writes at once; a second covers a congested network.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of connections of a peer with few connections: a kubelet and a scraper on its node.
const FEW_CONNECTIONS: usize = 4;

/// The connections of a server, each with a handle of type `H`.
#[derive(Debug)]
pub(super) struct ConnectionTable<H> {
    limit: usize,
    entries: HashMap<ConnectionId, Entry<H>>,
    next_id: u64,
}

/// Identifies a connection of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ConnectionId(u64);

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// The handshake, the first request or the current one is incomplete.
    Incomplete,
    /// No request is in progress that must be protected.
    Idle,
    /// A complete request is being served.
    Serving,
    /// The client does not read the response.
    Unread,
}

/// How to proceed with a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdmitResult<H> {
    /// Serve it with this ID.
    Admitted(ConnectionId),
    /// Evict the connection with this handle first.
    Evict(H, EvictionReason),
    /// Wait for an evicted connection to close or for a request to finish.
    Wait,
}

#[derive(Debug)]
struct Entry<H> {
    handle: H,
    peer: IpAddr,
    phase: ConnectionPhase,
    since: Instant,
    verified: bool,
    evicted: bool,
}

impl<H: Clone> ConnectionTable<H> {
    /// Creates an empty table for at most `limit` connections.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, entries: HashMap::with_capacity(limit), next_id: 0 }
    }

    /// Adds a connection from `peer` if a slot is free, otherwise marks a connection for eviction.
    pub(super) fn admit(&mut self, peer: IpAddr, handle: &H, now: Instant) -> AdmitResult<H> {
        if self.entries.len() < self.limit {
            let id = ConnectionId(self.next_id);
            self.next_id += 1;
            let (handle, phase) = (handle.clone(), ConnectionPhase::Incomplete);
            self.entries.insert(id, Entry { handle, peer, phase, since: now, verified: false, evicted: false });
            return AdmitResult::Admitted(id);
        }
        if self.entries.values().any(|entry| entry.evicted) {
            return AdmitResult::Wait;
        }
        let Some((id, reason)) = self.select_evictable(now) else { return AdmitResult::Wait };
        let Some(entry) = self.entries.get_mut(&id) else { return AdmitResult::Wait };
        entry.evicted = true;
        AdmitResult::Evict(entry.handle.clone(), reason)
    }

    /// Removes a closed connection.
    pub(super) fn remove(&mut self, id: ConnectionId) {
        self.entries.remove(&id);
    }

    /// Records that a connection has entered `phase`. The start of a review cancels a pending eviction.
    pub(super) fn enter(&mut self, id: ConnectionId, phase: ConnectionPhase, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&id) {
            (entry.phase, entry.since) = (phase, now);
            entry.evicted &= phase != ConnectionPhase::Serving;
        }
    }

    /// Records that the client certificate of a connection was verified, which cancels a pending eviction.
    pub(super) fn mark_verified(&mut self, id: ConnectionId) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.verified = true;
            entry.evicted = false;
        }
    }

    /// Returns true if a connection is marked for eviction.
    pub(super) fn is_evicted(&self, id: ConnectionId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.evicted)
    }

    fn select_evictable(&self, now: Instant) -> Option<(ConnectionId, EvictionReason)> {
        let mut per_peer: HashMap<IpAddr, usize> = HashMap::new();
        for entry in self.entries.values() {
            *per_peer.entry(entry.peer).or_default() += 1;
        }
        let connections = |entry: &Entry<H>| per_peer.get(&entry.peer).copied().unwrap_or_default();
        let rank = |(_, entry): &(ConnectionId, &Entry<H>)| (connections(entry), Reverse(entry.since));
        let stalled = |entry: &Entry<H>| now.duration_since(entry.since) >= STALL_TIMEOUT;

        let incomplete = self
            .evictable(ConnectionPhase::Incomplete)
            .filter(|(_, entry)| connections(entry) > FEW_CONNECTIONS || stalled(entry));
        if let Some((id, _)) = incomplete.max_by_key(rank) {
            return Some((id, EvictionReason::Incomplete));
        }
        if let Some((id, _)) = self.evictable(ConnectionPhase::Idle).max_by_key(rank) {
            return Some((id, EvictionReason::Idle));
        }
        let unread = self.evictable(ConnectionPhase::Unread).filter(|(_, entry)| stalled(entry));
        unread.min_by_key(|(_, entry)| entry.since).map(|(id, _)| (id, EvictionReason::Unread))
    }

    fn evictable(&self, phase: ConnectionPhase) -> impl Iterator<Item = (ConnectionId, &Entry<H>)> {
        let entries = self.entries.iter().map(|(id, entry)| (*id, entry));
        entries.filter(move |(_, entry)| entry.phase == phase && !entry.verified)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// A connection: last byte of its address, phase, seconds in this phase, true if its client certificate was
    /// verified.
    type Row = (u8, ConnectionPhase, u64, bool);

    const fn row(peer: u8, phase: ConnectionPhase, seconds: u64) -> Row {
        (peer, phase, seconds, false)
    }

    const fn verified(peer: u8, phase: ConnectionPhase, seconds: u64) -> Row {
        (peer, phase, seconds, true)
    }

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// Returns a full table of `rows` at second 100.
    fn full(rows: &[Row]) -> (ConnectionTable<usize>, Vec<ConnectionId>, Instant) {
        let start = Instant::now();
        let mut table = ConnectionTable::new(rows.len());
        let mut ids = Vec::new();
        for (number, (last, phase, seconds, verified)) in rows.iter().enumerate() {
            let AdmitResult::Admitted(id) = table.admit(peer(*last), &number, start) else { panic!("a slot is free") };
            table.enter(id, *phase, start + Duration::from_secs(100 - seconds));
            if *verified {
                table.mark_verified(id);
            }
            ids.push(id);
        }
        (table, ids, start + Duration::from_secs(100))
    }

    #[rstest]
    #[case::oldest_incomplete_of_the_peer_with_most_connections(
        &[row(1, ConnectionPhase::Incomplete, 1), row(2, ConnectionPhase::Incomplete, 3), row(1, ConnectionPhase::Incomplete, 2)],
        Some((2, EvictionReason::Incomplete))
    )]
    #[case::incomplete_before_idle(
        &[row(1, ConnectionPhase::Idle, 90), row(1, ConnectionPhase::Idle, 80), row(2, ConnectionPhase::Incomplete, 1)],
        Some((2, EvictionReason::Incomplete))
    )]
    #[case::new_incomplete_of_a_peer_with_few(
        &[row(1, ConnectionPhase::Unread, 0), row(1, ConnectionPhase::Serving, 9), row(2, ConnectionPhase::Incomplete, 0)],
        None
    )]
    #[case::new_incomplete_of_a_peer_with_many(
        &[row(2, ConnectionPhase::Incomplete, 0), row(1, ConnectionPhase::Incomplete, 0), row(1, ConnectionPhase::Unread, 0), row(1, ConnectionPhase::Unread, 0),
            row(1, ConnectionPhase::Unread, 0), row(1, ConnectionPhase::Unread, 0)],
        Some((1, EvictionReason::Incomplete))
    )]
    #[case::peer_with_most_connections(
        &[row(1, ConnectionPhase::Idle, 90), row(2, ConnectionPhase::Idle, 10), row(2, ConnectionPhase::Idle, 20)],
        Some((2, EvictionReason::Idle))
    )]
    #[case::serving_connections_count(
        &[row(1, ConnectionPhase::Idle, 90), row(2, ConnectionPhase::Idle, 10), row(2, ConnectionPhase::Serving, 20)],
        Some((1, EvictionReason::Idle))
    )]
    #[case::peer_with_most_connections_is_serving(
        &[row(1, ConnectionPhase::Idle, 9), row(2, ConnectionPhase::Serving, 10), row(2, ConnectionPhase::Serving, 20)],
        Some((0, EvictionReason::Idle))
    )]
    #[case::oldest_of_equal_peers(
        &[row(1, ConnectionPhase::Idle, 9), row(2, ConnectionPhase::Idle, 10)],
        Some((1, EvictionReason::Idle))
    )]
    #[case::idle_before_unread(
        &[row(1, ConnectionPhase::Unread, 90), row(2, ConnectionPhase::Idle, 1)],
        Some((1, EvictionReason::Idle))
    )]
    #[case::oldest_unread(
        &[row(1, ConnectionPhase::Serving, 90), row(2, ConnectionPhase::Unread, 2), row(2, ConnectionPhase::Unread, 3)],
        Some((2, EvictionReason::Unread))
    )]
    #[case::new_unread(&[row(1, ConnectionPhase::Serving, 90), row(2, ConnectionPhase::Unread, 0)], None)]
    #[case::all_serving(&[row(1, ConnectionPhase::Serving, 90), row(1, ConnectionPhase::Serving, 80)], None)]
    #[case::never_verified(
        &[verified(1, ConnectionPhase::Idle, 90), verified(1, ConnectionPhase::Incomplete, 80), verified(1, ConnectionPhase::Unread, 70)],
        None
    )]
    #[case::other_connections_of_a_verified_peer(
        &[verified(1, ConnectionPhase::Idle, 90), row(1, ConnectionPhase::Idle, 80), row(2, ConnectionPhase::Idle, 95)],
        Some((1, EvictionReason::Idle))
    )]
    fn selects_the_connection_to_evict(#[case] rows: &[Row], #[case] expected: Option<(usize, EvictionReason)>) {
        let (mut table, _, now) = full(rows);
        let expected = expected.map_or(AdmitResult::Wait, |(row, reason)| AdmitResult::Evict(row, reason));
        assert_eq!(table.admit(peer(9), &rows.len(), now), expected);
    }

    #[test]
    fn a_new_connection_replaces_an_evicted_one() {
        let (mut table, ids, now) = full(&[row(1, ConnectionPhase::Idle, 2), row(1, ConnectionPhase::Idle, 1)]);
        assert_eq!(table.admit(peer(2), &2, now), AdmitResult::Evict(0, EvictionReason::Idle));
        assert!(table.is_evicted(ids[0]));
        assert_eq!(table.admit(peer(2), &2, now), AdmitResult::Wait, "until the evicted connection has closed");
        table.remove(ids[0]);
        assert!(matches!(table.admit(peer(2), &2, now), AdmitResult::Admitted(_)));
    }

    #[test]
    fn the_start_of_a_review_cancels_the_eviction() {
        let (mut table, ids, now) = full(&[row(1, ConnectionPhase::Idle, 2), row(1, ConnectionPhase::Idle, 1)]);
        assert_eq!(table.admit(peer(2), &2, now), AdmitResult::Evict(0, EvictionReason::Idle));
        table.enter(ids[0], ConnectionPhase::Incomplete, now);
        assert!(table.is_evicted(ids[0]));
        table.enter(ids[0], ConnectionPhase::Serving, now);
        assert!(!table.is_evicted(ids[0]));
        assert_eq!(table.admit(peer(2), &2, now), AdmitResult::Evict(1, EvictionReason::Idle));
    }
}
