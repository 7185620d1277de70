//! Logs of containers, reduced to what the checks read.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::read::{MAX_NAME, truncate};
use crate::diagnosis::DiagnosisCode;

/// Name of NCCL's network over TCP.
const TCP: &str = "Socket";
/// Providers of libfabric that use TCP.
const TCP_PROVIDERS: [&str; 3] = ["tcp", "tcp;ofi_rxm", "sockets"];
/// Number of minutes with lines after an error from which these are the steps of a program that continues: its other processes, and
/// torchrun, log for less until they terminate.
const MIN_MINUTES: u64 = 5;

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
    /// True if each line is an object in JSON, whose message is not parsed; `None` without any line.
    pub(in crate::diagnosis) is_json: Option<bool>,
    pub(in crate::diagnosis) versions: Vec<(Box<str>, Quote)>,
    pub(in crate::diagnosis) networks: Vec<NetworkRecord>,
    /// Provider of libfabric.
    pub(in crate::diagnosis) provider: Option<(Box<str>, Quote)>,
    /// True if a connection between pods was established, and no later line shows that the store of the group is lost.
    pub(in crate::diagnosis) is_connected: bool,
    /// The line by which NCCL found no adapter.
    pub(in crate::diagnosis) no_adapter: Option<Quote>,
    pub(in crate::diagnosis) no_verbs: Option<Quote>,
    pub(in crate::diagnosis) bootstrap: Option<(Box<str>, Quote)>,
    pub(in crate::diagnosis) timeouts: Vec<TimeoutRecord>,
    pub(in crate::diagnosis) lost_peers: Vec<(Box<str>, Quote)>,
    /// The first peer to which no connection could be established.
    pub(in crate::diagnosis) unreachable: Option<Box<str>>,
    /// Ranks that did not reach a barrier, in the first line that names them: the first ones, and the number of the others.
    pub(in crate::diagnosis) absent: Option<(Box<str>, Quote)>,
    /// The first line with each known cause.
    pub(in crate::diagnosis) known: Vec<(DiagnosisCode, Quote)>,
    /// The first and the last line about an error whose cause is not known. If an error is fatal, the last line is a fatal one.
    pub(in crate::diagnosis) errors: Vec<Quote>,
    /// True if an error whose cause is not known terminates a process.
    pub(in crate::diagnosis) has_fatal: bool,
    /// Number of minutes with lines up to the last such error.
    pub(in crate::diagnosis) fatal_minutes: u64,
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
    /// The first line about a connection that uses it.
    pub(in crate::diagnosis) connection: Option<Quote>,
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
    pub(in crate::diagnosis) has_gap: bool,
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
    /// Returns true if an error should have terminated a process, and the lines after it show that the program continued.
    pub(in crate::diagnosis) fn has_continued(&self) -> bool {
        self.has_fatal && self.cadence.minutes.saturating_sub(self.fatal_minutes) >= MIN_MINUTES
    }

    /// Returns the line that proves that NCCL uses TCP.
    pub(in crate::diagnosis) fn tcp(&self) -> Option<&Quote> {
        let socket = self.networks.iter().find(|network| *network.name == *TCP).map(|network| &network.quote);
        let provider = self.provider.as_ref().filter(|(name, _)| TCP_PROVIDERS.contains(&&**name));
        socket.or_else(|| provider.map(|(_, quote)| quote))
    }
}
