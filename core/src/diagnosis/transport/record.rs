//! Reduces the lines of a container's log to what the checks read, within limits.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::line::LogLine;
use super::message::{CollectiveTimeout, Message, is_store_lost};
use crate::diagnosis::snapshot::log::{Cadence, ContainerLog, LogName, NetworkRecord, Quote, TimeoutRecord};
use crate::diagnosis::snapshot::read::{MAX_NAME, MAX_TEXT, truncate};
use crate::names::join_names;

/// Maximum number of distinct networks and versions of a container: each process of a node uses one or two.
const MAX_DISTINCT: usize = 8;
/// Maximum number of operations that timed out: one or two for each process of a node.
const MAX_TIMEOUTS: usize = 32;
/// Maximum number of peers: the other nodes of a large job repeat the first ones.
const MAX_PEERS: usize = 8;
/// Maximum number of processes: no node has as many accelerators, and torchrun may restart each of them some times.
const MAX_PROCESSES: usize = 256;

impl ContainerLog {
    pub(super) fn new(name: LogName) -> Self {
        Self {
            name,
            has_nccl: false,
            is_json: None,
            versions: Vec::new(),
            networks: Vec::new(),
            provider: None,
            is_connected: false,
            no_adapter: None,
            no_verbs: None,
            bootstrap: None,
            timeouts: Vec::new(),
            lost_peers: Vec::new(),
            unreachable: None,
            absent: None,
            known: Vec::new(),
            errors: Vec::new(),
            has_fatal: false,
            fatal_minutes: 0,
            processes: BTreeSet::new(),
            cadence: Cadence::default(),
        }
    }

    /// Records a line.
    pub(super) fn add(&mut self, line: LogLine<'_>) {
        self.cadence.add(line.time);
        // The end of a long line is not read.
        self.is_json = Some(self.is_json != Some(false) && line.is_json);
        self.has_nccl |= line.level.is_some() || line.text.starts_with("NCCL version ");
        if let Some(process) = line.process.filter(|_| self.processes.len() < MAX_PROCESSES) {
            self.processes.insert(process);
        }
        if self.is_connected && is_store_lost(line) {
            self.is_connected = false;
        }
        let Some(message) = Message::parse(line) else { return };
        let quote = Quote { text: truncate(line.text, MAX_TEXT), time: line.time };
        match message {
            Message::Version(version) => push_distinct(&mut self.versions, version, quote),
            Message::Network(network) => self.add_network(network, None, quote),
            Message::Connection { network, is_direct } => {
                self.is_connected = true;
                self.add_network(network, Some(is_direct), quote);
            }
            Message::NoAdapter => self.no_adapter = Some(quote),
            Message::NoVerbs => self.no_verbs = Some(quote),
            Message::Provider(provider) => self.provider = Some((truncate(provider, MAX_NAME), quote)),
            Message::Bootstrap(address) => self.bootstrap = Some((truncate(address, MAX_NAME), quote)),
            Message::LostPeer(peer) if self.lost_peers.len() < MAX_PEERS => {
                push_distinct(&mut self.lost_peers, peer, quote);
            }
            Message::LostPeer(_) => {}
            Message::Known(code) => {
                if self.known.iter().all(|(known, _)| *known != code) {
                    self.known.push((code, quote));
                }
            }
            Message::Unreachable(peer) => {
                self.unreachable.get_or_insert_with(|| truncate(peer, MAX_NAME));
                self.add_error(true, quote);
            }
            Message::Absent(ranks) => {
                let ranks = ranks.split(',').filter_map(|rank| rank.trim().parse::<u32>().ok());
                self.absent.get_or_insert_with(|| (join_names(ranks).into(), quote));
            }
            Message::Error { is_fatal } => self.add_error(is_fatal, quote),
            Message::TimeoutGroup { group, sequence } => {
                let is_meant = |known: &&mut TimeoutRecord| {
                    known.group.is_none() && known.rank == line.rank && known.sequence == sequence
                };
                if let Some(timeout) = self.timeouts.iter_mut().find(is_meant) {
                    timeout.group = Some(truncate(group, MAX_NAME));
                }
            }
            Message::Timeout(timeout) => self.add_timeout(line.rank, timeout, quote),
        }
    }

    /// Records that lines are missing here.
    pub(super) fn mark_gap(&mut self) {
        self.cadence.has_gap = true;
    }

    fn add_network(&mut self, name: &str, is_direct: Option<bool>, quote: Quote) {
        let known = self.networks.iter_mut().find(|network| *network.name == *name);
        if let Some(network) = known {
            network.is_direct |= is_direct == Some(true);
            if is_direct.is_some() && network.connection.is_none() {
                network.connection = Some(quote);
            }
        } else if self.networks.len() < MAX_DISTINCT {
            let name = truncate(name, MAX_NAME);
            let connection = is_direct.is_some().then(|| quote.clone());
            self.networks.push(NetworkRecord { name, connection, is_direct: is_direct == Some(true), quote });
        }
    }

    /// Records an error. The first one is often the cause, the last one the end, unless only others are fatal.
    fn add_error(&mut self, is_fatal: bool, quote: Quote) {
        if self.has_fatal && !is_fatal {
            return;
        }
        if is_fatal {
            self.has_fatal = true;
            self.fatal_minutes = self.cadence.minutes;
        }
        self.errors.truncate(1);
        self.errors.push(quote);
    }

    fn add_timeout(&mut self, rank: Option<u32>, timeout: CollectiveTimeout<'_>, quote: Quote) {
        let CollectiveTimeout { group, sequence, operation } = timeout;
        // A process repeats its time-out when it aborts, in a line without the rank. The start and the end of a log may overlap.
        let is_same = |known: &TimeoutRecord| {
            let is_same_group = known.group.is_none() || group.is_none() || known.group.as_deref() == group;
            let is_same_rank = known.rank == rank || rank.is_none();
            is_same_rank && is_same_group && known.sequence == sequence && *known.operation == *operation
        };
        if let Some(known) = self.timeouts.iter_mut().find(|known| is_same(known)) {
            known.group = known.group.take().or_else(|| group.map(|group| truncate(group, MAX_NAME)));
        } else if self.timeouts.len() < MAX_TIMEOUTS {
            let group = group.map(|group| truncate(group, MAX_NAME));
            let operation = truncate(operation, MAX_NAME);
            self.timeouts.push(TimeoutRecord { rank, group, sequence, operation, quote });
        }
    }
}

impl Cadence {
    fn add(&mut self, time: Option<Timestamp>) {
        let Some(time) = time else { return };
        let Some(last) = self.last else {
            *self = Self { last: Some(time), minutes: 1, ..*self };
            return;
        };
        // Lines of standard output and standard error may be out of order.
        if time <= last {
            return;
        }
        if !self.has_gap {
            self.longest = self.longest.max(time.duration_since(last));
        }
        self.has_gap = false;
        self.minutes += u64::from(time.as_second().div_euclid(60) != last.as_second().div_euclid(60));
        self.last = Some(time);
    }
}

fn push_distinct(list: &mut Vec<(Box<str>, Quote)>, name: &str, quote: Quote) {
    let is_new = list.iter().all(|(known, _)| **known != *name);
    if is_new && list.len() < MAX_DISTINCT {
        list.push((truncate(name, MAX_NAME), quote));
    }
}
