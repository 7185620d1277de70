//! Which connection to evict when a server has as many as it keeps. Pure: no sockets, no clock.
//!
//! Order of eviction:
//! 1. a connection whose handshake or request is incomplete, or that has never sent a request,
//! 2. an idle connection,
//! 3. the oldest connection whose client does not read its response.
//!
//! Of the first two the oldest of the peer that holds most connections. A peer with few connections keeps an incomplete
//! one for a second: without that a flood of connections that cannot be evicted yet would evict the kubelet's probe.
//!
//! Never evicted: a connection with a review in progress, and one whose client certificate was verified. An apiserver
//! does not retry a call whose connection was reset. A peer is an IP address; it has no limit of its own, because the
//! kubelet, scrapers on the host's network and everything behind source NAT share addresses.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::telemetry::EvictionReason;

/// How long a response may wait for its reader, and a request of a peer with few connections for its end, before the
/// connection can be evicted. An apiserver reads and writes at once; a second covers a congested network.
const STALLED: Duration = Duration::from_secs(1);
/// What a kubelet and a scraper on its node open at once at most.
const FEW: usize = 4;

/// The open connections of a server, each with a handle of type `H`.
#[derive(Debug)]
pub(super) struct Table<H> {
    limit: usize,
    entries: HashMap<Id, Entry<H>>,
    next: u64,
}

/// Identifies a connection of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id(u64);

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its handshake, its first request or its current one is incomplete.
    Incomplete,
    /// No request is in progress that eviction would harm.
    Idle,
    /// A complete request is being answered.
    Serving,
    /// Its response waits for a client that does not read.
    Unread,
}

/// What to do with a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission<H> {
    /// Serve it.
    Admitted(Id),
    /// Evict the connection with this handle first.
    Evict(H, EvictionReason),
    /// Wait: for an evicted connection to end, or for a call to finish.
    Wait,
}

#[derive(Debug)]
struct Entry<H> {
    handle: H,
    peer: IpAddr,
    phase: Phase,
    since: Instant,
    verified: bool,
    evicted: bool,
}

