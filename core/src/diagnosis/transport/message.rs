//! Lines of NCCL, its network plugins, PyTorch, Gloo and mpirun that decide a finding.

use super::line::{Level, LogLine};
use crate::diagnosis::DiagnosisCode;

/// Content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// Version of NCCL.
    Version(&'a str),
    /// Network that a communicator uses.
    Network(&'a str),
    /// Connection to a rank on another node.
    Connection { network: &'a str, is_direct: bool },
    /// NCCL found no InfiniBand or RoCE adapter.
    NoAdapter,
    /// libibverbs cannot be loaded.
    NoVerbs,
    /// Provider of libfabric that the plugin aws-ofi-nccl uses.
    Provider(&'a str),
    /// Address at which the peers reach a rank during initialization.
    Bootstrap(&'a str),
    /// A collective operation timed out.
    Timeout(CollectiveTimeout<'a>),
    /// Process group of an operation that timed out, after a line of the watchdog without it.
    TimeoutGroup { group: &'a str, sequence: u64 },
    /// The connection to a peer was closed or reset: an address or host name.
    LostPeer(&'a str),
    /// No connection to a peer could be established: an address or host name.
    Unreachable(&'a str),
    /// Ranks that did not reach a barrier of Gloo, separated by commas.
    Absent(&'a str),
    /// A line whose cause is known.
    Known(DiagnosisCode),
    /// An error whose cause is not known. After a fatal one, the process terminates.
    Error { is_fatal: bool },
}

/// A collective operation that timed out, in PyTorch's watchdog or in Gloo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CollectiveTimeout<'a> {
    /// Process group, if the line names it.
    pub(super) group: Option<&'a str>,
    /// Number of the operation in its group.
    pub(super) sequence: u64,
    pub(super) operation: &'a str,
}

/// Texts whose cause is known: a line contains all of one entry.
const KNOWN: [(&[&str], DiagnosisCode); 22] = [
    (&["Bootstrap : no socket interface found"], DiagnosisCode::NoSocketInterface),
    (&["NET/Socket : no interface found"], DiagnosisCode::NoSocketInterface),
    (&["NET/Socket : No usable listening interface found"], DiagnosisCode::NoSocketInterface),
    (&["NET/IB : No IP interface found"], DiagnosisCode::NoSocketInterface),
    (&["Unable to find address for: "], DiagnosisCode::NoSocketInterface),
    (&["Call to ibv_reg_mr", "failed", "Cannot allocate memory"], DiagnosisCode::LockedMemoryTooSmall),
    (&["Call to ibv_create_qp failed", "Cannot allocate memory"], DiagnosisCode::LockedMemoryTooSmall),
    (&["Call to ibv_create_cq failed", "Cannot allocate memory"], DiagnosisCode::LockedMemoryTooSmall),
    (&["Call to ibv_modify_qp failed", "Invalid argument"], DiagnosisCode::WrongGid),
    (&["Got completion from peer", "error 12,"], DiagnosisCode::FabricTimeout),
    (&["Got completion from peer", "status=12 "], DiagnosisCode::FabricTimeout),
    (&["Got completion from peer", "(12) "], DiagnosisCode::FabricTimeout),
    (&["failed to extend /dev/shm"], DiagnosisCode::SharedMemoryTooSmall),
    (&["/dev/shm/nccl", "No space left on device"], DiagnosisCode::SharedMemoryTooSmall),
    (&["killed by signal: Bus error", "out of shared memory"], DiagnosisCode::SharedMemoryTooSmall),
    (&["caused by insufficient shared memory (shm)"], DiagnosisCode::SharedMemoryTooSmall),
    (&["uncorrectable ECC error encountered"], DiagnosisCode::AcceleratorUnhealthy),
    (&["uncorrectable NVLink error detected"], DiagnosisCode::AcceleratorUnhealthy),
    (&["Failed to initialize any NET plugin"], DiagnosisCode::NetPluginMissing),
    (&["Mismatched NCCL version detected"], DiagnosisCode::NcclVersionsDiffer),
    (&["Multiple Ranks are using the same GPU"], DiagnosisCode::AcceleratorShared),
    (&["Duplicate GPU detected"], DiagnosisCode::AcceleratorShared),
];

/// Errors of PyTorch outside NCCL's log and of mpirun after which the process terminates.
const FATAL: [&str; 22] = [
    "ProcessGroupNCCL's watchdog got stuck for ",
    "detected no heartbeat of its watchdog",
    "Heartbeat monitor timed out!",
    "due to ProcessGroupNCCL watchdog hang",
    "DistBackendError: ",
    "DistNetworkError: ",
    "DistStoreError: ",
    "RendezvousConnectionError: ",
    "RendezvousTimeoutError",
    "RendezvousClosedError",
    "The client socket has timed out after ",
    "RuntimeError: NCCL Error ",
    // PyTorch explains the code that NCCL returned, and quotes NCCL's last warning in a line after it.
    "ncclSystemError: ",
    "ncclRemoteError: ",
    "ncclInternalError: ",
    "ncclUnhandledCudaError: ",
    "Detected mismatch between collectives on ranks",
    // Without the name of an exception, an agent of torchrun has found another one on its node, and continues.
    "Error: The server socket has failed to listen on any local network address",
    "torch.OutOfMemoryError: ",
    "torch.cuda.OutOfMemoryError: ",
    "CUDA error: ",
    "unable to reliably start one or more daemons",
];
/// Exceptions of PyTorch about accelerators that a process does not reach. As warnings, they do not terminate it.
const EXCEPTION: &str = "RuntimeError: ";
pub(super) const NO_DEVICE: [&str; 4] = [
    "No CUDA GPUs are available",
    "Unexpected error from cudaGetDeviceCount()",
    "CUDA driver initialization failed",
    "Found no NVIDIA driver on your system",
];
/// Exceptions of the client of etcd, by which torchrun meets.
const ETCD: &str = "etcd.Etcd";
const ETCD_EXCEPTIONS: [&str; 2] = ["ConnectionFailed: ", "Exception: "];
/// Errors of ssh and PyTorch that are not fatal: a script may wait in a loop until the name resolves, and PyTorch tries again. Without a
/// record for IPv6, it uses that for IPv4.
const UNRESOLVED: [&str; 2] = ["ssh: Could not resolve hostname ", "The IPv4 network addresses of "];

/// Parts of PyTorch's messages about a store or rendezvous that a member does not reach.
const STORE_LOST: [&str; 6] = [
    "DistNetworkError: ",
    "DistStoreError: ",
    "RendezvousConnectionError: ",
    "RendezvousTimeoutError",
    "The client socket has failed to connect to ",
    "The client socket has timed out ",
];

/// Text before the duration in Gloo's message about an operation that timed out.
const GLOO: &str = "Timed out waiting ";
/// Text after the duration.
const GLOO_OPERATIONS: [&str; 2] = ["recv operation to complete", "send operation to complete"];
/// Text after which PyTorch's watchdog describes the operation.
const WATCHDOG: &str = "Watchdog caught collective operation timeout: ";
/// Texts before the number of the operation, in the line after it; the second one in PyTorch 2.5.
const DETECTED: [&str; 2] = [
    "failure detected by watchdog at work sequence id: ",
    "(either an error or timeout) detected by watchdog at work: ",
];
/// Text after the ranks that did not reach a barrier of Gloo.
const BARRIER: &str = " failed to pass monitoredBarrier in ";

impl<'a> Message<'a> {
    /// Parses the text of a line; `None` if it decides nothing.
    pub(super) fn parse(line: LogLine<'a>) -> Option<Self> {
        let text = line.text;
        if let Some(version) = text.strip_prefix("NCCL version ") {
            return Some(Self::Version(first_word(version)));
        }
        // While NCCL tests what the node supports, it logs expected errors at level INFO.
        if let Some(code) = known(text).filter(|_| line.level != Some(Level::Info)) {
            return Some(Self::Known(code));
        }
        if let Some(peer) = unreachable_peer(text).filter(|_| line.level != Some(Level::Info)) {
            return Some(Self::Unreachable(peer));
        }
        let found = if line.level.is_some() { Self::parse_nccl(text) } else { Self::parse_other(text) };
        found.or_else(|| is_fatal(line).map(|is_fatal| Self::Error { is_fatal }))
    }

    fn parse_nccl(text: &'a str) -> Option<Self> {
        if let Some(network) = text.strip_prefix("Using network ") {
            return Some(Self::Network(network.trim()));
        }
        if let Some((_, connection)) = text.split_once(" via NET/") {
            let (network, device) = connection.split_once('/')?;
            return Some(Self::Connection { network, is_direct: device.contains("/GDRDMA") });
        }
        if text.contains("NET/IB : No device found") {
            return Some(Self::NoAdapter);
        }
        // Since 2.30, one line for each name that was tried; the last one is libibverbs.so.1.
        if text.contains("Failed to open libibverbs.so[.1]") || text.contains("Count not open libibverbs.so.1") {
            return Some(Self::NoVerbs);
        }
        if let Some((_, provider)) = text.split_once("NET/OFI Selected ") {
            let (_, provider) = provider.split_once("rovider is ")?;
            return Some(Self::Provider(first_word(provider).trim_end_matches(',')));
        }
        let bootstrap = text.strip_prefix("Bootstrap : Using ").or_else(|| text.strip_prefix("Bootstrap: Using "));
        if let Some(interface) = bootstrap {
            return Some(Self::Bootstrap(first_word(interface)));
        }
        lost_peer(text).map(Self::LostPeer)
    }

    fn parse_other(text: &'a str) -> Option<Self> {
        if let Some((prefix, sequence)) = DETECTED.iter().find_map(|detected| text.split_once(detected)) {
            let sequence = first_word(sequence).trim_end_matches(',').parse().ok()?;
            return Some(Self::TimeoutGroup { group: group(prefix)?, sequence });
        }
        if let Some((ranks, _)) = text.split_once(BARRIER) {
            return absent_ranks(ranks).map(Self::Absent);
        }
        match text.split_once(WATCHDOG) {
            Some((prefix, work)) => CollectiveTimeout::parse(prefix, work).map(Self::Timeout),
            None if has_timed_out_in_gloo(text) => Some(Self::Timeout(CollectiveTimeout::UNKNOWN)),
            None => lost_peer(text).map(Self::LostPeer),
        }
    }
}

impl<'a> CollectiveTimeout<'a> {
    /// One of Gloo, whose message names neither group nor operation.
    const UNKNOWN: Self = Self { group: None, sequence: 0, operation: "" };

    /// Parses the text before and after [`WATCHDOG`].
    fn parse(prefix: &'a str, work: &'a str) -> Option<Self> {
        let (_, fields) = work.split_once("WorkNCCL(")?;
        let field = |name: &str| {
            let (_, value) = fields.split_once(name)?;
            value.split([',', ')']).next().map(str::trim)
        };
        Some(Self {
            group: group(prefix),
            sequence: field("SeqNum=")?.parse().ok()?,
            operation: field("OpType=").unwrap_or_default(),
        })
    }
}

/// Returns the process group in `[PG ID 0 PG GUID 0(default_pg) Rank 1]`: identifier and name. Former versions print
/// `[Rank 1]`, the rank in an unknown group.
fn group(prefix: &str) -> Option<&str> {
    let (_, group) = prefix.rsplit_once("PG GUID ")?;
    let (group, _) = group.rsplit_once(" Rank ")?;
    Some(group.trim())
}

/// Returns true for `Timed out waiting 1800000ms for recv operation to complete`. Without a duration, the message is one of
/// another library.
fn has_timed_out_in_gloo(text: &str) -> bool {
    let after = text.split_once(GLOO).and_then(|(_, after)| after.split_once("ms for "));
    after.is_some_and(|(duration, operation)| {
        let is_duration = !duration.is_empty() && duration.bytes().all(|byte| byte.is_ascii_digit());
        is_duration && GLOO_OPERATIONS.contains(&operation.trim_end())
    })
}

/// Returns the peer in the messages of Gloo and NCCL about a connection that was closed.
fn lost_peer(text: &str) -> Option<&str> {
    if let Some((_, peer)) = text.split_once("Connection closed by remote peer ") {
        return Some(peer.split('<').next().unwrap_or_default().trim());
    }
    let after = ["Connection closed by peer [", "Read error [", "Write error ["];
    let (_, peer) = after.iter().find_map(|before| text.split_once(before))?;
    Some(peer.split(']').next().unwrap_or_default())
}

/// Returns the peer in NCCL's messages about a connection that could not be established: `Connect to 10.0.0.1<4242> failed : …`, or
/// with the number of an error after which NCCL does not try again: `Connect to 10.0.0.1<4242> returned 113(No route to host) …`.
fn unreachable_peer(text: &str) -> Option<&str> {
    let (_, after) = text.strip_prefix("socket")?.split_once("onnect to ")?;
    let (peer, result) = after.split_once('<')?;
    let has_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let is_final = || result.split_once("> returned ").is_some_and(|(_, error)| has_number(error));
    let has_failed = result.contains("> failed") || result.contains("exceeded") || is_final();
    (has_failed && !peer.is_empty()).then_some(peer)
}

/// Returns the ranks at the end of `[Rank 0]: Ranks 1, 2`.
fn absent_ranks(text: &str) -> Option<&str> {
    let is_list = |ranks: &&str| ranks.split(',').all(|rank| rank.trim().parse::<u32>().is_ok());
    ["Ranks ", "Rank "].into_iter().find_map(|name| text.rsplit_once(name).map(|(_, ranks)| ranks).filter(is_list))
}

/// Returns true for an error of PyTorch about the store of the group.
pub(super) fn is_store_lost(line: LogLine<'_>) -> bool {
    line.level.is_none() && STORE_LOST.iter().any(|part| line.text.contains(part))
}

/// Returns true for an error after which the process terminates, and false for another one; `None` if the line is no error.
fn is_fatal(line: LogLine<'_>) -> Option<bool> {
    match line.level {
        Some(Level::Info) => None,
        Some(Level::Warn) => Some(false),
        None if FATAL.iter().any(|error| line.text.contains(error)) => Some(true),
        None if is_exception(line.text, EXCEPTION, &NO_DEVICE) || is_exception(line.text, ETCD, &ETCD_EXCEPTIONS) => {
            Some(true)
        }
        None => UNRESOLVED.iter().any(|error| line.text.contains(error)).then_some(false),
    }
}

/// Returns true if `text` contains `name`, followed by one of `messages`.
fn is_exception(text: &str, name: &str, messages: &[&str]) -> bool {
    text.split_once(name).is_some_and(|(_, rest)| messages.iter().any(|message| rest.starts_with(message)))
}

fn known(text: &str) -> Option<DiagnosisCode> {
    KNOWN.iter().find(|(parts, _)| parts.iter().all(|part| text.contains(part))).map(|(_, code)| *code)
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
