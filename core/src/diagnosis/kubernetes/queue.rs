//! Suspended jobs, and quota of Kueue that a job without pods holds.

use jiff::SignedDuration;

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older, verb};
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::workload::{ABORTED, QueueRecord, VOLCANO_PHASE};
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::names::join_names;

/// Time that a controller may need to create the pods of an admitted job.
const CREATION: SignedDuration = SignedDuration::from_mins(10);

/// Reason of Kueue for a job that it cannot admit, whatever quota is free: its queue is missing, stopped or for others.
const INADMISSIBLE: &str = "Inadmissible";
const INADMISSIBLE_FIX: &str =
    "correct the label kueue.x-k8s.io/queue-name, or create or activate the LocalQueue and ClusterQueue that it names";

/// Reason of Kueue for a job that is larger than the quota of its queue.
const EXCEEDS_QUOTA: &str = "ExceedsMaxQuota";
/// Start of Kueue's message about each group of pods, and the part about a flavor with too little quota, whatever is free.
const POD_SET: &str = "pod set ";
const ABOVE_QUOTA: &str = "> maximum capacity";
/// Parts of Kueue's messages about flavors in which the pods fit when others terminate.
const MAY_FIT: [&str; 2] = ["insufficient unused quota", "topology"];
const EXCEEDS_QUOTA_FIX: &str = "\
    the job requests more than its queue can ever have: make the job smaller, or raise nominalQuota or borrowingLimit of the \
    ClusterQueue";

const RESERVED_FIX: &str = "\
    the job has quota: check the admission checks and the topology assignment in the status of its Workload, and the log of Kueue's \
    controller";
const CHECK_FIX: &str = "\
    the job has quota: read the admission check in the evidence, and check the object and the controller that decide it, such as the \
    ProvisioningRequest of an autoscaler";
const WAITING_FIX: &str = "free quota in the ClusterQueue, or raise the priority of the job";
/// Time that Kueue may need to create the Workload of a job.
const ENQUEUE: SignedDuration = SignedDuration::from_mins(1);
const UNMANAGED_FIX: &str = "\
    check that Kueue runs and manages jobs of this kind and namespace (integrations.frameworks and managedJobsNamespaceSelector in its \
    configuration), and its log; free quota does not help a job without a Workload";
const UNKNOWN_FIX: &str = "\
    read the conditions of the job's Workload, or add the Workloads to the input: kubectl get workloads.kueue.x-k8s.io -o yaml; without \
    one, check that Kueue manages the job";
const SUSPENDED_FIX: &str = "set suspend to false, or ask who suspended the job";
/// Fix for a Job of Volcano, which has no such field.
const ABORTED_FIX: &str = "\
    resume it: vcctl job resume; if nobody suspended it, an event of the job shows the policy that aborted it, such as AbortJob for the event \
    PodEvicted";

/// Reason of Kueue for a job that others with a higher priority, or the owners of borrowed quota, displaced.
const PREEMPTED: &str = "Preempted";
/// Reasons of Kueue for a job whose queue an administrator has stopped.
const STOPPED: [&str; 2] = ["ClusterQueueStopped", "LocalQueueStopped"];
const STOPPED_FIX: &str = "\
    set spec.stopPolicy of the queue in the reason to None, or ask who stopped it: free quota does not help";
/// Reason of Kueue for a job whose pods were not ready in time.
const NOT_READY: &str = "PodsReadyTimeout";
const NOT_READY_FIX: &str = "\
    find out why the pods were not ready, by their events and logs, or the findings about them when Kueue admits the job again; \
    else Kueue evicts it each time, up to its limit of requeues";
const EVICTED_FIX: &str = "\
    read the condition Evicted, and correct its cause, such as an admission check (status.admissionChecks), a node or a limit of time";

const DEACTIVATED_FIX: &str = "\
    read the condition Evicted: a limit of requeues or of time, an admission check, or a user deactivated the job; then set \
    spec.active of its Workload to true";
