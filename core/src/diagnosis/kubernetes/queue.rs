//! Suspended jobs, and quota of Kueue that a job without pods holds.

use jiff::SignedDuration;

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::workload::QueueRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;

/// Time that a controller may need to create the pods of an admitted job.
const CREATION: SignedDuration = SignedDuration::from_mins(10);

/// Reports a suspended job, or the quota of a job without pods.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let queue = context.queue_workload(job);
    if let Some(field) = job.workload.and_then(|workload| workload.suspended) {
        found.push(suspended(job, field, queue));
    } else if let Some(queue) = queue {
        found.extend(idle_quota(job, context, queue));
    }
}

fn suspended(job: &Job<'_>, field: &str, queue: Option<&QueueRecord>) -> Diagnosis {
    let name = job.workload.and_then(|workload| workload.queue.as_deref());
    let evicted = queue.and_then(|queue| queue.condition("Evicted")).filter(|condition| condition.is_true());
    let reserved = queue.and_then(|queue| queue.condition("QuotaReserved"));
    let (recovery, message, severity) = match (queue, name) {
        (Some(queue), _) if !queue.active => {
            (Recovery::QueueDeactivated, "Kueue deactivated the job".to_owned(), Severity::Warning)
        }
        (Some(_), _) if evicted.is_some() => {
            let reason = evicted.and_then(|condition| condition.reason.as_deref()).unwrap_or("unknown reason");
            (Recovery::QueueRequeued, format!("Kueue evicted the job: {reason}"), Severity::Warning)
        }
        (Some(_), _) | (None, Some(_)) => {
            // The normal state of a job in a queue.
            let name = name.map(|name| format!(" {name}")).unwrap_or_default();
            (Recovery::QueueWaits, format!("the job waits for quota in Kueue's queue{name}"), Severity::Info)
        }
        (None, None) => (Recovery::SuspendedByUser, "the job is suspended".to_owned(), Severity::Warning),
    };
    let workload = job.workload_name();
    let field = Evidence::new(workload.to_string(), field, "true", None);
    let conditions = evicted.into_iter().chain(reserved.filter(|condition| !condition.is_true())).map(|condition| {
        let object = queue.map(QueueRecord::title).unwrap_or_default();
        Evidence::new(object, format!("status.conditions[{}]", condition.kind), &condition.summary(), condition.since)
    });
    let mut diagnosis = Diagnosis::new(DiagnosisCode::JobSuspended, workload, recovery, &message);
    diagnosis.finding.severity = severity;
    diagnosis.with_evidence(conditions.chain([field]))
}

/// Reports quota that is reserved although the job has no pods.
fn idle_quota(job: &Job<'_>, context: &Context<'_>, queue: &QueueRecord) -> Option<Diagnosis> {
    let admitted = queue.condition("Admitted").filter(|condition| condition.is_true())?;
    let is_finished = queue.condition("Finished").is_some_and(ConditionRecord::is_true);
    let is_idle = job.active().next().is_none() && context.snapshot.is_complete(ObjectKind::Pod, job.namespace);
    if is_finished || !is_idle || !is_older(admitted.since, CREATION, context.now) {
        return None;
    }
    let evidence = Evidence::new(queue.title(), "status.conditions[Admitted]", &admitted.summary(), admitted.since);
    let message = "Kueue admitted the job, which has no running pods";
    let code = DiagnosisCode::QuotaHeld;
    Some(Diagnosis::new(code, job.workload_name(), Recovery::QuotaIdle, message).with_evidence([evidence]))
}
