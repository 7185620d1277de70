//! Findings about a workload that another finding about it explains. They become warnings, so that the cause comes first, or are
//! left out.

use super::{Diagnosis, DiagnosisCode};
use crate::finding::Severity;

/// Findings about containers that fail, for any reason.
const FAILURES: [DiagnosisCode; 3] =
    [DiagnosisCode::CrashLoop, DiagnosisCode::RankFailed, DiagnosisCode::LauncherFailed];
/// Causes by which no process group forms: the ranks fail at their time-out, or at once. None of them is the effect of a rank
/// that fails.
const NO_GROUP: [DiagnosisCode; 8] = [
    DiagnosisCode::PlaintextRejected,
    DiagnosisCode::SettingsDiffer,
    DiagnosisCode::RanksCollide,
    DiagnosisCode::NodesExceedPods,
    DiagnosisCode::MasterUnresolvable,
    DiagnosisCode::ServiceMissesMaster,
    DiagnosisCode::ServicePortClosed,
    DiagnosisCode::EtcdWithoutV2,
];
/// Causes in the log of a rank by which it terminates. Others make a job slow, such as a network over TCP.
const FATAL_LINES: [DiagnosisCode; 11] = [
    DiagnosisCode::NetworksDiffer,
    DiagnosisCode::NcclVersionsDiffer,
    DiagnosisCode::NoSocketInterface,
    DiagnosisCode::BootstrapUnreachable,
    DiagnosisCode::LockedMemoryTooSmall,
    DiagnosisCode::WrongGid,
    DiagnosisCode::FabricTimeout,
    DiagnosisCode::SharedMemoryTooSmall,
    DiagnosisCode::NetPluginMissing,
    DiagnosisCode::AcceleratorShared,
    DiagnosisCode::CollectiveTimeout,
];

/// Findings about gangs that can never be placed.
const NO_PLACE: [DiagnosisCode; 3] =
    [DiagnosisCode::PodGroupMissing, DiagnosisCode::PodGroupTooLarge, DiagnosisCode::GangIncomplete];

/// Lowers the severity of failures among the findings about one workload that others of them explain.
pub(super) fn lower(found: &mut [Diagnosis]) {
    let is_explained =
        |failure: &Diagnosis| FAILURES.contains(&failure.code) && found.iter().any(|cause| explains(cause, failure));
    let explained: Vec<usize> = (0..found.len()).filter(|index| is_explained(&found[*index])).collect();
    for index in explained {
        found[index].finding.severity = found[index].finding.severity.max(Severity::Warning);
    }
}

/// Returns true if `cause` explains a failure: its ranks form no group, or the log of each of its pods shows the cause.
fn explains(cause: &Diagnosis, failure: &Diagnosis) -> bool {
    let is_named = |pod: &str| cause.evidence.iter().any(|evidence| evidence.object == pod);
    match cause.code {
        // A pod with a container that crashes is not ready.
        DiagnosisCode::MasterNotReady => !failure.evidence.iter().any(|evidence| is_named(&evidence.object)),
        // The member with the store may have terminated because a peer failed.
        DiagnosisCode::StoreLost => cause.since.is_some_and(|lost| {
            failure.evidence.iter().all(|evidence| evidence.time.is_some_and(|failed| failed >= lost))
        }),
        code if NO_GROUP.contains(&code) => true,
        code if FATAL_LINES.contains(&code) => {
            failure.more_evidence == 0 && failure.evidence.iter().all(|evidence| is_named(&evidence.object))
        }
        _ => false,
    }
}

/// Returns true if `found` reports that no node fits a gang which can never be placed, as `others` report: no node matters for it.
pub(super) fn is_gang_without_place(found: &Diagnosis, others: &[Diagnosis]) -> bool {
    found.code == DiagnosisCode::PodsUnschedulable
        && others.iter().any(|other| NO_PLACE.contains(&other.code) && other.workload == found.workload)
}
