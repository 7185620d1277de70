//! Pods without a node: all pods of a job, a part of them, and those that are limited to missing nodes.

use jiff::{SignedDuration, Timestamp};

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::gang_key::{GangKey, PodGroupRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::names::join_names;

use super::{claims, gates, pod_group};

/// Time that the scheduler may need, and an autoscaler to react.
pub(super) const GRACE: SignedDuration = SignedDuration::from_mins(5);
/// Time that a new node may need until its pods are scheduled.
const SCALE_UP: SignedDuration = SignedDuration::from_mins(10);
/// Condition of a pod that a scheduler could not place.
const CONDITION_FIELD: &str = "status.conditions[PodScheduled]";
/// Event of the cluster autoscaler for a pod for which it adds a node.
const SCALE_UP_EVENT: &str = "TriggeredScaleUp";
/// Event of the cluster autoscaler for a pod for which it adds none.
const REFUSED_EVENT: &str = "NotTriggerScaleUp";
/// Event of a scheduler for a pod that fits no node.
const FAILED_EVENT: &str = "FailedScheduling";
/// Part of the scheduler's messages about claims of pods that are not bound or do not exist.
const VOLUME_CLAIM: &str = "persistentvolumeclaim";
const VOLUME_FIX: &str = "\
    check the claim: kubectl describe pvc; create it if it does not exist, and check its StorageClass and the provisioner, or add a \
    PersistentVolume that fits";
/// End of the part of the scheduler's messages about nodes, and parts of those about nodes that a pod excludes, whatever is free.
const PREEMPTION: &str = " preemption: ";
const EXCLUDED: [&str; 3] =
    ["untolerated taint", "didn't match Pod's node affinity/selector", "had volume node affinity conflict"];
const EXCLUDED_FIX: &str = "\
    read the scheduler's message: correct tolerations, selectors and affinity of the pods, or the labels and taints of the nodes; for a \
    volume that only other nodes reach (kubectl describe pv), let the pods run on those, or use another volume; free capacity does not help";
/// Messages of Coscheduling, Koordinator and Volcano about a gang whose pods do not all exist.
const SHORT_GANG: [&str; 3] = [
    "cannot find enough sibling pods",
    "gang child pod not collect enough",
    "Not enough valid tasks for gang-scheduling",
];
/// Texts after the number of pods and after the minimum, in the message of Volcano about a gang of which it places none.
const GANG_NOT_READY: (&str, &str) = (" tasks in gang unschedulable", " minAvailable");
const SHORT_GANG_FIX: &str = "\
    create the missing pods of the gang, or lower its minimum (minMember, or min-available in the annotations of the pods) to the number \
    of pods that start together; free capacity does not help";
/// Messages of Coscheduling and Koordinator about a pod that fits a node, but whose gang does not.
const GANG_REJECTED: [&str; 2] = ["at plugin Coscheduling", "gets rejected due to"];
const GANG_REJECTED_FIX: &str = "\
    read the messages and events of all pods of the gang: one of them may lack capacity for which the others wait in vain; free capacity for \
    all of them at the same time";
/// Texts before the request of a job, and before the limit or quota of its queue, in the messages of KAI.
const REQUESTED: &str = "requested ";
const QUEUE_LIMITS: [&str; 3] = ["queue limit is ", "Limit is ", " quota is "];
const QUEUE_LIMIT_FIX: &str = "\
    raise the limit of the queue in the message, or make the job smaller; free capacity does not help. Above its quota, a queue of KAI \
    runs preemptible workloads only";
/// Part of the message of `YuniKorn` about pods for which their queue is full.
const QUEUE_FULL: &str = "does not fit in queue ";
const QUEUE_FULL_FIX: &str = "\
    wait until other jobs in the queue of the message terminate, raise its limit, or use another queue; new nodes do not help";
/// Message of Volcano about a gang for which its queue has no quota left.
const QUOTA_USED: &str = "queue resource quota insufficient";
const QUOTA_FIX: &str = "\
    wait until other jobs in the queue terminate, raise its capability, or use another queue: kubectl get queues.scheduling.volcano.sh -o \
    yaml; new nodes help only a queue without a capability";
/// Reasons of the events of `YuniKorn` about pods in its queue, for which it sets no condition.
const QUEUED_EVENTS: [&str; 2] = ["Scheduling", "GangScheduling"];
const QUEUED_FIX: &str = "\
    read the events in the evidence, and compare the limit and the use of the queue with the requests of the job: free capacity or quota, or \
    make the job smaller";
/// Part of a message of `YuniKorn` about a pod that does not fit the placeholder of its gang.
const PLACEHOLDER: &str = "placeholder: resource incompatible";
const PLACEHOLDER_FIX: &str = "\
    a pod requests more than its placeholder, for example because of a RuntimeClass or a webhook: set the requests in the template, or the \
    minResource of the task group; then recreate the job";
/// Fix for a gang of which a part may start.
const MINIMUM_FIX: &str = "\
    raise the minimum in the evidence to the number of pods that start together, so that all of them or none hold accelerators; free the \
    missing capacity";
/// Fix for pods that are in a gang.
const GANG_FIX: &str = "\
    free the missing capacity: the pods are in a gang, whose scheduler places them together only at first, so that a pod which replaces \
    another one waits alone; check that the minimum of the gang is the number of its pods";
/// Scheduler of pods that name none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Reports pods without a node.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let unscheduled: Vec<&PodRecord> = unscheduled(job).collect();
    let pinned: Vec<&PodRecord> =
        unscheduled.iter().copied().filter(|pod| is_pinned_to_missing_nodes(pod, context)).collect();
    if !pinned.is_empty() {
        let evidence =
            pinned.iter().map(|pod| Evidence::new(pod.title(), pod.pinned_by, &pod.pinned.join(", "), pod.created));
        let message = format!(
            "{} may only run on {}, which does not exist{}",
            pod_names(&pinned),
            pinned[0].pinned.join(", "),
            job.waiting_peers(&pinned)
        );
        let code = DiagnosisCode::PinnedNodeMissing;
        found.push(
            Diagnosis::new(code, job.workload_name(), Recovery::NodeRemoved, &message)
                .with_evidence(evidence)
                .with_waste(job.waste(&pinned, None, context.now)),
        );
        return;
    }
    let is_stalled = !unscheduled.is_empty() && is_stalled(&unscheduled, context);
    let without_device = unscheduled.iter().copied().find_map(|pod| Some((pod, missing_device(pod, context)?)));
    match without_device {
        Some((_, device)) if is_stalled => found.push(no_device(job, context, &unscheduled, device)),
        None if is_stalled && unscheduled.iter().all(|pod| !pod.gates.is_empty()) => {
            found.push(gates::report(job, context, &unscheduled));
        }
        None if is_stalled => {
            let claims = claims::report(job, context, &unscheduled);
            found.extend(claims.or_else(|| report(job, context, &unscheduled)));
        }
        _ => {}
    }
}

