//! Gangs that can never be placed, or whose pods differ: TR010 to TR013, and TR015.

use std::collections::BTreeSet;

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::{RolePods, WorkloadManifest, number_of_pods};
use crate::finding::Severity;
use crate::gang::GangMode;
use crate::gang::key::{KOORDINATOR_MIN, KOORDINATOR_NAME, YUNIKORN_TASK_GROUP, YUNIKORN_TASK_GROUPS};
use crate::json;
use crate::lint::context::CheckContext;
use crate::lint::namespace_objects::resource_names;
use crate::lint::sink::FindingSink;
use crate::names::join_names;
use crate::pod::Pod;
use crate::pod::Requests;

/// Role of an `MPIJob` that starts the ranks.
const LAUNCHER: &str = "Launcher";
/// Role of the ranks.
const WORKER: &str = "Worker";
/// Kind of Volcano with a minimum of its own.
const VOLCANO_JOB: &str = "Job";
/// Policy by which the launcher is created when all workers are ready.
const AFTER_WORKERS: &str = "WaitForWorkersReady";

/// Scheduler of pods without a `schedulerName`.
const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Field of the operators of Kubeflow with the minimum of a gang.
const MIN_AVAILABLE: &str = "/spec/runPolicy/schedulingPolicy/minAvailable";
/// Field of the operators of Kubeflow with the resources of a gang.
const MIN_RESOURCES: &str = "/spec/runPolicy/schedulingPolicy/minResources";

/// API of the `MPIJobs` of mpi-operator. Those of the training-operator have another one.
const MPI_OPERATOR_API: &str = "kubeflow.org/v2beta1";

/// Maximum length of the task groups of `YuniKorn` that are read, in bytes.
const MAX_TASK_GROUPS: usize = 64 * 1024;

/// How to fix a minimum in the annotations of pods.
const FIX_MINIMUM: &str = "set the minimum in the annotation to the number of pods that start together";
/// How to fix text that is no list of task groups.
const FIX_TASK_GROUPS: &str =
    "correct the JSON of the annotation: a list of objects with name, minMember and minResource";

/// TR010: the workers wait for a launcher that is created after them.
pub(crate) fn launcher_in_gang(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let is_late =
        workload.value().get("spec").and_then(|spec| json::text(spec, "launcherCreationPolicy")) == Some(AFTER_WORKERS);
    let workers = workload.roles.iter().find(|role| role.name == WORKER);
    let Some((worker, workers)) = workers.and_then(|worker| Some((worker, worker.replicas?))) else { return };
    if !is_late || role.name != LAUNCHER {
        return;
    }
    let policy = workload.scheduling_policy("minAvailable").and_then(Value::as_u64);
    let policy = policy.map(|minimum| (minimum, workload.field(MIN_AVAILABLE)));
    let group = || workload.objects.group(worker.original);
    let by_group = || group().and_then(|(_, group)| group.minimum.clone());
    let (minimum, field) = policy.or_else(by_group).unzip();
    let reason = match minimum {
        Some(minimum) if minimum > workers => {
            format!("the gang needs {minimum} pods, but only {workers} workers exist")
        }
        // The operator counts the launcher by default.
        None if has_policy(workload) => {
            let pods = workers.saturating_add(1);
            format!("the operator's gang has {pods} pods with the launcher, but only {workers} workers exist")
        }
        _ => return,
    };
    let severity = if minimum.is_some() { Severity::Error } else { Severity::Warning };
    // Without a minimum, the policy of the launcher is the field to change.
    let field = field.unwrap_or_else(|| workload.field("/spec/launcherCreationPolicy"));
    let message = format!("{reason} before the launcher is created, which waits for the workers ({AFTER_WORKERS})");
    findings.push_at(severity, field, message);
}

