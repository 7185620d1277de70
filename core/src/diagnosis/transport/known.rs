//! Lines whose cause is known.

use super::job_logs::{JobLogs, PodLog, names};
use super::message::NO_DEVICE;
use super::peers::distinct;
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::log::{ContainerLog, Quote};
use crate::diagnosis::snapshot::read::truncate;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::names::join_names;

/// Maximum length of an error in a message in bytes. The evidence contains more of it.
const MAX_ERROR: usize = 160;

/// Fix for a port that another process has.
const PORT_FIX: &str = "\
    a process of the same pod or, with hostNetwork, of the same node has the port: give each job its own (MASTER_PORT, or that of \
    --rdzv-endpoint), and check that no earlier process is left";
/// Fix for a process that reaches no accelerator.
const DEVICE_FIX: &str = "\
    the process reaches no accelerator: run nvidia-smi in the container and on its node, and check CUDA_VISIBLE_DEVICES, the driver, and, for \
    error 802, the fabric manager of the node";
/// Fixes for errors whose lines name the cause, the first one that applies.
const FIXES: [(&[&str], &str); 4] = [
    (&NO_DEVICE, DEVICE_FIX),
    (
        &["OutOfMemoryError: "],
        "the program needs more memory than the accelerator has: lower its batch size or sequence length, shard or recompute more, or find \
         another process on the device with nvidia-smi; neither the network nor, without other errors, the node is the cause",
    ),
    (&["EADDRINUSE", "Address already in use"], PORT_FIX),
    (
        &["Detected mismatch between collectives"],
        "the ranks called different operations: compare those in the lines, and look in the program for a branch that differs between ranks",
    ),
];

/// Fix for a wrong address of an adapter whose index no pod sets.
const INTERFACE_FIX: &str = "\
    on RoCE, attach the network of the adapter to the pods, such as that of the fabric profile: the address is that of an interface in the \
    pod; no container sets NCCL_IB_GID_INDEX, but its image may";