/// Returns a device that a pod requests and no node offers.
fn missing_device<'a>(pod: &'a PodRecord, context: &Context<'_>) -> Option<&'a str> {
    let message = pod.condition("PodScheduled").and_then(|condition| condition.message.as_deref());
    // A resource that stands for a device class is in no node, and the scheduler does not miss it.
    let is_missed = |device: &str| message.is_none_or(|message| message.contains(device));
    pod.devices.iter().map(|device| &**device).find(|device| !context.may_offer(device) && is_missed(device))
}

fn no_device(job: &Job<'_>, context: &Context<'_>, unscheduled: &[&PodRecord], device: &str) -> Diagnosis {
    let requests = |pod: &&&PodRecord| pod.devices.iter().any(|requested| **requested == *device);
    let pods: Vec<&PodRecord> = unscheduled.iter().filter(requests).copied().collect();
    let request = verb(pods.len(), "requests", "request");
    let message = format!("{} {request} {device}, which no node offers{}", pod_names(&pods), job.waiting_peers(&pods));
    let evidence = pods.iter().map(|pod| match pod.condition("PodScheduled") {
        Some(condition) => Evidence::new(pod.title(), CONDITION_FIELD, &condition.summary(), waiting_since(pod)),
        None => Evidence::new(pod.title(), "spec.containers[].resources", device, pod.created),
    });
    Diagnosis::new(DiagnosisCode::DeviceOnNoNode, job.workload_name(), Recovery::DeviceAwaited, &message)
        .with_evidence(evidence)
        .with_waste(job.waste(&pods, None, context.now))
}