/// TR011: a gang needs more pods than the job has.
pub(crate) fn minimum_above_pods(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    minimum_above_task(workload, role, findings);
    declared_minimum(workload, role, findings);
    let Some(pods) = WorkloadManifest::pods(workload.roles.iter()) else { return };
    let is_first = workload.roles.first().is_some_and(|first| first.name == role.name);
    let by_task = || workload.value().get("spec")?.get("minAvailable").filter(|_| workload.kind() == VOLCANO_JOB);
    let by_policy = workload.scheduling_policy("minAvailable").map(|minimum| (MIN_AVAILABLE, minimum));
    let own = by_policy.or_else(|| Some(("/spec/minAvailable", by_task()?)));
    let own = own.and_then(|(field, minimum)| Some((field, minimum.as_u64()?)));
    if let Some((field, minimum)) = own.filter(|(_, minimum)| *minimum > pods && is_first) {
        // The gangs of trainmesh have at most the pods of the job.
        let gang = if field == MIN_AVAILABLE { " in a gang that the operator creates" } else { "" };
        let pods = number_of_pods(pods);
        let message = format!("minAvailable is {minimum}, but the job has {pods}: none starts{gang}");
        findings.push_at(Severity::Error, workload.field(field), message);
        return;
    }
    let Some((name, group)) = workload.objects.group(role.original) else { return };
    let members = members(workload, role.original);
    let is_first = members.first().is_some_and(|first| first.name == role.name);
    let Some(members) = WorkloadManifest::pods(members.into_iter()).filter(|_| is_first) else { return };
    if let Some((minimum, field)) = group.minimum.as_ref().filter(|(minimum, _)| *minimum > members) {
        // Pods of other workloads may be members too.
        let message = format!("PodGroup {name} requires {minimum} pods, but the job has {members}: none starts");
        findings.push_at(Severity::Warning, field.clone(), message);
    }
}

/// Reports a task of a Volcano Job that requires more pods than it has.
fn minimum_above_task(workload: &WorkloadManifest<'_>, role: &RolePods<'_>, findings: &mut FindingSink<'_>) {
    // Roles are the tasks in the order of the manifest, of which some have no name.
    let Some(index) = workload.roles.iter().position(|other| other.name == role.name) else { return };
    let field = format!("/spec/tasks/{index}/minAvailable");
    let minimum = workload.value().pointer(&field).and_then(Value::as_u64);
    if let (Some(minimum), Some(pods)) = (minimum.filter(|_| workload.kind() == VOLCANO_JOB), role.replicas)
        && minimum > pods
    {
        let pods = number_of_pods(pods);
        let message = format!("minAvailable of task {} is {minimum}, but it has {pods}: none starts", role.name);
        findings.push_at(Severity::Error, workload.field(&field), message);
    }
}

/// Reports a minimum in the pods themselves: that of a gang of Koordinator, or of a task group of `YuniKorn`. Pods of other
/// workloads may be members too.
fn declared_minimum(workload: &WorkloadManifest<'_>, role: &RolePods<'_>, findings: &mut FindingSink<'_>) {
    let pod = role.original;
    let mut report = |key: &str, message: String, fix: &'static str| {
        let field = PointerBuf::from_tokens(["metadata", "annotations", key]).to_string();
        findings.push_with_fix(Severity::Warning, field, message, fix);
    };
    let minimum = pod.annotation(KOORDINATOR_MIN).and_then(|minimum| minimum.trim().parse::<u64>().ok());
    if let (Some(minimum), Some((name, pods))) = (minimum, own_group(workload, role, KOORDINATOR_NAME))
        && minimum > pods
    {
        let message =
            format!("gang {name} of Koordinator requires {minimum} pods, but the job has {pods}: none starts");
        report(KOORDINATOR_MIN, message, FIX_MINIMUM);
    }
    let groups = pod.annotation(YUNIKORN_TASK_GROUPS).filter(|groups| groups.len() <= MAX_TASK_GROUPS);
    match groups.map(serde_json::from_str::<Vec<Value>>) {
        Some(Err(_)) => {
            let message = "the task groups of YuniKorn are no list in JSON: it places the pods one by one".to_owned();
            report(YUNIKORN_TASK_GROUPS, message, FIX_TASK_GROUPS);
        }
        Some(Ok(groups)) => {
            let Some((name, pods)) = own_group(workload, role, YUNIKORN_TASK_GROUP) else { return };
            let group = groups.iter().find(|group| json::text(group, "name") == Some(name));
            let minimum = group.and_then(|group| group.get("minMember")?.as_u64());
            if let Some(minimum) = minimum.filter(|minimum| *minimum > pods) {
                let pods = number_of_pods(pods);
                let message = format!(
                    "task group {name} of YuniKorn has {minimum} members, but the job has {pods}: the pods wait for \
                     resources that none of them uses"
                );
                report(YUNIKORN_TASK_GROUPS, message, FIX_MINIMUM);
            }
        }
        None => {}
    }
}