/// Adds a finding for each cause.
pub(super) fn check(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    for code in DiagnosisCode::ALL {
        // The versions themselves are better evidence.
        let Some(recovery) = recovery(*code) else { continue };
        let affected: Vec<(PodLog<'_>, &Quote)> =
            logs.iter().filter_map(|pod| Some((pod, pod.quote(*code)?))).collect();
        if affected.is_empty() {
            continue;
        }
        let pods: Vec<PodLog<'_>> = affected.iter().map(|(pod, _)| *pod).collect();
        let message = format!("{}: {}", names(&pods), code.text());
        let evidence = affected.iter().map(|(pod, quote)| pod.evidence(quote));
        let diagnosis = logs.diagnosis(*code, recovery, &message).with_evidence(evidence);
        let lacks_interface =
            *code == DiagnosisCode::WrongGid && !affected.iter().any(|(rank, _)| rank.pod.transport.sets_gid_index);
        found.push(diagnosis.with_fix(lacks_interface.then_some(INTERFACE_FIX)));
    }
    check_accelerators(logs, found);
}

/// Adds lines about broken accelerators to the finding about the nodes, or reports them.
fn check_accelerators(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let code = DiagnosisCode::AcceleratorUnhealthy;
    let affected: Vec<PodLog<'_>> = logs.iter().filter(|pod| pod.quote(code).is_some()).collect();
    if affected.is_empty() {
        return;
    }
    let evidence: Vec<Evidence> = affected.iter().filter_map(|pod| Some(pod.evidence(pod.quote(code)?))).collect();
    let workload = logs.job.workload_name();
    // The node of another pod explains no error.
    let is_named = |found: &Diagnosis, pod: &PodLog<'_>| {
        let node = pod.pod.node.as_ref().map(|node| format!("Node {node}"));
        node.is_some_and(|node| found.evidence.iter().any(|evidence| evidence.object == node))
    };
    let is_same = |found: &&mut Diagnosis| {
        found.code == code && found.workload == workload && affected.iter().all(|pod| is_named(found, pod))
    };
    if let Some(known) = found.iter_mut().find(is_same) {
        for evidence in evidence {
            known.push_evidence(evidence);
        }
        // The mark of HyperPod alone may be about another part of the node.
        if known.recovery == Recovery::NodeMarked {
            known.recovery = Recovery::DeviceUnhealthy;
            known.finding.fix = Some(code.fix());
        }
        return;
    }
    let mut nodes: Vec<&str> = affected.iter().filter_map(|pod| pod.pod.node.as_deref()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let nodes = if nodes.is_empty() { String::new() } else { format!(" on {}", join_names(nodes)) };
    let message = format!("{} logged an uncorrectable error of an accelerator{nodes}", names(&affected));
    found.push(logs.diagnosis(code, Recovery::DeviceUnhealthy, &message).with_evidence(evidence));
}

/// Reports errors of ranks whose logs contain no timeout, lost peer, or line that proves a cause.
pub(super) fn check_others(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let is_explained = |log: &ContainerLog| {
        !log.known.is_empty() || !log.timeouts.is_empty() || !log.lost_peers.is_empty() || log.absent.is_some()
    };
    let mut affected: Vec<PodLog<'_>> =
        logs.iter().filter(|pod| !pod.log.errors.is_empty() && !is_explained(pod.log)).collect();
    // The most specific lines come first.
    affected.sort_by_key(|pod| (pod.unreachable().is_none(), !pod.is_fatal()));
    let Some(first) = affected.first() else { return };
    let message = unreachable_peers(logs, &affected).unwrap_or_else(|| {
        let errors = if affected.len() == 1 { "an error" } else { "errors" };
        let line = if first.is_fatal() { first.log.errors.last() } else { first.log.errors.first() };
        let line = line.map(|quote| truncate(&quote.text, MAX_ERROR)).unwrap_or_default();
        format!("{} logged {errors} that no other finding explains: {line}", names(&affected))
    });
    let evidence = affected.iter().flat_map(|pod| pod.log.errors.iter().map(|quote| pod.evidence(quote)));
    let contains = |part: &str| affected.iter().any(|pod| pod.log.errors.iter().any(|quote| quote.text.contains(part)));
    let fix = FIXES.iter().find(|(parts, _)| parts.iter().any(|part| contains(part))).map(|(_, fix)| *fix);
    let code = DiagnosisCode::UnexplainedError;
    let mut diagnosis = logs.diagnosis(code, Recovery::ErrorUnknown, &message).with_evidence(evidence).with_fix(fix);
    if !affected.iter().any(PodLog::is_fatal) {
        diagnosis.finding.severity = Severity::Info;
    }
    found.push(diagnosis);
}

/// Returns a message about the peers to which some of `affected` cannot connect.
fn unreachable_peers(logs: &JobLogs<'_>, affected: &[PodLog<'_>]) -> Option<String> {
    let ranks: Vec<PodLog<'_>> = affected.iter().copied().filter(|pod| pod.unreachable().is_some()).collect();
    let peer =
        |address: &str| logs.pod_of(address).map_or_else(|| address.to_owned(), |pod| format!("{pod} ({address})"));
    let peers = distinct(ranks.iter().filter_map(PodLog::unreachable).map(peer));
    (!peers.is_empty()).then(|| format!("{} cannot connect to {}", names(&ranks), join_names(peers)))
}

/// Returns the recovery of the causes that one line proves.
fn recovery(code: DiagnosisCode) -> Option<Recovery> {
    match code {
        DiagnosisCode::NoSocketInterface => Some(Recovery::InterfaceMissing),
        DiagnosisCode::LockedMemoryTooSmall | DiagnosisCode::SharedMemoryTooSmall => Some(Recovery::MemoryLimited),
        DiagnosisCode::WrongGid => Some(Recovery::AddressInvalid),
        DiagnosisCode::FabricTimeout => Some(Recovery::FabricUnreliable),
        DiagnosisCode::NetPluginMissing => Some(Recovery::LibraryMissing),
        DiagnosisCode::AcceleratorShared => Some(Recovery::DeviceShared),
        _ => None,
    }
}

impl<'a> PodLog<'a> {
    /// Returns the line that proves a cause.
    pub(super) fn quote(self, code: DiagnosisCode) -> Option<&'a Quote> {
        self.log.known.iter().find(|(known, _)| *known == code).map(|(_, quote)| quote)
    }

    /// Returns the peer to which no connection could be established.
    fn unreachable(&self) -> Option<&'a str> {
        self.log.unreachable.as_deref().filter(|_| self.is_fatal())
    }

    /// Returns true if an error terminates a process, and the main containers have not continued or completed in spite of it.
    fn is_fatal(&self) -> bool {
        self.log.has_fatal && !self.log.has_continued() && !self.pod.main().all(ContainerRecord::has_completed)
    }
}
