//! Workloads without any pod: they wait in the queue of their scheduler, or their operator does not act.

use jiff::{SignedDuration, Timestamp};

use super::pod_group::refusals;
use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::gang_key::{GangApi, PodGroupRecord};
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;

/// Time within which an operator creates the pods of a job, also after the job was resumed.
const CREATION: SignedDuration = SignedDuration::from_mins(10);

/// Fix for a job whose `PodGroup` waits: its pods are created afterwards.
const QUEUE_FIX: &str = "\
    read the condition of the PodGroup: free quota in the queue, or make the job smaller: kubectl describe podgroup.scheduling.volcano.sh";
/// Fix for a Job, which has no operator.
const JOB_FIX: &str = "\
    check that kube-controller-manager runs, whose Job controller creates the pods, its log, and the events of the job: kubectl describe";
/// Fix for a job that another controller runs.
const MANAGED_FIX: &str = "check the controller in the evidence: its pods may be in another cluster";

/// Reports a job without pods that no other finding explains.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let name = job.workload_name();
    let Some(workload) = job.workload.filter(|workload| job.pods.is_empty() && workload.awaits_pods()) else { return };
    let is_complete = context.snapshot.is_complete(ObjectKind::Pod, job.namespace);
    // Without any pod, the dump may be that of an empty namespace.
    let snapshot = context.snapshot;
    let is_partial = !is_complete && (snapshot.has_pods() || snapshot.may_lack_lists() || context.misses_pods(job));
    if is_partial || found.iter().any(|other| other.workload == name) {
        return;
    }
    let queue = context.queue_workload(job);
    let is_over = queue.and_then(|queue| queue.condition("Finished")).is_some_and(ConditionRecord::is_true);
    let queue = queue.map(|queue| queue.conditions.as_slice()).unwrap_or_default();
    if is_over || !is_older(last_change(workload, queue), CREATION, context.now) {
        return;
    }
    let group = context.job_group(job);
    let (recovery, message, severity, fix) = match (workload.managed_by.as_deref(), group) {
        (Some(manager), _) => {
            let message = format!("the job has no pods here: {manager} runs it");
            (Recovery::PodsElsewhere, message, Severity::Info, Some(MANAGED_FIX))
        }
        (None, Some(group)) if delays_pods(group) => {
            let phase = group.phase.as_ref().map(|phase| format!(", which is {phase}")).unwrap_or_default();
            let message = format!("the job has no pods: they are created when its PodGroup is admitted{phase}");
            (Recovery::GroupQueued, message, Severity::Info, Some(QUEUE_FIX))
        }
        (None, _) => {
            let severity = if is_complete { Severity::Warning } else { Severity::Info };
            let (controller, fix) =
                if job.is_plain() { ("the Job controller", Some(JOB_FIX)) } else { ("its operator", None) };
            (Recovery::PodsAwaited, format!("{controller} has not created the pods of the job"), severity, fix)
        }
    };
    let manager = workload.managed_by.as_deref();
    let manager = manager.map(|manager| Evidence::new(name.to_string(), "spec.managedBy", manager, workload.created));
    let refusals = group.map(|group| refusals(group, context)).unwrap_or_default();
    let group = group.map(|group| {
        let phase = group.phase.as_deref().unwrap_or("none");
        Evidence::new(group.title(), "status.phase", phase, group.created)
    });
    let event = context.job_events(job).iter().filter(|event| event.last >= workload.created);
    let event = event.max_by_key(|event| event.last).map(|event| event_evidence(event));
    let created = Evidence::new(name.to_string(), "metadata.creationTimestamp", "no pods since", workload.created);
    let conditions = workload.conditions.iter().filter(|condition| condition.is_true() || condition.message.is_some());
    let conditions = conditions.map(|condition| condition_evidence(&name.to_string(), condition));
    let evidence = manager.into_iter().chain(refusals).chain(group).chain(conditions).chain(event).chain([created]);
    let diagnosis = Diagnosis::new(DiagnosisCode::PodsNotCreated, name.clone(), recovery, &message)
        .with_severity(severity)
        .with_fix(fix)
        .with_evidence(evidence.collect::<Vec<_>>());
    found.push(diagnosis);
}

fn condition_evidence(workload: &str, condition: &ConditionRecord) -> Evidence {
    let field = format!("status.conditions[{}]", condition.kind);
    let value = match (&condition.reason, &condition.message) {
        (None, None) => condition.status.to_string(),
        _ => format!("{}: {}", condition.status, condition.summary()),
    };
    Evidence::new(workload.to_owned(), field, &value, condition.since)
}

/// Returns the time of the creation or of the newest condition, such as that of a job that was resumed or admitted.
fn last_change(workload: &WorkloadRecord, queue: &[ConditionRecord]) -> Option<Timestamp> {
    let created = workload.created?;
    let conditions = workload.conditions.iter().chain(queue);
    Some(conditions.filter_map(|condition| condition.since).fold(created, Timestamp::max))
}

/// Returns true if the pods of the job are created after the `PodGroup` is admitted: Volcano does so, and has not admitted it.
fn delays_pods(group: &PodGroupRecord) -> bool {
    group.api == GangApi::Volcano && group.phase.as_deref().is_none_or(|phase| phase == "Pending")
}