impl<H: Clone> Table<H> {
    /// An empty table with room for `limit` connections.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, entries: HashMap::with_capacity(limit), next: 0 }
    }

    /// Adds a connection of `peer` where there is room, else marks one for eviction.
    pub(super) fn admit(&mut self, peer: IpAddr, handle: &H, now: Instant) -> Admission<H> {
        if self.entries.len() < self.limit {
            let id = Id(self.next);
            self.next += 1;
            let (handle, phase) = (handle.clone(), Phase::Incomplete);
            self.entries.insert(id, Entry { handle, peer, phase, since: now, verified: false, evicted: false });
            return Admission::Admitted(id);
        }
        if self.entries.values().any(|entry| entry.evicted) {
            return Admission::Wait;
        }
        let Some((id, reason)) = self.victim(now) else { return Admission::Wait };
        let Some(entry) = self.entries.get_mut(&id) else { return Admission::Wait };
        entry.evicted = true;
        Admission::Evict(entry.handle.clone(), reason)
    }

    /// Removes a connection that has ended.
    pub(super) fn remove(&mut self, id: Id) {
        self.entries.remove(&id);
    }

    /// Records that a connection has entered `phase`. A review that has just begun cancels an eviction that has not
    /// happened yet.
    pub(super) fn enter(&mut self, id: Id, phase: Phase, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&id) {
            (entry.phase, entry.since) = (phase, now);
            entry.evicted &= phase != Phase::Serving;
        }
    }

    /// Records that the client certificate of a connection was verified.
    pub(super) fn verify(&mut self, id: Id) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.verified = true;
            entry.evicted = false;
        }
    }

    /// Whether a connection is to end for another one.
    pub(super) fn is_evicted(&self, id: Id) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.evicted)
    }

    fn victim(&self, now: Instant) -> Option<(Id, EvictionReason)> {
        let mut held: HashMap<IpAddr, usize> = HashMap::new();
        for entry in self.entries.values() {
            *held.entry(entry.peer).or_default() += 1;
        }
        let held = |entry: &Entry<H>| held.get(&entry.peer).copied().unwrap_or_default();
        let rank = |(_, entry): &(Id, &Entry<H>)| (held(entry), Reverse(entry.since));
        let stalled = |entry: &Entry<H>| now.duration_since(entry.since) >= STALLED;

        let incomplete = self.evictable(Phase::Incomplete).filter(|(_, entry)| held(entry) > FEW || stalled(entry));
        if let Some((id, _)) = incomplete.max_by_key(rank) {
            return Some((id, EvictionReason::Incomplete));
        }
        if let Some((id, _)) = self.evictable(Phase::Idle).max_by_key(rank) {
            return Some((id, EvictionReason::Idle));
        }
        let unread = self.evictable(Phase::Unread).filter(|(_, entry)| stalled(entry));
        unread.min_by_key(|(_, entry)| entry.since).map(|(id, _)| (id, EvictionReason::Unread))
    }

    fn evictable(&self, phase: Phase) -> impl Iterator<Item = (Id, &Entry<H>)> {
        let entries = self.entries.iter().map(|(id, entry)| (*id, entry));
        entries.filter(move |(_, entry)| entry.phase == phase && !entry.verified)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// A connection: last part of its address, phase, seconds in it, whether its client certificate was verified.
    type Row = (u8, Phase, u64, bool);

    const fn row(peer: u8, phase: Phase, seconds: u64) -> Row {
        (peer, phase, seconds, false)
    }

    const fn verified(peer: u8, phase: Phase, seconds: u64) -> Row {
        (peer, phase, seconds, true)
    }

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// A full table of `rows`, in that order, at the second 100.
    fn full(rows: &[Row]) -> (Table<usize>, Vec<Id>, Instant) {
        let began = Instant::now();
        let mut table = Table::new(rows.len());
        let mut ids = Vec::new();
        for (number, (last, phase, seconds, verified)) in rows.iter().enumerate() {
            let Admission::Admitted(id) = table.admit(peer(*last), &number, began) else { panic!("there is room") };
            table.enter(id, *phase, began + Duration::from_secs(100 - seconds));
            if *verified {
                table.verify(id);
            }
            ids.push(id);
        }
        (table, ids, began + Duration::from_secs(100))
    }

    #[rstest]
    #[case::oldest_incomplete_of_the_peer_that_holds_most(
        &[row(1, Phase::Incomplete, 1), row(2, Phase::Incomplete, 3), row(1, Phase::Incomplete, 2)],
        Some((2, EvictionReason::Incomplete))
    )]
    #[case::incomplete_before_idle(
        &[row(1, Phase::Idle, 90), row(1, Phase::Idle, 80), row(2, Phase::Incomplete, 1)],
        Some((2, EvictionReason::Incomplete))
    )]
    #[case::incomplete_just_begun_of_a_peer_with_few(
        &[row(1, Phase::Unread, 0), row(1, Phase::Serving, 9), row(2, Phase::Incomplete, 0)],
        None
    )]
    #[case::incomplete_just_begun_of_a_peer_with_many(
        &[row(2, Phase::Incomplete, 0), row(1, Phase::Incomplete, 0), row(1, Phase::Unread, 0), row(1, Phase::Unread, 0),
            row(1, Phase::Unread, 0), row(1, Phase::Unread, 0)],
        Some((1, EvictionReason::Incomplete))
    )]
    #[case::peer_that_holds_most(
        &[row(1, Phase::Idle, 90), row(2, Phase::Idle, 10), row(2, Phase::Idle, 20)],
        Some((2, EvictionReason::Idle))
    )]
    #[case::calls_count_as_held(
        &[row(1, Phase::Idle, 90), row(2, Phase::Idle, 10), row(2, Phase::Serving, 20)],
        Some((1, EvictionReason::Idle))
    )]
    #[case::peer_that_holds_most_has_calls_only(
        &[row(1, Phase::Idle, 9), row(2, Phase::Serving, 10), row(2, Phase::Serving, 20)],
        Some((0, EvictionReason::Idle))
    )]
    #[case::equal_peers_the_oldest(
        &[row(1, Phase::Idle, 9), row(2, Phase::Idle, 10)],
        Some((1, EvictionReason::Idle))
    )]
    #[case::idle_before_unread(
        &[row(1, Phase::Unread, 90), row(2, Phase::Idle, 1)],
        Some((1, EvictionReason::Idle))
    )]
    #[case::oldest_unread(
        &[row(1, Phase::Serving, 90), row(2, Phase::Unread, 2), row(2, Phase::Unread, 3)],
        Some((2, EvictionReason::Unread))
    )]
    #[case::just_written(&[row(1, Phase::Serving, 90), row(2, Phase::Unread, 0)], None)]
    #[case::all_serving(&[row(1, Phase::Serving, 90), row(1, Phase::Serving, 80)], None)]
    #[case::verified_never(
        &[verified(1, Phase::Idle, 90), verified(1, Phase::Incomplete, 80), verified(1, Phase::Unread, 70)],
        None
    )]
    #[case::verified_makes_no_peer_immune(
        &[verified(1, Phase::Idle, 90), row(1, Phase::Idle, 80), row(2, Phase::Idle, 95)],
        Some((1, EvictionReason::Idle))
    )]
    fn eviction(#[case] rows: &[Row], #[case] expected: Option<(usize, EvictionReason)>) {
        let (mut table, _, now) = full(rows);
        let expected = expected.map_or(Admission::Wait, |(row, reason)| Admission::Evict(row, reason));
        assert_eq!(table.admit(peer(9), &rows.len(), now), expected);
    }

    #[test]
    fn one_leaves_for_one_that_comes() {
        let (mut table, ids, now) = full(&[row(1, Phase::Idle, 2), row(1, Phase::Idle, 1)]);
        assert_eq!(table.admit(peer(2), &2, now), Admission::Evict(0, EvictionReason::Idle));
        assert!(table.is_evicted(ids[0]));
        assert_eq!(table.admit(peer(2), &2, now), Admission::Wait, "until it has ended");
        table.remove(ids[0]);
        assert!(matches!(table.admit(peer(2), &2, now), Admission::Admitted(_)));
    }

    #[test]
    fn a_review_that_begins_in_time_is_not_evicted() {
        let (mut table, ids, now) = full(&[row(1, Phase::Idle, 2), row(1, Phase::Idle, 1)]);
        assert_eq!(table.admit(peer(2), &2, now), Admission::Evict(0, EvictionReason::Idle));
        table.enter(ids[0], Phase::Incomplete, now);
        assert!(table.is_evicted(ids[0]));
        table.enter(ids[0], Phase::Serving, now);
        assert!(!table.is_evicted(ids[0]));
        assert_eq!(table.admit(peer(2), &2, now), Admission::Evict(1, EvictionReason::Idle));
    }
}
