//! Ranks without a pod: only the number of pods in the workload shows them.

use std::collections::HashSet;

use jiff::SignedDuration;

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{HEAD, JOB, Job, LAUNCHER, RAY_CLUSTER, is_older};
use crate::diagnosis::snapshot::ObjectKind;
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::reference::ObjectKey;
use crate::diagnosis::snapshot::workload::WorkloadRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::names::join_names;
use crate::workload::{PodCreation, kinds_named};

/// Time within which operators create the pods of a job, and replace one.
const CREATION: SignedDuration = SignedDuration::from_mins(5);
/// Reasons of `KubeRay`'s events about a head that it deletes, to replace it, and about a new one.
const HEAD_DELETED: &str = "DeletedHeadPod";
const HEAD_CREATED: &str = "CreatedHeadPod";
const HEAD_FIX: &str = "\
    check that the operator of KubeRay runs, its log, and the events of the cluster: kubectl describe; if it does not create the head, \
    recreate the cluster";
/// Fix for a Job, which has no operator.
const JOB_FIX: &str = "\
    check that kube-controller-manager runs, whose Job controller creates the pods, its log, and the events of the job: kubectl describe; \
    then recreate the job";
/// Maximum number of missing pods in a message.
const MAX_NAMES: usize = 8;

/// Reports roles with fewer pods than their workload requests.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let Some(workload) = job.workload.filter(|workload| is_active(workload)) else { return };
    let is_settled = job.pods.iter().all(|pod| is_older(pod.created, CREATION, context.now));
    if !is_settled || !context.snapshot.is_complete(ObjectKind::Pod, job.namespace) {
        return;
    }
    if job.is_ray() {
        found.extend(missing_head(job, context, workload));
        return;
    }
    let runs = job.active().any(|pod| pod.is_rank() && pod.is_running());
    if creation(job).is_none() || !runs || job.runs_with_fewer() || job.is_queue() {
        return;
    }
    let is_explained =
        |found: &Diagnosis| found.code == DiagnosisCode::PodCreationFails && found.workload == job.workload_name();
    let missing: Vec<MissingPods> =
        workload.roles.iter().filter_map(|role| missing(job, context, workload, role)).collect();
    // Pods exist, so roles without any have other names in the labels of pods.
    let has_names = missing.len() < workload.roles.len() || missing.iter().any(|role| role.existing > 0);
    if missing.is_empty() || !has_names || found.iter().any(is_explained) {
        return;
    }
    let count = |number: &dyn Fn(&MissingPods) -> u64| missing.iter().map(number).fold(0, u64::saturating_add);
    let (existing, expected) = (count(&|role| role.existing), count(&|role| role.expected));
    let names = join_names(missing.iter().map(|role| &role.names));
    let verb = if expected - existing == 1 { "does not exist" } else { "do not exist" };
    let peers: Vec<&PodRecord> = job.active().filter(|pod| pod.is_rank() && pod.is_scheduled()).collect();
    let wait = match peers.len() {
        1 => "1 other pod of the job waits".to_owned(),
        count => format!("{count} other pods of the job wait"),
    };
    // Before the newest start, the job may have worked with all pods.
    let since = peers.iter().flat_map(|pod| pod.main()).filter_map(ContainerRecord::running_since).max();
    let message = format!("{names} {verb}, so {wait}");
    let evidence = missing.iter().map(|role| {
        let MissingPods { role, existing, expected, .. } = role;
        let value = format!("{expected}, of which {existing} exist");
        Evidence::new(job.workload_name().to_string(), format!("spec: pods of {role}"), &value, workload.created)
    });
    let code = DiagnosisCode::RankMissing;
    found.push(
        Diagnosis::new(code, job.workload_name(), Recovery::RankAwaited, &message)
            .with_evidence(evidence)
            .with_waste(job.waste(&peers, since, context.now))
            .with_fix(job.is_plain().then_some(JOB_FIX)),
    );
}

