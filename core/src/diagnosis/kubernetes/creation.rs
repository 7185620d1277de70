//! Controllers that cannot create pods: only events of the workload, or of an object that it owns, show it.

use jiff::SignedDuration;

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::snapshot::event::EventRecord;
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};
use crate::lifecycle::PodPhase;

/// Reasons of the Job controller, of training operators and of Ray.
const REASONS: [&str; 5] =
    ["FailedCreate", "FailedCreatePod", "FailedDeployPodGroup", "FailedToCreateWorkerPod", "FailedToCreateHeadPod"];
/// Age of an event from which the controller has probably succeeded: it retries at least every 16 minutes.
const RECENT: SignedDuration = SignedDuration::from_mins(30);
/// Text of the apiserver for a quota.
const QUOTA: &str = "exceeded quota";

/// Reports the last failure to create a pod, while pods are missing.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let is_failure = |event: &&&EventRecord| {
        REASONS.contains(&&*event.reason) && event.last.is_some() && !is_older(event.last, RECENT, context.now)
    };
    let events = context.job_events(job).iter().filter(is_failure);
    let Some(event) = events.max_by_key(|event| event.last) else { return };
    let created_since = job.pods.iter().any(|pod| pod.created > event.last);
    // A failed pod is replaced, unless the job has ended.
    let existing = job.pods.iter().filter(|pod| pod.phase != PodPhase::Failed).count();
    let is_complete = job.expected_pods().is_some_and(|expected| existing as u64 >= expected);
    let has_ended = job.workload.is_some_and(WorkloadRecord::is_finished);
    if created_since || is_complete || has_ended {
        return;
    }
    let is_quota = event.message.contains(QUOTA);
    let recovery = if is_quota { Recovery::CreationRetried } else { Recovery::CreationDenied };
    let existing = match (existing, job.expected_pods()) {
        (0, _) if job.pods.is_empty() => "no pod of the job can be created".to_owned(),
        (0, _) => "no pod of the job can be replaced".to_owned(),
        (count, Some(expected)) => format!("only {count} of {expected} pods could be created"),
        (count, None) => format!("{count} pods exist, and no more can be created"),
    };
    let cause = if is_quota { "the quota is used up" } else { "the apiserver denied the pod" };
    let active: Vec<_> = job.active().collect();
    let code = DiagnosisCode::PodCreationFails;
    let diagnosis = Diagnosis::new(code, job.workload_name(), recovery, &format!("{existing}: {cause}"));
    let waste = if job.is_collective() { job.waste(&active, None, context.now) } else { None };
    found.push(diagnosis.with_evidence([event_evidence(event)]).with_waste(waste));
}