/// Returns the group that the annotation `key` of a role names, with the number of pods of all roles that name it; `None` if another
/// role comes first, or the number is unknown.
fn own_group<'a>(workload: &WorkloadManifest<'a>, role: &RolePods<'a>, key: &str) -> Option<(&'a str, u64)> {
    let name = role.original.annotation(key).filter(|name| !name.is_empty())?;
    let members = || workload.roles.iter().filter(|member| member.original.annotation(key) == Some(name));
    members().next().filter(|first| first.name == role.name)?;
    Some((name, WorkloadManifest::pods(members())?))
}

/// TR012: the reserved resources do not contain the devices that trainmesh adds.
pub(crate) fn unreserved_devices(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let by_policy = || {
        let reserved = resource_names(workload.scheduling_policy("minResources"))?;
        Some(("schedulingPolicy".to_owned(), reserved, workload.field(MIN_RESOURCES)))
    };
    let by_group = || {
        let (name, group) = workload.objects.group(role.original)?;
        let (reserved, field) = group.reserved.clone()?;
        Some((format!("PodGroup {name}"), reserved, field))
    };
    let Some((owner, reserved, field)) = by_policy().or_else(by_group) else { return };
    let requests = |pod: Pod<'_>| pod.raw().get("spec").map(Requests::from_pod_spec).unwrap_or_default();
    let (before, after) = (requests(role.original), requests(role.patched));
    let added = after.excess_over(&before);
    let missing: Vec<&str> =
        added.devices().map(|(name, _)| name).filter(|name| !reserved.iter().any(|known| known == name)).collect();
    if !missing.is_empty() {
        let message = format!("minResources of {owner} does not reserve {}, which trainmesh adds", join_names(missing));
        findings.push_at(Severity::Info, field, message);
    }
}

/// TR013: the pods of one gang have different schedulers.
pub(crate) fn mixed_schedulers(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let Some((mode, _)) = named_gang(role.original) else { return mixed_in_policy(workload, role, findings) };
    let members = members(workload, role.original);
    if scheduler(role.original) != gang_scheduler(&members, mode) {
        let names = members.iter().map(|member| scheduler(member.original)).collect();
        report_schedulers(names, findings);
    }
}

/// Reports different schedulers in the pods of a job of the training-operator with the minimum of a gang. The operator
/// sets the scheduler of its gangs only in pods without one.
fn mixed_in_policy(workload: &WorkloadManifest<'_>, role: &RolePods<'_>, findings: &mut FindingSink<'_>) {
    let Some(minimum) = workload.scheduling_policy("minAvailable").and_then(Value::as_u64) else { return };
    // mpi-operator sets the scheduler of its gangs in all pods.
    if json::text(workload.value(), "apiVersion") == Some(MPI_OPERATOR_API) {
        return;
    }
    let members = || workload.roles.iter().filter(|member| member.replicas != Some(0));
    let names: BTreeSet<&str> = members().filter_map(|member| own_scheduler(member.original)).collect();
    // The default scheduler counts no pods.
    let may_reach_minimum = |name: &str| {
        let is_counted = |member: &&RolePods<'_>| own_scheduler(member.original).is_none_or(|own| own == name);
        WorkloadManifest::pods(members().filter(is_counted)).is_none_or(|pods| pods >= minimum)
    };
    if names.iter().any(|name| *name != DEFAULT_SCHEDULER && may_reach_minimum(name)) {
        return;
    }
    let first = members().find_map(|member| own_scheduler(member.original));
    if names.len() > 1 && own_scheduler(role.original).is_some_and(|own| Some(own) != first) {
        report_schedulers(names, findings);
    }
}

fn report_schedulers(names: BTreeSet<&str>, findings: &mut FindingSink<'_>) {
    let message = format!(
        "the pods of the gang have the schedulers {}: each sees a part of the gang, and waits for the rest",
        join_names(names)
    );
    findings.push("/spec/schedulerName", message);
}