/// Kind whose suspension is the ordinary way to pause a schedule.
const CRON_JOB: &str = "CronJob";

/// Reports a suspended job, or the quota of a job without pods.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let queue = context.queue_workload(job);
    let workload = job.workload.filter(|workload| job.kind != CRON_JOB && !workload.is_finished());
    if let Some(field) = workload.and_then(|workload| workload.suspended) {
        found.push(suspended(job, context, field, queue));
    } else if let Some(queue) = queue {
        found.extend(idle_quota(job, context, queue));
    }
}

/// State of a job in Kueue.
pub(super) struct QueueState {
    pub(super) recovery: Recovery,
    pub(super) message: String,
    pub(super) severity: Severity,
    /// Fix, if it is not that of the finding.
    pub(super) fix: Option<&'static str>,
}

/// Returns the state of a job whose Workload is `queued`, in the queue `name`.
pub(super) fn state(queued: Option<&QueueRecord>, name: Option<&str>) -> QueueState {
    let state = |recovery, message: String, severity| QueueState { recovery, message, severity, fix: None };
    let reserved = queued.and_then(|queued| queued.condition("QuotaReserved"));
    match queued {
        Some(queued) if !queued.active => {
            let message = "the job is deactivated in Kueue".to_owned();
            QueueState { fix: Some(DEACTIVATED_FIX), ..state(Recovery::QueueDeactivated, message, Severity::Warning) }
        }
        Some(_) if reserved.is_some_and(|reserved| reserved.reason.as_deref() == Some(INADMISSIBLE)) => {
            let reason = reserved.and_then(|reserved| reserved.message.as_deref()).unwrap_or(INADMISSIBLE);
            let message = format!("Kueue cannot admit the job: {reason}");
            QueueState { fix: Some(INADMISSIBLE_FIX), ..state(Recovery::QueueInadmissible, message, Severity::Warning) }
        }
        Some(_) if reserved.is_some_and(exceeds_quota) => {
            let message = "the job requests more than the quota of its queue".to_owned();
            QueueState { fix: Some(EXCEEDS_QUOTA_FIX), ..state(Recovery::QuotaTooSmall, message, Severity::Warning) }
        }
        Some(queued) if evicted(queued).is_some() => {
            let reason = evicted(queued).and_then(|condition| condition.reason.as_deref()).unwrap_or("unknown reason");
            let message = format!("Kueue evicted the job: {reason}");
            let (recovery, fix) = match reason {
                PREEMPTED => (Recovery::QueueRequeued, WAITING_FIX),
                NOT_READY => (Recovery::QueueEvicts, NOT_READY_FIX),
                _ if STOPPED.contains(&reason) => (Recovery::QueueInadmissible, STOPPED_FIX),
                _ => (Recovery::QueueEvicts, EVICTED_FIX),
            };
            QueueState { fix: Some(fix), ..state(recovery, message, Severity::Warning) }
        }
        Some(_) if reserved.is_some_and(ConditionRecord::is_true) => {
            let checks = queued.map_or(&[][..], |queued| &queued.pending_checks[..]);
            let message = "Kueue has reserved quota for the job".to_owned();
            let (message, fix) = match checks {
                [] => (message, RESERVED_FIX),
                checks => {
                    let (noun, verb) = (verb(checks.len(), "check", "checks"), verb(checks.len(), "has", "have"));
                    let names = join_names(checks.iter().map(|check| &check.name));
                    (format!("{message}, and the admission {noun} {names} {verb} not succeeded"), CHECK_FIX)
                }
            };
            QueueState { fix: Some(fix), ..state(Recovery::AdmissionAwaited, message, Severity::Warning) }
        }
        _ => {
            // The normal state of a job in a queue.
            let name = name.map(|name| format!(" {name}")).unwrap_or_default();
            let message = format!("the job waits for quota in Kueue's queue{name}");
            QueueState { fix: Some(WAITING_FIX), ..state(Recovery::QueueWaits, message, Severity::Info) }
        }
    }
}