/// Returns the pods of a job that wait for a node.
pub(super) fn unscheduled<'a>(job: &Job<'a>) -> impl Iterator<Item = &'a PodRecord> {
    job.active().filter(|pod| !pod.is_scheduled() && pod.deleted.is_none())
}

/// Returns true if a training job has both pods with and without a node, for longer than the scheduler needs.
pub(super) fn is_partly_scheduled(job: &Job<'_>, context: &Context<'_>) -> bool {
    let unscheduled: Vec<&PodRecord> = unscheduled(job).filter(|pod| job.is_awaited(pod)).collect();
    let is_scheduled = job.active().any(|pod| pod.is_rank() && pod.is_scheduled());
    job.is_collective()
        && is_scheduled
        && !unscheduled.is_empty()
        && !job.runs_with_fewer()
        && is_stalled(&unscheduled, context)
}

/// Returns true if none of the pods is new, and no node is being added for one of them.
fn is_stalled(unscheduled: &[&PodRecord], context: &Context<'_>) -> bool {
    let is_old = |pod: &&PodRecord| is_older(waiting_since(pod), GRACE, context.now);
    let scales_up = |pod: &&PodRecord| {
        let events = context.pod_events(pod).iter().filter(|event| &*event.reason == SCALE_UP_EVENT);
        events.into_iter().any(|event| event.last.is_some() && !is_older(event.last, SCALE_UP, context.now))
    };
    unscheduled.iter().all(is_old) && !unscheduled.iter().any(scales_up)
}

fn waiting_since(pod: &PodRecord) -> Option<Timestamp> {
    pod.condition("PodScheduled").and_then(|condition| condition.since).or(pod.created)
}

fn report(job: &Job<'_>, context: &Context<'_>, unscheduled: &[&PodRecord]) -> Option<Diagnosis> {
    let evidence = unscheduled.iter().map(|pod| {
        let condition = pod.condition("PodScheduled");
        let gates = (!pod.gates.is_empty()).then(|| format!("gates {}", pod.gates.join(", ")));
        match gates.or_else(|| condition.map(ConditionRecord::summary)) {
            Some(value) => Evidence::new(pod.title(), CONDITION_FIELD, &value, waiting_since(pod)),
            None => not_attempted_evidence(pod),
        }
    });
    let events = unscheduled.iter().flat_map(|pod| context.pod_events(pod));
    let events = events.filter(|event| &*event.reason == FAILED_EVENT).take(1).map(|event| event_evidence(event));
    let refusal =
        unscheduled.iter().find_map(|pod| context.newest_pod_event(pod, &[REFUSED_EVENT]).map(event_evidence));
    let workload = job.workload_name();
    let is_partial = is_partly_scheduled(job, context);
    if !is_partial && job.active().any(PodRecord::is_scheduled) && job.is_collective() {
        // An elastic job that runs with fewer pods, or an auxiliary pod.
        return None;
    }
    let is_ignored = unscheduled.iter().all(|pod| pod.gates.is_empty() && !is_attempted(pod, context));
    if !is_partial && unscheduled.iter().all(|pod| !is_attempted(pod, context)) {
        return not_attempted(job, context, unscheduled);
    }
    let messages = unscheduled.iter().filter_map(|pod| pod.condition("PodScheduled")?.message.as_deref());
    let cause = Cause::new(&messages.collect::<Vec<_>>());
    let (code, message) = if is_partial {
        let scheduled = job.active().filter(|pod| pod.is_scheduled()).count();
        let all = scheduled + unscheduled.len();
        let (have, wait) = (verb(scheduled, "has", "have"), verb(unscheduled.len(), "waits", "wait"));
        let message = format!("{scheduled} of {all} pods {have} a node; {} {wait} for one", pod_names(unscheduled));
        (DiagnosisCode::GangPartlyScheduled, message)
    } else {
        (DiagnosisCode::PodsUnschedulable, cause.message(unscheduled))
    };
    // Peers of a pod that replaces another one have worked before.
    let since = unscheduled.iter().filter_map(|pod| pod.created).min();
    let minimum = if is_partial { small_minimum(job, context, unscheduled) } else { None };
    let is_gang = is_partial && unscheduled.iter().any(|pod| pod.gang.is_some() || pod.declared_gang.is_some());
    let fix = match &minimum {
        _ if is_ignored => Some(DiagnosisCode::SchedulingNotAttempted.fix()),
        _ if cause.fix().is_some() => cause.fix(),
        Some(_) => Some(MINIMUM_FIX),
        None if is_gang => Some(GANG_FIX),
        None => (cause == Cause::GangRejected).then_some(GANG_REJECTED_FIX),
    };
    let recovery = if is_ignored { Recovery::SchedulerAwaited } else { cause.recovery() };
    let diagnosis = Diagnosis::new(code, workload, recovery, &message)
        .with_evidence(minimum.into_iter().chain(refusal).chain(evidence).chain(events))
        .with_waste(job.waste(unscheduled, since, context.now));
    Some(diagnosis.with_fix(fix))
}

