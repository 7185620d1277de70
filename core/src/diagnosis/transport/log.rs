//! Logs of containers, reduced to what the checks read.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::line::LogLine;
use super::message::{CollectiveTimeout, Message};
use crate::diagnosis::DiagnosisCode;
use crate::diagnosis::snapshot::read::{MAX_TEXT, truncate};

/// Maximum number of distinct networks and versions of a container: each process of a node uses one or two.
const MAX_DISTINCT: usize = 8;
/// Maximum number of operations that timed out: one or two for each process of a node.
const MAX_TIMEOUTS: usize = 32;
/// Maximum number of peers: the other nodes of a large job repeat the first ones.
const MAX_PEERS: usize = 8;
/// Maximum number of processes: no node has as many accelerators, and torchrun may restart each of them some times.
const MAX_PROCESSES: usize = 256;
/// Maximum length of a name in bytes.
const MAX_NAME: usize = 253;

/// Container whose log it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogName {
    /// Namespace; `None` if the source does not name it.
    pub namespace: Option<Box<str>>,
    /// Pod.
    pub pod: Box<str>,
    /// Container; `None` if the source does not name it.
    pub container: Option<Box<str>>,
}

/// The log of a container.
#[derive(Clone, Debug)]
pub struct ContainerLog {
    /// Container.
    pub(in crate::diagnosis) name: LogName,
    /// True if NCCL wrote to it.
    pub(in crate::diagnosis) has_nccl: bool,
    pub(in crate::diagnosis) versions: Vec<(Box<str>, Quote)>,
    pub(in crate::diagnosis) networks: Vec<NetworkRecord>,
    /// Provider of libfabric.
    pub(in crate::diagnosis) provider: Option<(Box<str>, Quote)>,
    /// The line by which NCCL found no adapter.
    pub(in crate::diagnosis) no_adapter: Option<Quote>,
    pub(in crate::diagnosis) no_verbs: Option<Quote>,
    pub(in crate::diagnosis) bootstrap: Option<(Box<str>, Quote)>,
    pub(in crate::diagnosis) timeouts: Vec<TimeoutRecord>,
    pub(in crate::diagnosis) lost_peers: Vec<(Box<str>, Quote)>,
    /// The first line with each known cause.
    pub(in crate::diagnosis) known: Vec<(DiagnosisCode, Quote)>,
    /// Ids of the processes that use NCCL.
    pub(in crate::diagnosis) processes: BTreeSet<u32>,
    pub(in crate::diagnosis) cadence: Cadence,
}

/// A line as evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) struct Quote {
    pub(in crate::diagnosis) text: Box<str>,
    pub(in crate::diagnosis) time: Option<Timestamp>,
}

/// A network that processes of a container use.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct NetworkRecord {
    pub(in crate::diagnosis) name: Box<str>,
    /// True if a connection uses it.
    pub(in crate::diagnosis) is_connected: bool,
    /// True if a connection copies from and to the memory of the accelerator.
    pub(in crate::diagnosis) is_direct: bool,
    pub(in crate::diagnosis) quote: Quote,
}

/// A collective operation that timed out.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct TimeoutRecord {
    /// Rank in the whole job.
    pub(in crate::diagnosis) rank: Option<u32>,
    pub(in crate::diagnosis) group: Option<Box<str>>,
    pub(in crate::diagnosis) sequence: u64,
    pub(in crate::diagnosis) operation: Box<str>,
    pub(in crate::diagnosis) quote: Quote,
}

/// Times of the lines.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnosis) struct Cadence {
    pub(in crate::diagnosis) last: Option<Timestamp>,
    /// Longest time between two lines.
    pub(in crate::diagnosis) longest: SignedDuration,
    /// Number of minutes with lines.
    pub(in crate::diagnosis) minutes: u64,
    /// True if lines are missing after `last`.
    has_gap: bool,
}

impl LogName {
    /// Returns the name in `NAMESPACE_POD_CONTAINER`, `NAMESPACE_POD` or `POD`, the name of a file without its
    /// extension. Names in Kubernetes have no underscore.
    #[must_use]
    pub fn from_file_stem(stem: &str) -> Option<Self> {
        let parts: Vec<&str> = stem.splitn(4, '_').collect();
        let (namespace, pod, container) = match parts[..] {
            [pod] => (None, pod, None),
            [namespace, pod] => (Some(namespace), pod, None),
            [namespace, pod, container] => (Some(namespace), pod, Some(container)),
            _ => return None,
        };
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let bounded = |name: &str| truncate(name, MAX_NAME);
        Some(Self { namespace: namespace.map(bounded), pod: bounded(pod), container: container.map(bounded) })
    }
}

impl ContainerLog {
    pub(super) fn new(name: LogName) -> Self {
        Self {
            name,
            has_nccl: false,
            versions: Vec::new(),
            networks: Vec::new(),
            provider: None,
            no_adapter: None,
            no_verbs: None,
            bootstrap: None,
            timeouts: Vec::new(),
            lost_peers: Vec::new(),
            known: Vec::new(),
            processes: BTreeSet::new(),
            cadence: Cadence::default(),
        }
    }

    /// Records a line.
    pub(super) fn add(&mut self, line: LogLine<'_>) {
        self.cadence.add(line.time);
        self.has_nccl |= line.level.is_some() || line.text.starts_with("NCCL version ");
        if let Some(process) = line.process.filter(|_| self.processes.len() < MAX_PROCESSES) {
            self.processes.insert(process);
        }
        let Some(message) = Message::parse(line) else { return };
        let quote = Quote { text: truncate(line.text, MAX_TEXT), time: line.time };
        match message {
            Message::Version(version) => push_distinct(&mut self.versions, version, quote),
            Message::Network(network) => self.add_network(network, None, quote),
            Message::Connection { network, is_direct } => self.add_network(network, Some(is_direct), quote),
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
            network.is_connected |= is_direct.is_some();
            network.is_direct |= is_direct == Some(true);
        } else if self.networks.len() < MAX_DISTINCT {
            let name = truncate(name, MAX_NAME);
            let (is_connected, is_direct) = (is_direct.is_some(), is_direct == Some(true));
            self.networks.push(NetworkRecord { name, is_connected, is_direct, quote });
        }
    }

    fn add_timeout(&mut self, rank: Option<u32>, timeout: CollectiveTimeout<'_>, quote: Quote) {
        let CollectiveTimeout { group, sequence, operation } = timeout;
        let is_same =
            |known: &TimeoutRecord| (known.rank, known.group.as_deref(), known.sequence) == (rank, group, sequence);
        // The start and the end of a log may overlap.
        if self.timeouts.len() < MAX_TIMEOUTS && !self.timeouts.iter().any(is_same) {
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
