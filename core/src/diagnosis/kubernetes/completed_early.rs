//! Ranks that completed while others of their process group run.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::diagnosis::context::{Context, termination_evidence};
use crate::diagnosis::job::{Job, LAUNCHER, MPI_JOB, is_older, pod_names};
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::{Completion, PodPhase};

/// Time within which the ranks of a job complete: the agents of torchrun wait for each other for up to 5 minutes, and after that
/// some ranks still write files.
const GRACE: SignedDuration = SignedDuration::from_mins(5);
/// Role whose pods serve the parameters of workers that do not wait for each other.
const PARAMETER_SERVER: &str = "ps";
/// Kind whose pods are a group if they have a headless Service. The pods of a `JobSet` have one by default.
const JOB: &str = "Job";
/// Role of the ranks beside a master.
const WORKER: &str = "worker";
/// Condition of pods that were terminated from outside.
const DISRUPTION: &str = "DisruptionTarget";

/// Reports ranks that completed while peers run which have started before.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    if !job.is_collective() || job.workload.is_some_and(is_over) || ends_in_parts(job) {
        return;
    }
    let completed = job.not_replaced(|pod| {
        let end = completion(pod).and_then(|(_, end)| end.finished);
        is_older(end, GRACE, context.now) && is_member(job, pod)
    });
    let mut groups: BTreeMap<Option<&str>, Vec<&PodRecord>> = BTreeMap::new();
    for pod in completed {
        groups.entry(group(job, pod)).or_default().push(pod);
    }
    found.extend(groups.into_iter().filter_map(|(group, completed)| completed_early(job, group, &completed)));
}

/// Returns the finding about `completed`, ranks of a group.
fn completed_early(job: &Job<'_>, name: Option<&str>, completed: &[&PodRecord]) -> Option<Diagnosis> {
    let first = completed.iter().filter_map(|pod| completion(pod)?.1.finished).min()?;
    let ranks: Vec<&PodRecord> =
        job.pods.iter().copied().filter(|pod| pod.is_rank() && group(job, pod) == name).collect();
    // A rank that did not wait for the start of another one does not wait for its end either: the job is a queue.
    if !ranks.iter().all(|pod| has_started_by(pod, first)) {
        return None;
    }
    let runs = |pod: &&PodRecord| {
        let since = pod.main().filter_map(ContainerRecord::running_since).max();
        pod.is_running() && pod.deleted.is_none() && since.is_some_and(|since| since <= first)
    };
    let peers: Vec<&PodRecord> = ranks.iter().copied().filter(runs).collect();
    // The first rank may save the result.
    if peers.iter().all(|pod| is_first(job, pod)) {
        return None;
    }
    let run = match peers.len() {
        1 => "1 other rank runs".to_owned(),
        count => format!("{count} other ranks run"),
    };
    let message = format!("{} completed, and {run}: {}", pod_names(completed), pod_names(&peers));
    let ends = completed.iter().filter_map(|pod| {
        let (container, end) = completion(pod)?;
        Some(termination_evidence(pod, container, end))
    });
    let running = format!("{} of {}", peers.len(), ranks.len());
    let running = Evidence::new(job.workload_name().to_string(), "ranks that run", &running, None);
    let code = DiagnosisCode::RankCompletedEarly;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::RankCompleted, &message);
    Some(diagnosis.with_evidence([running]).with_evidence(ends))
}

fn is_over(workload: &WorkloadRecord) -> bool {
    workload.suspended.is_some() || workload.is_deleted || workload.is_finished()
}

/// Returns true if the ranks of a job need not complete together: in sessions of sshd, which are not the containers of the workers,
/// beside parameter servers, with a variable number of nodes, or with one node each.
fn ends_in_parts(job: &Job<'_>) -> bool {
    let has_role = |role: &str| job.pods.iter().any(|pod| pod.role() == Some(role));
    let has_sessions = job.kind == MPI_JOB || has_role(LAUNCHER);
    has_sessions || has_role(PARAMETER_SERVER) || job.nodes().is_some_and(|(min, max)| min < max || max == 1)
}

/// Returns the name of a rank's process group: its role, unless all roles are one group.
fn group<'a>(job: &Job<'_>, pod: &'a PodRecord) -> Option<&'a str> {
    pod.role().filter(|_| !job.is_one_group())
}

/// Returns true if a pod is a rank of a process group with several members, and not only one of many equal pods.
fn is_member(job: &Job<'_>, pod: &PodRecord) -> bool {
    let has_address = || pod.main().any(|container| container.rendezvous.has_remote_address());
    // The plugin `svc` sets the subdomain of every Job of Volcano.
    let has_service = || job.kind == JOB && job.key.qualifier.is_empty() && pod.subdomain.is_some();
    pod.is_rank() && pod.position().is_some() && (job.is_one_group() || has_address() || has_service())
}

/// Returns the main container of a pod that completed last, if all of them completed for good with code 0.
fn completion(pod: &PodRecord) -> Option<(&ContainerRecord, &TerminationRecord)> {
    let is_disrupted = pod.condition(DISRUPTION).is_some_and(ConditionRecord::is_true) || pod.deleted.is_some();
    if is_disrupted || pod.phase == PodPhase::Failed || !matches!(pod.completion, Completion::Completed(_)) {
        return None;
    }
    let ends: Option<Vec<_>> = pod.main().map(|container| Some((container, container.last_termination()?))).collect();
    let ends = ends.filter(|ends| ends.iter().all(|(_, end)| end.exit_code == 0))?;
    ends.into_iter().max_by_key(|(_, end)| end.finished)
}

/// Returns true if a main container of the pod started at `time` or before.
fn has_started_by(pod: &PodRecord, time: Timestamp) -> bool {
    let starts = |container: &ContainerRecord| {
        let last = container.last_termination().and_then(|last| last.started);
        [last, container.running_since()].into_iter().flatten().any(|started| started <= time)
    };
    pod.main().any(starts)
}

/// Returns true for rank 0: by its variables, or else the first pod of the job that is no worker of a master.
fn is_first(job: &Job<'_>, pod: &PodRecord) -> bool {
    let setting = |container: &ContainerRecord| {
        let rank = container.rendezvous.setting("PET_NODE_RANK").or_else(|| container.rendezvous.setting("RANK"));
        rank.map(|rank| rank.trim() == "0")
    };
    let has_master = || job.pods.iter().any(|other| other.is_rank() && other.role() != Some(WORKER));
    let is_first = || {
        let is_first = pod.position().is_some_and(|(_, index)| index == 0);
        is_first && (pod.role() != Some(WORKER) || !has_master())
    };
    pod.main().find_map(setting).unwrap_or_else(is_first)
}