/// TR015: the pods of one gang have different priorities.
///
/// Compares only gangs whose object the controller creates: what other schedulers do with such pods is not known.
pub(crate) fn mixed_priorities(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some((workload, role)) = context.workload() else { return };
    let Some(shape) = workload.gang else { return };
    let own_gang = |role: &RolePods<'_>| {
        let gang = shape.gang_of(role.original).ok()?;
        let is_named = |mode: &GangMode| mode.gang_named_by(role.patched) == Some(gang.name.as_str());
        let mode = GangMode::WITH_OBJECTS.into_iter().find(is_named)?;
        (role.replicas != Some(0)).then_some((mode, gang.name))
    };
    let Some(own) = own_gang(role) else { return };
    let members = || workload.roles.iter().filter(|other| own_gang(other).as_ref() == Some(&own));
    let Some(first) = members().next() else { return };
    let differs = match (priority(role.original), priority(first.original)) {
        // The apiserver rejects a value that is not that of the class.
        (Some(own), Some(other)) => own != other,
        _ => priority_class(role.original) != priority_class(first.original),
    };
    if differs {
        let name = |member: &RolePods<'_>| match (priority_class(member.original), priority(member.original)) {
            ("", None) => "none".to_owned(),
            ("", Some(value)) => value.to_string(),
            (class, _) => class.to_owned(),
        };
        let names: BTreeSet<String> = members().map(name).collect();
        let message = format!(
            "the pods of the gang have the priorities {}: the controller releases gangs with different values, and the pods \
             are placed one by one",
            join_names(names)
        );
        findings.push("/spec/priorityClassName", message);
    }
}

/// Returns the roles whose pods name the same gang as `pod`; none if it names none.
fn members<'a>(workload: &WorkloadManifest<'a>, pod: Pod<'_>) -> Vec<&'a RolePods<'a>> {
    let Some(own) = named_gang(pod) else { return Vec::new() };
    workload.roles.iter().filter(|role| named_gang(role.original) == Some(own)).collect()
}

/// Returns the gang that `pod` names, and the mode of its key.
fn named_gang(pod: Pod<'_>) -> Option<(GangMode, &str)> {
    GangMode::WITH_OBJECTS.into_iter().find_map(|mode| Some((mode, mode.gang_named_by(pod)?)))
}

/// Returns the scheduler of a gang in `mode`: that of the mode if a role has it, or else that of most pods.
fn gang_scheduler<'a>(members: &[&RolePods<'a>], mode: GangMode) -> &'a str {
    let mut schedulers: Vec<(&str, u64)> = Vec::new();
    for member in members {
        let (name, pods) = (scheduler(member.original), member.replicas.unwrap_or(1));
        match schedulers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count = count.saturating_add(pods),
            None => schedulers.push((name, pods)),
        }
    }
    let by_mode = schedulers.iter().find(|(name, _)| mode.scheduler_name() == Some(name));
    // Of several with as many pods, the first one.
    let by_pods = || schedulers.iter().rev().max_by_key(|(_, pods)| *pods);
    by_mode.or_else(by_pods).map_or(DEFAULT_SCHEDULER, |(name, _)| name)
}

fn scheduler(pod: Pod<'_>) -> &str {
    own_scheduler(pod).unwrap_or(DEFAULT_SCHEDULER)
}

/// Returns the `schedulerName` of `pod`, if it has one.
fn own_scheduler(pod: Pod<'_>) -> Option<&str> {
    let name = pod.spec().and_then(|spec| spec.get("schedulerName")).and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// Returns the value of the priority in the manifest; the apiserver sets that of other pods by their class.
fn priority(pod: Pod<'_>) -> Option<i64> {
    pod.spec()?.get("priority")?.as_i64()
}

fn priority_class(pod: Pod<'_>) -> &str {
    pod.spec().and_then(|spec| spec.get("priorityClassName")).and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if the manifest has a scheduling policy, so that its author expects a gang.
fn has_policy(workload: &WorkloadManifest<'_>) -> bool {
    let policy = workload.value().get("spec").and_then(|spec| spec.get("runPolicy")?.get("schedulingPolicy"));
    policy.and_then(Value::as_object).is_some_and(|policy| !policy.is_empty())
}
