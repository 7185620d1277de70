//! Collective operations that PyTorch's watchdog aborted.

use std::collections::{BTreeMap, HashSet};
use std::ptr;

use super::job_logs::{JobLogs, PodLog, names};
use crate::diagnosis::job::pod_names;
use crate::diagnosis::snapshot::log::TimeoutRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};

/// Maximum number of ranks in a message.
const MAX_RANKS: usize = 8;
/// Operations between two ranks, of which one sends and the other one receives.
const PAIRED: [&str; 2] = ["SEND", "RECV"];
/// Fix without the recorder of NCCL's operations.
const GLOO_FIX: &str = "\
    look at the ranks that logged no time-out: an exception, a slow checkpoint or data loader, a different code path";
/// Fix if the logs show no rank that is late.
const UNDECIDED_FIX: &str = "\
    the operation may hang in the network or on a device: look for errors of adapters and accelerators on the nodes, for NCCL's warnings \
    before the lines, and at the last operations of each rank, which TORCH_NCCL_TRACE_BUFFER_SIZE records; diagnose a running job with --ras";

/// Fix for a barrier, which names the ranks that are late.
const BARRIER_FIX: &str = "\
    look at the ranks that did not reach the barrier: an exception, a slow checkpoint or data loader, a different code path";

/// Reports operations that timed out: which ranks waited, and which ones they waited for, as far as the logs show it.
pub(super) fn check(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let has_barrier = check_barrier(logs, found);
    let waited = logs.ranks().flat_map(|rank| rank.log.timeouts.iter().map(move |timeout| (rank, timeout)));
    // The other operations of Gloo that time out with a barrier are a part of it.
    let waited: Vec<(PodLog<'_>, &TimeoutRecord)> =
        waited.filter(|(_, timeout)| !has_barrier || !timeout.operation.is_empty()).collect();
    let Some((_, first)) = waited.first() else { return };
    let behind = behind(&waited);
    let lowest = if behind.is_empty() { lowest(&waited) } else { Vec::new() };
    let waiting: HashSet<&str> = waited.iter().map(|(rank, _)| &*rank.pod.name).collect();
    let mut without: Vec<PodLog<'_>> = logs.ranks().filter(|rank| rank.log.timeouts.is_empty()).collect();
    without.retain(|rank| !waiting.contains(&*rank.pod.name));
    let read: HashSet<*const PodRecord> = logs.ranks().map(|rank| ptr::from_ref(rank.pod)).collect();
    let ranks = logs.job.not_replaced(PodRecord::is_rank).into_iter();
    let unread: Vec<&PodRecord> = ranks.filter(|pod| !read.contains(&ptr::from_ref(*pod))).collect();
    let differing = differing(&waited).filter(|_| behind.is_empty());
    let is_decided = differing.is_some() || !behind.is_empty() || !lowest.is_empty();
    let is_undecided = !is_decided && without.is_empty() && unread.is_empty();
    let subject = if let Some([one, other]) = differing {
        let call = |(rank, timeout): (PodLog<'_>, &TimeoutRecord)| {
            format!("{} called {}", describe(rank, timeout), timeout.operation)
        };
        format!("{}, and {}: different code paths", call(one), call(other))
    } else if behind.is_empty() {
        match without.len() {
            0 if !unread.is_empty() => format!("no log of {} was read: look there first", pod_names(&unread)),
            0 if !lowest.is_empty() => format!(
                "every log contains a time-out, without its process group, so that the numbers do not prove which rank was late; the \
                 lowest: {}: look there first",
                describe_all(&lowest)
            ),
            0 => "every log contains a time-out, and they do not show which rank was late".to_owned(),
            _ => format!("no time-out in the log of {}: look there first", names(&without)),
        }
    } else {
        format!("behind the others: {}", describe_all(&behind))
    };
    let operation = if first.operation.is_empty() { "a collective operation" } else { &first.operation };
    let message = format!("{operation} timed out; {subject}");
    // The ranks that are behind are the best evidence.
    let suspects = if behind.is_empty() { &lowest } else { &behind };
    let suspects: HashSet<*const TimeoutRecord> = suspects.iter().map(|(_, timeout)| ptr::from_ref(*timeout)).collect();
    let is_behind = |timeout: &TimeoutRecord| suspects.contains(&ptr::from_ref(timeout));
    let (late, others): (Vec<_>, Vec<_>) = waited.iter().partition(|(_, timeout)| is_behind(timeout));
    let evidence = late.into_iter().chain(others).map(|(rank, timeout)| rank.evidence(&timeout.quote));
    // Only PyTorch's watchdog for NCCL names operations.
    let is_gloo = waited.iter().all(|(_, timeout)| timeout.operation.is_empty());
    let recovery = if is_gloo { Recovery::OperationFailed } else { Recovery::CollectiveAborted };
    let diagnosis = logs.diagnosis(DiagnosisCode::CollectiveTimeout, recovery, &message).with_evidence(evidence);
    let fix = if is_gloo { Some(GLOO_FIX) } else { is_undecided.then_some(UNDECIDED_FIX) };
    found.push(diagnosis.with_fix(fix));
}

/// Reports the ranks that did not reach a barrier of Gloo. Returns false if no log names any.
fn check_barrier(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) -> bool {
    let affected: Vec<_> = logs.ranks().filter_map(|rank| Some((rank, rank.log.absent.as_ref()?))).collect();
    let Some((_, (ranks, _))) = affected.first() else { return false };
    let noun = if ranks.contains(',') { "ranks" } else { "rank" };
    let message =
        format!("monitoredBarrier timed out; not reached by {noun} {ranks} of its process group: look there first");
    let evidence = affected.iter().map(|(rank, (_, quote))| rank.evidence(quote));
    let diagnosis = logs.diagnosis(DiagnosisCode::CollectiveTimeout, Recovery::OperationFailed, &message);
    found.push(diagnosis.with_evidence(evidence).with_fix(BARRIER_FIX));
    true
}

/// Returns the ranks whose operation precedes that of other ranks. Numbers are compared within one process group only.
fn behind<'a>(waited: &[(PodLog<'a>, &'a TimeoutRecord)]) -> Vec<(PodLog<'a>, &'a TimeoutRecord)> {
    let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, timeout) in waited {
        if let Some(group) = timeout.group.as_deref() {
            let sequence = newest.entry(group).or_default();
            *sequence = timeout.sequence.max(*sequence);
        }
    }
    let is_behind = |timeout: &TimeoutRecord| {
        timeout.group.as_deref().and_then(|group| newest.get(group)).is_some_and(|newest| timeout.sequence < *newest)
    };
    waited.iter().copied().filter(|(_, timeout)| is_behind(timeout)).collect()
}

