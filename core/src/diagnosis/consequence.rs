//! Findings about a workload that another finding about it explains. They become warnings, so that the cause comes first, or are
//! left out.

use std::collections::HashSet;

use super::{Diagnosis, DiagnosisCode, Evidence, Recovery, WorkloadName};
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
const FATAL_LINES: [DiagnosisCode; 12] = [
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
    DiagnosisCode::AcceleratorUnhealthy,
    DiagnosisCode::CollectiveTimeout,
];

/// Start of the titles of pods.
const POD_TITLE: &str = "Pod ";

/// Findings about gangs that can never be placed.
const NO_PLACE: [DiagnosisCode; 4] = [
    DiagnosisCode::PodGroupMissing,
    DiagnosisCode::PodGroupTooLarge,
    DiagnosisCode::GangIncomplete,
    DiagnosisCode::LauncherAwaitsGang,
];
/// Findings about pods without a node, whatever keeps them from one.
const NOT_PLACED: [DiagnosisCode; 2] = [DiagnosisCode::PodsUnschedulable, DiagnosisCode::SchedulingNotAttempted];
/// Fix for a partly scheduled job that waits for another one.
const DEADLOCK_FIX: &str = "see GangsDeadlocked: delete one of the jobs, and schedule both as gangs";

/// Lowers the severity of failures among the findings about one workload that others of them explain.
pub(super) fn lower(found: &mut [Diagnosis]) {
    let is_explained =
        |failure: &Diagnosis| FAILURES.contains(&failure.code) && found.iter().any(|cause| explains(cause, failure));
    let explained: Vec<usize> = (0..found.len()).filter(|index| is_explained(&found[*index])).collect();
    for index in explained {
        found[index].finding.severity = found[index].finding.severity.max(Severity::Warning);
    }
}

/// Returns true if `cause` explains a failure: its ranks form no group, or the log of each of its pods shows the cause. The evidence
/// about the workload of the failure, such as a limit of restarts, has no cause of its own.
fn explains(cause: &Diagnosis, failure: &Diagnosis) -> bool {
    let is_named = |pod: &Evidence| cause.evidence.iter().any(|evidence| evidence.object == pod.object);
    let of_pods = || failure.evidence.iter().filter(|evidence| evidence.object.starts_with(POD_TITLE));
    let has_pods = of_pods().next().is_some();
    match cause.code {
        // A pod with a container that crashes is not ready.
        DiagnosisCode::MasterNotReady => !of_pods().any(is_named),
        // The member with the store may have terminated because a peer failed.
        DiagnosisCode::StoreLost => cause
            .since
            .is_some_and(|lost| has_pods && of_pods().all(|pod| pod.time.is_some_and(|failed| failed >= lost))),
        code if NO_GROUP.contains(&code) => true,
        code if FATAL_LINES.contains(&code) => failure.more_evidence == 0 && has_pods && of_pods().all(is_named),
        _ => false,
    }
}

/// Leaves out the findings about gangs without a node which can never be placed, as others report: neither a node nor the scheduler
/// matters for them.
pub(super) fn leave_out_gangs_without_place(found: &mut Vec<Diagnosis>, of_cluster: &[Diagnosis]) {
    let causes = found.iter().chain(of_cluster).filter(|cause| NO_PLACE.contains(&cause.code));
    let workloads: HashSet<WorkloadName> = causes.map(|cause| cause.workload.clone()).collect();
    found.retain(|found| !(NOT_PLACED.contains(&found.code) && workloads.contains(&found.workload)));
}

/// Lowers findings about partly scheduled jobs that wait for each other, as `of_cluster` reports: no capacity becomes free for them.
pub(super) fn lower_deadlocked(found: &mut [Diagnosis], of_cluster: &[Diagnosis]) {
    let deadlocks: Vec<&Diagnosis> =
        of_cluster.iter().filter(|cause| cause.code == DiagnosisCode::GangsDeadlocked).collect();
    let is_deadlocked = |found: &Diagnosis| deadlocks.iter().any(|cause| cause.concerns(&found.workload));
    for found in found.iter_mut().filter(|found| found.code == DiagnosisCode::GangPartlyScheduled) {
        if is_deadlocked(found) {
            found.finding.severity = found.finding.severity.max(Severity::Warning);
            found.finding.fix = Some(DEADLOCK_FIX);
            found.recovery = Recovery::Deadlocked;
        }
    }
}