/// Returns the minimum of a `PodGroup` of pods of a job, if fewer than all that name it may start.
fn small_minimum(job: &Job<'_>, context: &Context<'_>, unscheduled: &[&PodRecord]) -> Option<Evidence> {
    groups(unscheduled, context).into_iter().find_map(|group| {
        let is_member =
            |pod: &&PodRecord| pod.gang.as_ref().is_some_and(|key| key.api == group.api && key.name == group.name);
        let members = job.active().filter(is_member).count() as u64;
        let minimum = group.min_member.filter(|minimum| *minimum < members)?;
        let value = format!("{minimum}, of {members} pods that name it");
        Some(Evidence::new(group.title(), group.api.minimum_field(), &value, group.created))
    })
}

/// Why pods have no node, by the messages of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Capacity,
    /// The nodes do not suffice for all pods of the gang at a time.
    GangRejected,
    Volume,
    /// The taints and labels of all nodes, or those that reach a volume, exclude the pods.
    Excluded,
    /// The gang has fewer pods than its minimum.
    ShortGang,
    /// The job requests more than the limit of its queue.
    QueueLimit,
    /// Others use the limit of its queue.
    QueueFull,
    /// The queue of Volcano has no quota left for the job.
    QuotaUsed,
}

impl Cause {
    fn new(messages: &[&str]) -> Self {
        let excludes_all = |message: &&str| {
            let nodes = message.split(PREEMPTION).next().unwrap_or_default();
            nodes.split(", ").all(|part| EXCLUDED.iter().any(|excluded| part.contains(excluded)))
        };
        if messages.iter().any(|message| message.to_ascii_lowercase().contains(VOLUME_CLAIM)) {
            Self::Volume
        } else if messages.iter().any(|message| is_short_gang(message)) {
            Self::ShortGang
        } else if let Some(cause) = Self::of_queue(messages) {
            cause
        } else if !messages.is_empty() && messages.iter().all(excludes_all) {
            Self::Excluded
        } else if messages.iter().any(|message| GANG_REJECTED.iter().any(|text| message.contains(text))) {
            Self::GangRejected
        } else {
            Self::Capacity
        }
    }

    /// Returns the cause if it is the queue of the job. Of several messages, that about a request above the limit counts.
    fn of_queue(messages: &[&str]) -> Option<Self> {
        let causes = || messages.iter().filter_map(|message| queue_cause(message));
        causes().find(|cause| *cause == Self::QueueLimit).or_else(|| causes().next())
    }