/// Returns true if one of the groups of pods fits no flavor, whatever quota is free.
fn exceeds_quota(reserved: &ConditionRecord) -> bool {
    let message = reserved.message.as_deref().unwrap_or_default();
    let may_fit = |group: &str| MAY_FIT.iter().any(|part| group.contains(part));
    let is_above = |group: &str| group.contains(ABOVE_QUOTA) && !may_fit(group);
    let is_reason = reserved.reason.as_deref() == Some(EXCEEDS_QUOTA) && !may_fit(message);
    !reserved.is_true() && (is_reason || message.split(POD_SET).any(is_above))
}

/// Returns the conditions and admission checks of a Workload that keep it from running.
pub(super) fn evidence(queued: &QueueRecord) -> impl Iterator<Item = Evidence> {
    let reserved = queued.condition("QuotaReserved").filter(|condition| !condition.is_true());
    let conditions = evicted(queued).into_iter().chain(reserved).map(|condition| {
        let field = format!("status.conditions[{}]", condition.kind);
        Evidence::new(queued.title(), field, &condition.summary(), condition.since)
    });
    let has_quota = queued.condition("QuotaReserved").is_some_and(ConditionRecord::is_true);
    let checks = queued.pending_checks.iter().filter(move |_| has_quota).map(|check| {
        Evidence::new(queued.title(), format!("status.admissionChecks[{}]", check.name), &check.summary(), check.since)
    });
    conditions.chain(checks)
}

fn evicted(queued: &QueueRecord) -> Option<&ConditionRecord> {
    queued.condition("Evicted").filter(|condition| condition.is_true())
}

/// Returns the state of a suspended job in the queue `name`, of which no Workload is known.
fn state_without_workload(job: &Job<'_>, context: &Context<'_>, name: &str) -> QueueState {
    let is_complete = context.snapshot.is_complete(ObjectKind::QueueWorkload, job.namespace);
    let is_old = is_older(job.workload.and_then(|workload| workload.created), ENQUEUE, context.now);
    if is_complete && is_old && !context.is_queued(job) {
        let message = format!("the job is suspended, and Kueue has no Workload of it for the queue {name}");
        let (recovery, severity) = (Recovery::QueueUnmanaged, Severity::Warning);
        return QueueState { recovery, message, severity, fix: Some(UNMANAGED_FIX) };
    }
    let message = format!("the job is suspended in Kueue's queue {name}, and its Workload is not known");
    QueueState { recovery: Recovery::QueueUnknown, message, severity: Severity::Info, fix: Some(UNKNOWN_FIX) }
}

fn suspended(job: &Job<'_>, context: &Context<'_>, field: &str, queued: Option<&QueueRecord>) -> Diagnosis {
    let name = job.workload.and_then(|workload| workload.queue.as_deref());
    let is_aborted = field == VOLCANO_PHASE;
    let by_user = |message: &str, fix| {
        let (recovery, message) = (Recovery::SuspendedByUser, message.to_owned());
        QueueState { recovery, message, severity: Severity::Warning, fix: Some(fix) }
    };
    let QueueState { recovery, message, severity, fix } = match (queued, name) {
        (None, _) if is_aborted => by_user("the job is suspended: it was aborted", ABORTED_FIX),
        (None, None) => by_user("the job is suspended", SUSPENDED_FIX),
        (None, Some(name)) => state_without_workload(job, context, name),
        (Some(_), _) => state(queued, name),
    };
    let workload = job.workload_name();
    let field = Evidence::new(workload.to_string(), field, if is_aborted { ABORTED } else { "true" }, None);
    Diagnosis::new(DiagnosisCode::JobSuspended, workload, recovery, &message)
        .with_severity(severity)
        .with_fix(fix)
        .with_evidence(queued.into_iter().flat_map(evidence).chain([field]))
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
