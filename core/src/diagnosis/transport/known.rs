//! Lines whose cause is known.

use super::job_logs::{JobLogs, PodLog, names};
use crate::diagnosis::snapshot::log::{ContainerLog, Quote};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};

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
        found.push(if lacks_interface { diagnosis.with_fix(INTERFACE_FIX) } else { diagnosis });
    }
}

/// Reports errors of ranks whose logs contain no timeout, lost peer, or line that proves a cause.
pub(super) fn check_others(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let is_explained =
        |log: &ContainerLog| !log.known.is_empty() || !log.timeouts.is_empty() || !log.lost_peers.is_empty();
    let affected: Vec<PodLog<'_>> =
        logs.iter().filter(|pod| !pod.log.errors.is_empty() && !is_explained(pod.log)).collect();
    if affected.is_empty() {
        return;
    }
    let code = DiagnosisCode::UnexplainedError;
    let message = format!("{}: {}", names(&affected), code.text());
    let evidence = affected.iter().flat_map(|pod| pod.log.errors.iter().map(|quote| pod.evidence(quote)));
    found.push(logs.diagnosis(code, Recovery::ErrorUnknown, &message).with_evidence(evidence));
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
}