/// Reports a Ray cluster without its head, which schedules the tasks of all other pods.
fn missing_head(job: &Job<'_>, context: &Context<'_>, workload: &WorkloadRecord) -> Option<Diagnosis> {
    let has_head = job.pods.iter().any(|pod| pod.role() == Some(HEAD));
    // The pod that submits a job is owned by another object.
    let is_worker = |pod: &&PodRecord| pod.owner.as_ref().is_some_and(|owner| &*owner.kind == RAY_CLUSTER);
    let workers = job.active().filter(|pod| pod.is_scheduled() && pod.deleted.is_none());
    let workers: Vec<&PodRecord> = workers.filter(is_worker).collect();
    if has_head || workers.is_empty() {
        return None;
    }
    let wait = match workers.len() {
        1 => "its worker waits".to_owned(),
        count => format!("{count} workers wait"),
    };
    let message = format!("the head of the Ray cluster does not exist, so {wait}");
    // Without the event, the head may have been lost a moment ago.
    let is_created = |reason: &str| reason == HEAD_CREATED;
    let changes = context.job_events(job).iter();
    let changes = changes.filter(|event| is_created(&event.reason) || *event.reason == *HEAD_DELETED);
    let newest = changes.max_by_key(|event| (event.last, is_created(&event.reason)));
    let deletion = newest.filter(|event| !is_created(&event.reason));
    let since = deletion.and_then(|event| event.last).filter(|at| is_older(Some(*at), CREATION, context.now));
    let object = job.workload_name();
    let head = "no pod has the label ray.io/node-type: head";
    let evidence = Evidence::new(object.to_string(), "spec.headGroupSpec", head, workload.created);
    let deletion = deletion.map(|event| event_evidence(event));
    let mut diagnosis = Diagnosis::new(DiagnosisCode::RankMissing, object, Recovery::RankAwaited, &message)
        .with_evidence([evidence].into_iter().chain(deletion))
        .with_waste(since.and_then(|since| Job::held_by(&workers, Some(since), context.now)))
        .with_fix(HEAD_FIX);
    if since.is_none() {
        diagnosis.finding.severity = Severity::Warning;
    }
    Some(diagnosis)
}

/// A role with fewer pods than requested.
struct MissingPods {
    role: String,
    existing: u64,
    expected: u64,
    /// Names of the missing pods, or their number.
    names: String,
}

/// Returns the order in which the operator creates the pods of `job`, if it is known.
fn creation(job: &Job<'_>) -> Option<PodCreation> {
    kinds_named(job.kind).find_map(|kind| kind.gang.creation)
}

fn is_active(workload: &WorkloadRecord) -> bool {
    workload.suspended.is_none() && !workload.is_deleted && !workload.is_finished()
}

/// Returns true if the launcher of an MPI job should exist. The checks of MPI report one whose Job has failed, and workers that
/// are not ready.
fn expects_launcher(job: &Job<'_>, context: &Context<'_>, workload: &WorkloadRecord) -> bool {
    let launcher_job = context.jobs.object(ObjectKey::new("Job", job.namespace, &format!("{}-launcher", job.name)));
    let has_ready = |pod: &PodRecord| {
        let ready = pod.condition("Ready").filter(|ready| ready.is_true());
        ready.is_some_and(|ready: &ConditionRecord| is_older(ready.since, CREATION, context.now))
    };
    launcher_job.is_none_or(is_active) && (!workload.launcher_waits || job.active().all(has_ready))
}

fn missing(
    job: &Job<'_>,
    context: &Context<'_>,
    workload: &WorkloadRecord,
    (role, expected): &(Box<str>, u64),
) -> Option<MissingPods> {
    if &**role == LAUNCHER && !expects_launcher(job, context, workload) {
        return None;
    }
    let is_sole = workload.roles.len() == 1;
    let has_role = |pod: &&PodRecord| is_sole || pod.role() == Some(&**role);
    let pods: Vec<&PodRecord> = job.pods.iter().copied().filter(has_role).collect();
    // A failed pod and its successor have the same index.
    let indexes = pods.iter().filter_map(|pod| pod.identity.as_ref()?.index);
    let indexes: HashSet<u64> = indexes.filter(|index| index < expected).collect();
    let unindexed = pods.iter().filter(|pod| pod.identity.as_ref().is_none_or(|identity| identity.index.is_none()));
    let existing = (indexes.len() + unindexed.clone().count()) as u64;
    let may_start_later = existing == 0 && creation(job) == Some(PodCreation::RolesInOrder);
    if existing >= *expected || may_start_later {
        return None;
    }
    let role = if is_sole { "the workload" } else { role };
    // In the only role of other kinds, several pods may have one index.
    let names = if unindexed.count() == 0 && (!is_sole || job.kind == JOB) {
        let (start, name) = match (is_sole, expected - existing) {
            (false, _) => ("", format!("{role}-")),
            (true, 1) => ("the pod with index ", String::new()),
            (true, _) => ("the pods with the indexes ", String::new()),
        };
        // The number of replicas may be any number.
        let absent = (0..*expected).filter(|index| !indexes.contains(index)).take(MAX_NAMES + 1);
        let absent: Vec<String> = absent.map(|index| format!("{name}{index}")).collect();
        let list = match absent.get(..MAX_NAMES).filter(|_| absent.len() > MAX_NAMES) {
            Some(first) => format!("{} and {} more", first.join(", "), expected - existing - MAX_NAMES as u64),
            None => absent.join(", "),
        };
        format!("{start}{list}")
    } else {
        format!("{} of {expected} pods of {role}", expected - existing)
    };
    Some(MissingPods { role: role.to_owned(), existing, expected: *expected, names })
}
