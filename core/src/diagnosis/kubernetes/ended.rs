//! Jobs that have failed: which pod failed first, and whether the operator has noticed.

use jiff::{SignedDuration, Timestamp};

use crate::diagnosis::context::{Context, termination_evidence};
use crate::diagnosis::job::{Job, SERVICES, is_older};
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::workload::{FAILED as FAILED_PHASE, WorkloadRecord};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::PodPhase;

/// Time within which an operator replaces the pods of a job or reports its end: the Job controller waits for up to 10 minutes.
const REPORT: SignedDuration = SignedDuration::from_mins(15);
/// Kind whose pods are those of several runs.
const CRON_JOB: &str = "CronJob";
/// Condition of a Job that terminates its pods and then fails.
pub(super) const FAILURE_TARGET: &str = "FailureTarget";
/// Conditions of a Job that has failed; the first one is older, because the pods terminate in between.
const FAILED: [&str; 2] = [FAILURE_TARGET, "Failed"];

/// Fix for a job of which no pod shows a failure, so that there is no log to read.
const CONDITION_FIX: &str =
    "read the message of the condition in the evidence; correct the cause, and create the job again";

/// Fix for a Job of which nobody reports the end, and which has no operator.
const UNREPORTED_FIX: &str = "\
    check that kube-controller-manager runs, whose Job controller reports the end of the job, its log, and the events of the job: kubectl \
    describe; then recreate the job";

/// Reason and part of the message of the condition of a job that ran for longer than it may.
const DEADLINE: (&str, &str) = ("DeadlineExceeded", "active longer than specified deadline");
const DEADLINE_FIX: &str = "\
    raise activeDeadlineSeconds of the job (in kinds of Kubeflow, that of runPolicy), or find out why it took longer: its pods were terminated \
    because of it; then create the job again";

/// A main container that failed, with its pod.
#[derive(Clone, Copy)]
struct Failure<'a> {
    pod: &'a PodRecord,
    container: &'a ContainerRecord,
    termination: &'a TerminationRecord,
}

/// Reports a job that has failed, or whose pods have all failed.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    if SERVICES.contains(&job.kind) || job.kind == CRON_JOB {
        return;
    }
    if let Some(condition) = job.workload.and_then(failure) {
        found.push(failed(job, condition));
    } else if job.workload.is_none_or(is_active) && all_failed(job) {
        // Pods that were evicted or rejected have a finding.
        let has_cause = found.iter().any(|found| found.workload == job.workload_name());
        let failures = failures(job, None);
        let last = failures.iter().filter_map(|failure| failure.termination.finished).max();
        if job.workload.is_some_and(WorkloadRecord::reports_end) {
            // Without new pods, the operator still tries.
            let is_denied = found
                .iter()
                .any(|found| found.workload == job.workload_name() && found.code == DiagnosisCode::PodCreationFails);
            let is_late = !is_denied && is_older(last, REPORT, context.now);
            found.extend(is_late.then(|| unreported(job, &failures)));
        } else if !has_cause && !failures.is_empty() {
            let is_bare = job.pods.iter().all(|pod| pod.owner.is_none());
            let phase = job.workload.and_then(|workload| workload.failed_phase);
            let phase = phase.map(|field| Evidence::new(job.workload_name().to_string(), field, FAILED_PHASE, None));
            let is_final = is_bare || phase.is_some();
            let recovery = if is_final { Recovery::JobEnded } else { Recovery::EndUnreported };
            let pods = if job.pods.len() == 1 { "the pod has failed" } else { "all pods have failed" };
            found.push(report(job, recovery, &format!("{pods}{}", first(&failures)), &failures, phase));
        }
    }
}

/// Returns true if a job has failed, according to its object or its pods.
pub(super) fn has_failed(job: &Job<'_>) -> bool {
    match job.workload {
        Some(workload) if workload.is_finished() => failure(workload).is_some(),
        _ => all_failed(job),
    }
}

/// Returns the condition by which a workload has failed.
fn failure(workload: &WorkloadRecord) -> Option<&ConditionRecord> {
    workload.true_condition("Failed")
}

