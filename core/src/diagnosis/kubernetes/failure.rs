//! Ranks that failed for good while their peers run.

use jiff::SignedDuration;

use crate::diagnosis::context::{Context, termination_evidence};
use crate::diagnosis::job::{Job, is_of_cluster, is_older, pod_names};
use crate::diagnosis::replacement::Replacement;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::Completion;

use super::disruption::SHUTDOWN_FIX;
use super::ended::FAILURE_TARGET;

/// Time within which an owner replaces a pod.
const REPLACEMENT: SignedDuration = SignedDuration::from_mins(1);
/// Condition of pods that failed for a cause with a finding of its own.
const DISRUPTION: &str = "DisruptionTarget";
/// Kind that creates Jobs for its roles.
const JOB_SET: &str = "JobSet";

/// Fix for pods that were terminated from outside, for example because they exceeded a limit of storage: their logs do not show why.
const TERMINATED_FIX: &str = "\
    read status.reason in the evidence: correct the limit or the deadline that the pod exceeded; then recreate the job";
/// Parts of the kubelet's messages about pods that it terminates because their node shuts down, or lacks memory or disk.
const OF_NODE: [&str; 2] = ["node shutdown", "low on resource"];
/// Fix for pods with the restart policy `ExitCode` whose exit code is one of the program.
const EXIT_CODE_FIX: &str = "\
    read the log of the rank: kubectl logs; with ExitCode, the operator replaces a pod only if its code is 128 or more, so recreate the \
    job, or use the restart policy OnFailure";
/// Fix for such pods if the operator should have replaced them.
const NOT_REPLACED_FIX: &str = "\
    read the log of the rank: kubectl logs; with ExitCode, the operator replaces a pod whose code is 128 or more, and it has not: check that \
    it runs, its log, and the backoffLimit of the job; then recreate the job";
/// Fix for the pods of a Job, which has no operator.
const JOB_FIX: &str = "\
    read the log of the rank: kubectl logs; then recreate the job; with the restart policy OnFailure or a larger backoffLimit, a Job starts \
    failed pods again";
/// Fix for the pods of a `JobSet`, whose operator has another policy.
const JOB_SET_FIX: &str = "\
    read the log of the rank: kubectl logs; then recreate the JobSet; with failurePolicy.maxRestarts, it starts all of its Jobs again, and with \
    the restart policy OnFailure or a larger backoffLimit, a Job its failed pods";
/// First exit code with which the operator replaces a pod with the policy `ExitCode`.
const RETRYABLE: i64 = 128;
/// Fix for pods of Ray clusters and `LeaderWorkerSets`, which are no jobs to recreate.
const CLUSTER_FIX: &str = "read the log of the pod: kubectl logs; check that the controller of its owner runs, which replaces failed pods; then delete the pod";

/// Reports ranks whose main containers failed and are not restarted.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let is_collective = job.is_collective();
    let takes_part = |pod: &PodRecord| is_collective && pod.is_rank() || is_of_cluster(pod);
    let has_peers = job.active().any(|pod| takes_part(pod) && pod.is_running());
    if !has_peers || job.runs_with_fewer() {
        return;
    }
    let mut failed = job.not_replaced(|pod| {
        let has_failed = failure(pod).is_some_and(|(_, last)| is_older(last.finished, REPLACEMENT, context.now));
        has_failed && takes_part(pod) && pod.deleted.is_none()
    });
    if failed.is_empty() {
        return;
    }
    // The first one may be the cause of the others.
    failed.sort_by_key(|pod| failure(pod).and_then(|(_, last)| last.finished));
    let end = end_of_job(job);
    let recovery = match job.replacement(&failed) {
        _ if end.is_some() => Recovery::RankStays,
        Replacement::Restarts | Replacement::Unknown => Recovery::RankReplaced,
        Replacement::Never | Replacement::LimitReached => Recovery::RankStays,
    };
    let evidence = failed.iter().filter_map(|pod| Some((pod, failure(pod)?))).flat_map(|(pod, (container, last))| {
        let reason = pod.status_summary();
        let reason = reason.map(|reason| Evidence::new(pod.title(), "status.reason", &reason, last.finished));
        let end = termination_evidence(pod, container, last);
        reason.into_iter().chain([end])
    });
    let since = failed.iter().filter_map(|pod| failure(pod)?.1.finished).min();
    let message = format!("{} failed{}", pod_names(&failed), job.waiting_peers(&failed));
    let diagnosis = Diagnosis::new(DiagnosisCode::RankFailed, job.workload_name(), recovery, &message)
        .with_evidence(evidence)
        .with_evidence(end)
        .with_waste(job.waste(&failed, since, context.now));
    let was_terminated = failed.iter().all(|pod| pod.reason.is_some());
    let is_of_node = |pod: &&PodRecord| {
        let message = pod.message.as_deref().unwrap_or_default();
        OF_NODE.iter().any(|part| message.contains(part))
    };
    let is_by_code = failed.iter().all(|pod| job.restarts_by_exit_code(pod));
    let has_own_code = |pod: &&PodRecord| failure(pod).is_some_and(|(_, last)| last.exit_code < RETRYABLE);
    found.push(match was_terminated {
        true if failed.iter().all(is_of_node) => diagnosis.with_fix(SHUTDOWN_FIX),
        true => diagnosis.with_fix(TERMINATED_FIX),
        false if !is_collective => diagnosis.with_fix(CLUSTER_FIX),
        false if is_by_code && failed.iter().all(has_own_code) => diagnosis.with_fix(EXIT_CODE_FIX),
        false if is_by_code && !failed.iter().any(has_own_code) => diagnosis.with_fix(NOT_REPLACED_FIX),
        false if job.is_plain() => diagnosis.with_fix(JOB_FIX),
        false if job.kind == JOB_SET => diagnosis.with_fix(JOB_SET_FIX),
        false => diagnosis,
    });
}

/// Returns the evidence that a Job replaces no pod any more: it is about to fail, or has reached its limit.
fn end_of_job(job: &Job<'_>) -> Option<Evidence> {
    let workload = job.workload.filter(|_| job.is_plain())?;
    let name = job.workload_name().to_string();
    if let Some(target) = workload.true_condition(FAILURE_TARGET) {
        let field = format!("status.conditions[{FAILURE_TARGET}]");
        return Some(Evidence::new(name, field, &target.summary(), target.since));
    }
    let (failed, limit) = (workload.failed?, workload.backoff_limit?);
    let value = format!("{failed}, with backoffLimit {limit}");
    (failed > limit).then(|| Evidence::new(name, "status.failed", &value, None))
}

/// Returns the main container of a pod that failed for good, for no cause that another finding reports.
fn failure(pod: &PodRecord) -> Option<(&ContainerRecord, &TerminationRecord)> {
    let is_disrupted = pod.condition(DISRUPTION).is_some_and(ConditionRecord::is_true);
    if is_disrupted || !matches!(pod.completion, Completion::Completed(_)) {
        return None;
    }
    let terminations = pod.main().filter_map(|container| Some((container, container.last_termination()?)));
    terminations.into_iter().find(|(_, last)| last.exit_code != 0 && !last.is_out_of_memory())
}
