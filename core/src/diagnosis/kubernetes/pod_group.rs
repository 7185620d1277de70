//! `PodGroups` that are missing, too large, shared, stale or orphaned.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names};
use crate::diagnosis::replacement::Replacement;
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::event::EventRecord;
use crate::diagnosis::snapshot::gang_key::{GangApi, GangKey, PodGroupRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::reference::ObjectKey;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, MAX_EVIDENCE, Recovery, WorkloadName};
use crate::lifecycle::PodPhase;
use crate::names::join_names;

/// Age of a pod until which its `PodGroup` may still be created.
const CREATION: SignedDuration = SignedDuration::from_mins(1);

/// Fix for a `PodGroup` that the controller creates.
const OWN_GROUP_FIX: &str = "the controller of trainmesh creates it: check its log, and its permissions and the API of the PodGroup with trainmesh doctor";

/// Part of the types of conditions that are True, and end of those that are False, for gangs that cannot be placed.
const UNSCHEDULABLE: &str = "Unschedulable";
const SCHEDULED: &str = "Scheduled";
/// Reasons of the events about such gangs.
const REFUSALS: [&str; 3] = [UNSCHEDULABLE, "FailedScheduling", "NotEnoughResources"];

/// API, namespace and name of a `PodGroup`.
type GroupKey<'a> = (GangApi, &'a str, &'a str);

/// The unfinished pods that name a `PodGroup`, by job.
type Members<'a> = BTreeMap<GroupKey<'a>, Vec<(&'a Job<'a>, &'a PodRecord, &'a GangKey)>>;

/// Reports problems of `PodGroups`.
pub(super) fn check<'a>(context: &'a Context<'a>, found: &mut Vec<Diagnosis>) {
    let mut members: Members<'_> = BTreeMap::new();
    for job in context.jobs.iter() {
        for pod in job.active() {
            if let Some(key) = &pod.gang {
                members.entry((key.api, &*pod.namespace, &*key.name)).or_default().push((job, pod, key));
            }
        }
    }
    for (key, members) in &members {
        match context.pod_group(key.0, key.1, key.2) {
            None => found.extend(missing(*key, members, context)),
            Some(group) => found.extend(too_large(group, members, context)),
        }
        found.extend(shared(*key, members));
    }
    for group in &context.snapshot.pod_groups {
        let key = (group.api, &*group.namespace, &*group.name);
        let has_members = members.contains_key(&key) || context.has_other_members(group);
        found.extend(stale(group, members.get(&key).map(Vec::as_slice).unwrap_or_default()));
        found.extend(orphaned(group, has_members, context));
        found.extend(two_owners(group));
    }
}

/// Returns what a scheduler reports about a `PodGroup` that it cannot place: its conditions, and the newest event.
pub(super) fn refusals(group: &PodGroupRecord, context: &Context<'_>) -> Vec<Evidence> {
    let of_list = |list: &'static str, conditions: &[ConditionRecord]| {
        let refusals = conditions.iter().filter(|condition| match &*condition.kind {
            kind if kind.contains(UNSCHEDULABLE) => condition.is_true(),
            kind => kind.ends_with(SCHEDULED) && &*condition.status == "False",
        });
        let evidence = refusals.map(|condition| {
            let field = format!("status.{list}[{}]", condition.kind);
            Evidence::new(group.title(), field, &condition.summary(), condition.since)
        });
        evidence.collect::<Vec<_>>()
    };
    let conditions = of_list("conditions", &group.conditions).into_iter();
    let conditions = conditions.chain(of_list("schedulingConditions", &group.scheduling_conditions));
    let is_refusal = |event: &&&EventRecord| REFUSALS.contains(&&*event.reason) && event.last >= group.created;
    let newest = context.group_events(group).iter().filter(is_refusal).max_by_key(|event| event.last);
    conditions.chain(newest.map(|event| event_evidence(event))).collect()
}