    fn message(self, pods: &[&PodRecord]) -> String {
        let names = pod_names(pods);
        match self {
            Self::ShortGang => format!("the gang of {names} has fewer pods than its minimum"),
            Self::GangRejected => format!("the scheduler cannot place all pods of the gang of {names} at a time"),
            Self::QueueLimit => format!("the job of {names} requests more than the limit of its queue"),
            Self::QueueFull | Self::QuotaUsed => format!("the queue of {names} is full"),
            Self::Capacity | Self::Volume | Self::Excluded => format!("no node fits {names}"),
        }
    }

    fn recovery(self) -> Recovery {
        match self {
            Self::Capacity | Self::GangRejected => Recovery::WaitsForCapacity,
            Self::Volume => Recovery::VolumeAwaited,
            Self::Excluded => Recovery::NodesExcluded,
            Self::ShortGang => Recovery::GangShort,
            Self::QueueLimit => Recovery::QueueLimitTooSmall,
            Self::QueueFull | Self::QuotaUsed => Recovery::QueueInUse,
        }
    }

    /// Returns the fix, if more capacity is none.
    fn fix(self) -> Option<&'static str> {
        match self {
            Self::Capacity | Self::GangRejected => None,
            Self::Volume => Some(VOLUME_FIX),
            Self::Excluded => Some(EXCLUDED_FIX),
            Self::ShortGang => Some(SHORT_GANG_FIX),
            Self::QueueLimit => Some(QUEUE_LIMIT_FIX),
            Self::QueueFull => Some(QUEUE_FULL_FIX),
            Self::QuotaUsed => Some(QUOTA_FIX),
        }
    }
}

/// Returns the cause in a message of KAI with the request of the job and the limit or quota of its queue, as in `Workload requested 32
/// GPUs, but team-a queue limit is 16 GPUs`, or of `YuniKorn` or Volcano; `None` if the message is not about a queue.
fn queue_cause(message: &str) -> Option<Cause> {
    let number_after = |text: &str| {
        let (_, rest) = message.split_once(text)?;
        rest.split_whitespace().next()?.parse::<f64>().ok()
    };
    let limit = QUEUE_LIMITS.iter().find_map(|text| number_after(text));
    match number_after(REQUESTED).zip(limit) {
        Some((requested, limit)) if requested > limit => Some(Cause::QueueLimit),
        Some(_) => Some(Cause::QueueFull),
        None if message.contains(QUOTA_USED) => Some(Cause::QuotaUsed),
        None => message.contains(QUEUE_FULL).then_some(Cause::QueueFull),
    }
}

