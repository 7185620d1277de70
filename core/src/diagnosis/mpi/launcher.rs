//! Launchers that failed while the job continues.

use jiff::{SignedDuration, Timestamp};

use super::{Roles, finished};
use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older, pod_names};
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::reference::ObjectKey;
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Time within which a Job usually starts another launcher.
const REPLACEMENT: SignedDuration = SignedDuration::from_mins(1);
/// Back-off limit of a Job that sets none.
const DEFAULT_LIMIT: u64 = 6;

/// A launcher with its main container and the termination of it.
type Failure<'a> = (&'a PodRecord, &'a ContainerRecord, &'a TerminationRecord);

/// Reports that all launchers have failed, by their pods or by their Job, while workers run.
pub(super) fn failed(job: &Job<'_>, roles: &Roles<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let workers: Vec<&PodRecord> = roles.active_workers().filter(|pod| pod.is_running()).collect();
    if workers.is_empty() || finished(job, roles).is_some() {
        return None;
    }
    let owner = launcher_job(job, context);
    let end = owner.and_then(|owner| owner.true_condition("Failed"));
    let failures = roles.launchers.iter().map(|pod| failure(pod)).collect::<Option<Vec<Failure<'_>>>>()?;
    let last: Option<Timestamp> = failures.iter().filter_map(|(.., end)| end.finished).max();
    let since = last.or_else(|| end.and_then(|end| end.since));
    if (failures.is_empty() && end.is_none()) || !is_older(since, REPLACEMENT, context.now) {
        return None;
    }
    let limit = owner.map(|owner| owner.backoff_limit.unwrap_or(DEFAULT_LIMIT));
    let count = owner.and_then(|owner| owner.failed);
    let attempts = match (count, limit) {
        (Some(count), Some(limit)) => format!(" (failed pods: {count}, backoffLimit: {limit})"),
        _ => String::new(),
    };
    let recovery = if end.is_some() { Recovery::LauncherEnded } else { Recovery::LauncherReplaced };
    let run = if workers.len() == 1 { "worker runs" } else { "workers run" };
    let message = format!("the launcher failed{attempts}, and {} {run}: {}", workers.len(), pod_names(&workers));
    let pods = failures.iter().rev().map(|(pod, container, end)| {
        Evidence::new(pod.title(), container.status_field("state.terminated"), &end.summary(), end.finished)
    });
    let title = |owner: &WorkloadRecord| format!("Job {}/{}", owner.namespace, owner.name);
    let condition = owner
        .zip(end)
        .map(|(owner, end)| Evidence::new(title(owner), "status.conditions[Failed]", &end.summary(), end.since));
    let number =
        owner.zip(count).map(|(owner, count)| Evidence::new(title(owner), "status.failed", &count.to_string(), None));
    Some(
        Diagnosis::new(DiagnosisCode::LauncherFailed, job.workload_name(), recovery, &message)
            .with_evidence(condition.into_iter().chain(number).chain(pods))
            .with_waste(Job::held_by(&workers, since, context.now)),
    )
}

/// Returns the Job that mpi-operator creates for the launcher.
fn launcher_job<'a>(job: &Job<'a>, context: &Context<'a>) -> Option<&'a WorkloadRecord> {
    context.jobs.object(ObjectKey::new("Job", job.namespace, &format!("{}-launcher", job.name)))
}

/// Returns the main container of a launcher that has failed for good.
fn failure(pod: &PodRecord) -> Option<Failure<'_>> {
    let ended = pod.main().filter_map(|container| Some((pod, container, container.last_termination()?)));
    ended.into_iter().filter(|_| pod.is_finished()).find(|(.., end)| end.exit_code != 0)
}