fn failed(job: &Job<'_>, condition: &ConditionRecord) -> Diagnosis {
    let conditions = || job.workload.into_iter().flat_map(|workload| FAILED.map(|kind| workload.true_condition(kind)));
    // Pods that fail later are terminated because the job has failed.
    let until = conditions().flatten().filter_map(|condition| condition.since).min();
    let failures = failures(job, until);
    let evidence = Evidence::new(
        job.workload_name().to_string(),
        "status.conditions[Failed]",
        &condition.summary(),
        condition.since,
    );
    if is_deadline(condition) {
        let message = "the job has failed: it ran for longer than activeDeadlineSeconds";
        let diagnosis = report(job, Recovery::JobEnded, message, &[], Some(evidence));
        return diagnosis.with_evidence(failures.iter().map(Failure::evidence)).with_fix(DEADLINE_FIX);
    }
    let message = format!("the job has failed{}", first(&failures));
    let diagnosis = report(job, Recovery::JobEnded, &message, &failures, Some(evidence));
    diagnosis.with_fix(failures.is_empty().then_some(CONDITION_FIX))
}

/// Returns true if a job failed because of its deadline, and not because of a pod.
fn is_deadline(condition: &ConditionRecord) -> bool {
    let (reason, text) = DEADLINE;
    condition.reason.as_deref() == Some(reason)
        || condition.message.as_deref().is_some_and(|message| message.contains(text))
}

fn unreported(job: &Job<'_>, failures: &[Failure<'_>]) -> Diagnosis {
    let message = format!("all pods of the job have failed, and it has not finished{}", first(failures));
    Diagnosis::new(DiagnosisCode::FailureUnreported, job.workload_name(), Recovery::EndUnreported, &message)
        .with_evidence(failures.iter().map(Failure::evidence))
        .with_fix(job.is_plain().then_some(UNREPORTED_FIX))
}

fn report(
    job: &Job<'_>,
    recovery: Recovery,
    message: &str,
    failures: &[Failure<'_>],
    condition: Option<Evidence>,
) -> Diagnosis {
    // The first two show the order, and the condition of the job follows.
    let (order, others) = failures.split_at(failures.len().min(2));
    let evidence = order.iter().map(Failure::evidence).chain(condition).chain(others.iter().map(Failure::evidence));
    Diagnosis::new(DiagnosisCode::JobFailed, job.workload_name(), recovery, message).with_evidence(evidence)
}

fn is_active(workload: &WorkloadRecord) -> bool {
    workload.suspended.is_none() && !workload.is_deleted && !workload.is_finished()
}

fn all_failed(job: &Job<'_>) -> bool {
    !job.pods.is_empty() && job.pods.iter().all(|pod| pod.phase == PodPhase::Failed)
}

/// Returns the failures up to a time, the first one first.
fn failures<'a>(job: &Job<'a>, until: Option<Timestamp>) -> Vec<Failure<'a>> {
    let of_pod = |pod: &'a PodRecord| {
        let containers = pod.main().filter_map(move |container| {
            let termination = container.last_termination().filter(|_| !container.is_running())?;
            Some(Failure { pod, container, termination })
        });
        containers.filter(|failure| failure.termination.exit_code != 0)
    };
    let is_before = |failure: &Failure<'_>| match (failure.termination.finished, until) {
        (Some(finished), Some(until)) => finished <= until,
        (finished, _) => finished.is_some(),
    };
    let mut failures: Vec<Failure<'a>> = job.pods.iter().copied().flat_map(of_pod).filter(is_before).collect();
    failures.sort_by_key(|failure| failure.termination.finished);
    failures
}

/// Returns the end of a message: the pod that failed first, and how; empty if none is known.
fn first(failures: &[Failure<'_>]) -> String {
    let Some(first) = failures.first() else { return String::new() };
    let cause = first.termination.summary();
    match failures.iter().filter(|failure| failure.termination.finished == first.termination.finished).count() {
        1 if failures.len() == 1 => format!(": {} with {cause}", first.pod.short_name()),
        1 => format!("; {} failed first, with {cause}", first.pod.short_name()),
        // The times are those of seconds.
        _ => format!("; {} failed first or at the same time as others, with {cause}", first.pod.short_name()),
    }
}

impl Failure<'_> {
    fn evidence(&self) -> Evidence {
        let Self { pod, container, termination } = self;
        termination_evidence(pod, container, termination)
    }
}