fn missing(
    (api, namespace, name): GroupKey<'_>,
    members: &[(&Job<'_>, &PodRecord, &GangKey)],
    context: &Context<'_>,
) -> Option<Diagnosis> {
    let is_waiting = |pod: &PodRecord| !pod.is_scheduled() && is_older(pod.created, CREATION, context.now);
    let waiting: Vec<_> = members.iter().filter(|(_, pod, _)| is_waiting(pod)).collect();
    let (job, ..) = waiting.first()?;
    if !context.snapshot.is_complete(api.object_kind(), namespace) {
        return None;
    }
    let pods: Vec<&PodRecord> = waiting.iter().map(|(_, pod, _)| *pod).collect();
    let message = format!("PodGroup {name} of {} does not exist in {}", pod_names(&pods), api.group());
    let evidence = waiting.iter().map(|(_, pod, key)| Evidence::new(pod.title(), key.field, &key.name, pod.created));
    let code = DiagnosisCode::PodGroupMissing;
    let mut diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::PodGroupAwaited, &message);
    if waiting.iter().all(|(_, _, key)| key.is_added) {
        diagnosis = diagnosis.with_fix(OWN_GROUP_FIX);
    }
    Some(diagnosis.with_evidence(evidence).with_waste(job.waste(&pods, None, context.now)))
}

fn too_large(
    group: &PodGroupRecord,
    members: &[(&Job<'_>, &PodRecord, &GangKey)],
    context: &Context<'_>,
) -> Option<Diagnosis> {
    let (job, ..) = members.first()?;
    let (minimum, expected) = (group.min_member?, job.expected_pods()?);
    let is_of_job = |other: &Job<'_>| other.workload_name() == job.workload_name();
    let is_alone = members.iter().all(|(other, ..)| is_of_job(other)) && !context.has_other_members(group);
    let is_waiting = members.iter().all(|(_, pod, _)| !pod.is_scheduled());
    if !is_alone || !is_waiting || minimum <= expected || !is_older(group.created, CREATION, context.now) {
        return None;
    }
    let message = format!("PodGroup {} needs {minimum} pods, and the job creates {expected}", group.name);
    let field = group.api.minimum_field();
    let evidence = Evidence::new(group.title(), field, &minimum.to_string(), group.created);
    let code = DiagnosisCode::PodGroupTooLarge;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::PodGroupExceeds, &message);
    Some(diagnosis.with_evidence([evidence]))
}

fn shared((_, _, name): GroupKey<'_>, members: &[(&Job<'_>, &PodRecord, &GangKey)]) -> Option<Diagnosis> {
    let jobs: BTreeSet<WorkloadName> = members.iter().map(|(job, ..)| job.workload_name()).collect();
    let first = jobs.first().filter(|_| jobs.len() > 1)?.clone();
    // Bare pods of one gang have no other workload.
    if jobs.iter().any(|job| job.kind == "Pod") {
        return None;
    }
    let message = format!("PodGroup {name} counts pods of {}", join_names(&jobs));
    let evidence = jobs.iter().take(MAX_EVIDENCE).filter_map(|wanted| {
        let (_, pod, key) = members.iter().find(|(job, ..)| job.workload_name() == *wanted)?;
        Some(Evidence::new(pod.title(), key.field, &key.name, pod.created))
    });
    let code = DiagnosisCode::PodGroupShared;
    Some(Diagnosis::new(code, first, Recovery::PodGroupMixed, &message).with_evidence(evidence))
}

fn two_owners(group: &PodGroupRecord) -> Option<Diagnosis> {
    if group.owners.len() < 2 {
        return None;
    }
    let owners = join_names(group.owners.iter().map(|owner| format!("{} {}", owner.kind, owner.name)));
    let message = format!("PodGroup {} has the owners {owners}", group.name);
    let evidence = Evidence::new(group.title(), "metadata.ownerReferences", &owners, group.created);
    let code = DiagnosisCode::PodGroupShared;
    Some(Diagnosis::new(code, workload(group), Recovery::PodGroupMixed, &message).with_evidence([evidence]))
}

/// Reports a gang that KAI is about to evict, as a finding about the job of its pods.
fn stale(group: &PodGroupRecord, members: &[(&Job<'_>, &PodRecord, &GangKey)]) -> Option<Diagnosis> {
    let since = group.stale_since.as_deref()?;
    let field = "metadata.annotations[kai.scheduler/stale-podgroup-timestamp]";
    let evidence = Evidence::new(group.title(), field, since, since.parse().ok());
    let message = format!("PodGroup {} has fewer pods than its minimum", group.name);
    let code = DiagnosisCode::PodGroupStale;
    let job = members.first().map(|(job, ..)| *job);
    let job = job.filter(|job| members.iter().all(|(other, ..)| other.key == job.key));
    let recovery = if job.is_some_and(lost_rank) { Recovery::GangReduced } else { Recovery::GangEvicted };
    let workload = job.map_or_else(|| workload(group), Job::workload_name);
    Some(Diagnosis::new(code, workload, recovery, &message).with_evidence([evidence]))
}

/// Returns true if a pod of a job has failed, and nothing replaces it.
fn lost_rank(job: &Job<'_>) -> bool {
    let failed = job.not_replaced(|pod| pod.phase == PodPhase::Failed);
    !failed.is_empty() && matches!(job.replacement(&failed), Replacement::Never | Replacement::LimitReached)
}

/// Reports a `PodGroup` of a pod that does not exist. Owners of other kinds are deleted together with their `PodGroup`.
fn orphaned(group: &PodGroupRecord, has_members: bool, context: &Context<'_>) -> Option<Diagnosis> {
    let owner = group.owners.first().filter(|owner| &*owner.kind == "Pod")?;
    let exists = context.has_pod(&group.namespace, &owner.name);
    if has_members || exists || !context.snapshot.is_complete(ObjectKind::Pod, &group.namespace) {
        return None;
    }
    let message = format!("PodGroup {} remains without its pod {}", group.name, owner.name);
    let evidence = Evidence::new(group.title(), "metadata.ownerReferences", &owner.name, group.created);
    let code = DiagnosisCode::PodGroupOrphaned;
    Some(Diagnosis::new(code, workload(group), Recovery::OwnerGone, &message).with_evidence([evidence]))
}

fn workload(group: &PodGroupRecord) -> WorkloadName {
    ObjectKey::new("PodGroup", &group.namespace, &group.name).workload_name()
}
