//! Lines of NCCL, its network plugins, PyTorch and Gloo that decide a finding.

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
    /// A line whose cause is known.
    Known(DiagnosisCode),
    /// An error whose cause is not known.
    Error,
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
const KNOWN: [(&[&str], DiagnosisCode); 18] = [
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
    (&["Failed to initialize any NET plugin"], DiagnosisCode::NetPluginMissing),
    (&["Mismatched NCCL version detected"], DiagnosisCode::NcclVersionsDiffer),
    (&["Multiple Ranks are using the same GPU"], DiagnosisCode::AcceleratorShared),
    (&["Duplicate GPU detected"], DiagnosisCode::AcceleratorShared),
];

/// Errors of PyTorch outside NCCL's log.
const EXCEPTIONS: [&str; 6] = [
    "ProcessGroupNCCL's watchdog got stuck for ",
    "DistNetworkError: ",
    "DistStoreError: ",
    "RendezvousConnectionError: ",
    "RendezvousTimeoutError",
    "CUDA error: ",
];

/// Text before the duration in Gloo's message about an operation that timed out.
const GLOO: &str = "Timed out waiting ";
/// Text after the duration.
const GLOO_OPERATIONS: [&str; 2] = ["recv operation to complete", "send operation to complete"];
/// Text after which PyTorch's watchdog describes the operation.
const WATCHDOG: &str = "Watchdog caught collective operation timeout: ";
/// Text before the number of the operation, in the line after it.
const DETECTED: &str = "failure detected by watchdog at work sequence id: ";

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
        let found = if line.level.is_some() { Self::parse_nccl(text) } else { Self::parse_other(text) };
        let is_error = || line.level == Some(Level::Warn) || is_exception(line);
        found.or_else(|| is_error().then_some(Self::Error))
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
        if let Some((prefix, sequence)) = text.split_once(DETECTED) {
            let sequence = first_word(sequence).parse().ok()?;
            return Some(Self::TimeoutGroup { group: group(prefix)?, sequence });
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

fn is_exception(line: LogLine<'_>) -> bool {
    line.level.is_none() && EXCEPTIONS.iter().any(|name| line.text.contains(name))
}

fn known(text: &str) -> Option<DiagnosisCode> {
    KNOWN.iter().find(|(parts, _)| parts.iter().all(|part| text.contains(part))).map(|(_, code)| *code)
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