/// Returns the ranks with the lowest number, if no line names its process group and others have higher numbers. The operations may be
/// those of different groups.
fn lowest<'a>(waited: &[(PodLog<'a>, &'a TimeoutRecord)]) -> Vec<(PodLog<'a>, &'a TimeoutRecord)> {
    let mut numbers = waited.iter().map(|(_, timeout)| timeout.sequence);
    let lowest = numbers.clone().min();
    let is_named = waited.iter().any(|(_, timeout)| timeout.group.is_some());
    if is_named || numbers.all(|number| Some(number) == lowest) {
        return Vec::new();
    }
    waited.iter().copied().filter(|(_, timeout)| Some(timeout.sequence) == lowest).collect()
}

/// Returns two ranks that wait in different operations of the same number in one process group.
fn differing<'a>(waited: &[(PodLog<'a>, &'a TimeoutRecord)]) -> Option<[(PodLog<'a>, &'a TimeoutRecord); 2]> {
    let mut calls: BTreeMap<(&str, u64), (PodLog<'a>, &'a TimeoutRecord)> = BTreeMap::new();
    waited.iter().filter(|(_, timeout)| !PAIRED.contains(&&*timeout.operation)).find_map(|(rank, timeout)| {
        let first = *calls.entry((timeout.group.as_deref()?, timeout.sequence)).or_insert((*rank, *timeout));
        (first.1.operation != timeout.operation).then_some([first, (*rank, *timeout)])
    })
}

/// Returns the first ranks with their pods and operations.
fn describe_all(timeouts: &[(PodLog<'_>, &TimeoutRecord)]) -> String {
    let shown = timeouts.iter().take(MAX_RANKS).map(|(rank, timeout)| describe(*rank, timeout));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the rank, its pod, and the number of its operation.
fn describe(pod: PodLog<'_>, timeout: &TimeoutRecord) -> String {
    let rank = timeout.rank.map(|rank| format!("rank {rank} on ")).unwrap_or_default();
    format!("{rank}{} (SeqNum {})", pod.pod.short_name(), timeout.sequence)
}