/// Returns true for a message about a gang with fewer pods than its minimum, as in `3/3 tasks in gang unschedulable: pod group is not
/// ready, 3 Pending, 4 minAvailable`: the second number counts the pods.
fn is_short_gang(message: &str) -> bool {
    let number_before = |text: &str| {
        let (before, _) = message.split_once(text)?;
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    let (pods, minimum) = GANG_NOT_READY;
    let has_too_few = number_before(pods).zip(number_before(minimum)).is_some_and(|(pods, minimum)| pods < minimum);
    has_too_few || SHORT_GANG.iter().any(|text| message.contains(text))
}

/// Returns true if a scheduler reported an attempt to schedule the pod.
fn is_attempted(pod: &PodRecord, context: &Context<'_>) -> bool {
    let failed = || context.pod_events(pod).iter().any(|event| &*event.reason == FAILED_EVENT);
    pod.condition("PodScheduled").is_some() || failed()
}

/// Returns the evidence that no scheduler has looked at a pod.
fn not_attempted_evidence(pod: &PodRecord) -> Evidence {
    let value = format!("{}, without a condition PodScheduled", scheduler(pod));
    Evidence::new(pod.title(), "spec.schedulerName", &value, pod.created)
}

/// Reports pods without an attempt, unless their `PodGroup` does not exist, which has a finding of its own.
fn not_attempted(job: &Job<'_>, context: &Context<'_>, pods: &[&PodRecord]) -> Option<Diagnosis> {
    let lacks_group = |pod: &&PodRecord| {
        let is_missing = |key: &GangKey| {
            let is_listed = context.snapshot.is_complete(key.api.object_kind(), &pod.namespace);
            is_listed && context.pod_group(key.api, &pod.namespace, &key.name).is_none()
        };
        pod.gang.as_ref().is_some_and(is_missing)
    };
    if pods.iter().any(lacks_group) {
        return None;
    }
    let mut schedulers: Vec<&str> = pods.iter().map(|pod| scheduler(pod)).collect();
    schedulers.sort_unstable();
    schedulers.dedup();
    let names = join_names(&schedulers);
    let groups = groups(pods, context);
    let refusals: Vec<Evidence> = groups.iter().flat_map(|group| pod_group::refusals(group, context)).collect();
    if !refusals.is_empty() {
        let group_names = join_names(groups.iter().map(|group| &group.name));
        let message = format!("{names} cannot place PodGroup {group_names} of {}", pod_names(pods));
        let code = DiagnosisCode::PodsUnschedulable;
        let cause = Cause::new(&refusals.iter().map(|refusal| &*refusal.value).collect::<Vec<_>>());
        let diagnosis = Diagnosis::new(code, job.workload_name(), cause.recovery(), &message);
        let diagnosis = diagnosis.with_evidence(refusals).with_waste(job.waste(pods, None, context.now));
        return Some(diagnosis.with_fix(cause.fix()));
    }
    if let Some(queued) = queued(job, context, pods, &names) {
        return Some(queued);
    }
    let phases = groups
        .iter()
        .filter_map(|group| Some(Evidence::new(group.title(), "status.phase", group.phase.as_deref()?, group.created)));
    let message = format!("{names} has reported no attempt to schedule {}", pod_names(pods));
    let evidence = pods.iter().map(|pod| not_attempted_evidence(pod));
    let code = DiagnosisCode::SchedulingNotAttempted;
    Some(
        Diagnosis::new(code, job.workload_name(), Recovery::SchedulerAwaited, &message)
            .with_evidence(phases.chain(evidence))
            .with_waste(job.waste(pods, None, context.now)),
    )
}

/// Reports pods that `YuniKorn` has in its queue, as its events show; `None` without such an event.
fn queued(job: &Job<'_>, context: &Context<'_>, pods: &[&PodRecord], scheduler: &str) -> Option<Diagnosis> {
    let events: Vec<_> = pods.iter().filter_map(|pod| context.newest_pod_event(pod, &QUEUED_EVENTS)).collect();
    if events.is_empty() {
        return None;
    }
    let message = format!("{scheduler} has queued {} and placed none", pod_names(pods));
    let is_incompatible = events.iter().any(|event| event.message.contains(PLACEHOLDER));
    let code = DiagnosisCode::PodsUnschedulable;
    Some(
        Diagnosis::new(code, job.workload_name(), Recovery::WaitsForCapacity, &message)
            .with_evidence(events.into_iter().map(event_evidence))
            .with_waste(job.waste(pods, None, context.now))
            .with_fix(if is_incompatible { PLACEHOLDER_FIX } else { QUEUED_FIX }),
    )
}

/// Returns the `PodGroups` of pods, each once.
fn groups<'a>(pods: &[&PodRecord], context: &Context<'a>) -> Vec<&'a PodGroupRecord> {
    let mut keys: Vec<_> = pods.iter().filter_map(|pod| Some((&*pod.namespace, pod.gang.as_ref()?))).collect();
    keys.sort_unstable_by_key(|(namespace, key)| (key.api, *namespace, &*key.name));
    keys.dedup_by_key(|(namespace, key)| (key.api, *namespace, &*key.name));
    keys.into_iter().filter_map(|(namespace, key)| context.pod_group(key.api, namespace, &key.name)).collect()
}

fn scheduler(pod: &PodRecord) -> &str {
    pod.scheduler.as_deref().unwrap_or(DEFAULT_SCHEDULER)
}

fn is_pinned_to_missing_nodes(pod: &PodRecord, context: &Context<'_>) -> bool {
    // The DaemonSet controller deletes pods of missing nodes.
    let is_daemon = pod.owner.as_ref().is_some_and(|owner| &*owner.kind == "DaemonSet");
    !is_daemon && !pod.pinned.is_empty() && pod.pinned.iter().all(|node| context.is_node_gone(node))
}
