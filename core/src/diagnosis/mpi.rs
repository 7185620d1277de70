//! Checks of MPI jobs: a launcher that starts the ranks in its workers by SSH.

mod launcher;
mod restart;

use jiff::{SignedDuration, Timestamp};

use super::context::Context;
use super::job::{Job, LAUNCHER, MPI_JOB, is_older, pod_names, verb};
use super::snapshot::ObjectKind;
use super::snapshot::condition::ConditionRecord;
use super::snapshot::container::ContainerRecord;
use super::snapshot::pod::PodRecord;
use super::snapshot::workload::CleanupPolicy;
use super::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::{Completion, PodPhase};

/// Time that the scheduler may need for a gang.
const SCHEDULING: SignedDuration = SignedDuration::from_mins(5);
/// Time that an operator may need to create a Service or to delete workers, and a worker to become ready.
const GRACE: SignedDuration = SignedDuration::from_mins(2);

/// API group of the jobs of the training operator, which keeps the pods of a job that has finished by default.
const TRAINING_OPERATOR: &str = "kubeflow.org";

/// Fix for a Service that its operator creates.
const SERVICE_FIX: &str = "\
    check mpi-operator and its log, which creates the Service with the name of the job; or recreate the job";
/// Fix for workers that the operator should have deleted.
const CLEANUP_FIX: &str = "\
    check that the operator of the job runs, its log, and the events of the job: kubectl describe; delete the workers or the job";

/// Checks a workload: an MPI job, or workers that another job of the training operator leaves.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let roles = Roles::new(job);
    if job.kind != MPI_JOB {
        let is_training = job.workload.is_some_and(|workload| workload.group == TRAINING_OPERATOR);
        found.extend(is_training.then(|| left_behind(job, &roles, context)).flatten());
        return;
    }
    found.extend(slots(job, &roles));
    found.extend(waiting_for_each_other(job, &roles, context));
    found.extend(waiting_for_workers(job, &roles, context));
    let unreachable = unreachable(job, &roles, context);
    // Unreachable workers explain the failure of the launcher.
    found.extend(unreachable.or_else(|| launcher::failed(job, &roles, context)));
    found.extend(restart::check(job, &roles, context));
    found.extend(left_behind(job, &roles, context));
}

/// The pods of a job by role.
struct Roles<'a> {
    launchers: Vec<&'a PodRecord>,
    workers: Vec<&'a PodRecord>,
}

impl<'a> Roles<'a> {
    fn new(job: &Job<'a>) -> Self {
        let is_launcher = |pod: &PodRecord| pod.role() == Some(LAUNCHER);
        let (launchers, workers) = job.pods.iter().copied().partition(|pod| is_launcher(pod));
        Self { launchers, workers }
    }

    fn active_workers(&self) -> impl Iterator<Item = &'a PodRecord> {
        self.workers.iter().copied().filter(|pod| !pod.is_finished() && pod.deleted.is_none())
    }
}

/// Reports more ranks for each worker than it has accelerators.
fn slots(job: &Job<'_>, roles: &Roles<'_>) -> Option<Diagnosis> {
    let slots = job.workload?.slots?;
    let worker = roles.active_workers().find(|pod| (1..slots).contains(&pod.accelerators()))?;
    let accelerators = worker.accelerators();
    let message = format!("{slots} ranks of each worker share {accelerators} accelerators");
    let field = Evidence::new(job.workload_name().to_string(), "spec.slotsPerWorker", &slots.to_string(), None);
    let requests = Evidence::new(worker.title(), "requests of accelerators", &accelerators.to_string(), worker.created);
    let code = DiagnosisCode::SlotsExceedAccelerators;
    Some(Diagnosis::new(code, job.workload_name(), Recovery::SlotsFixed, &message).with_evidence([field, requests]))
}

/// Reports workers that wait for a gang with the launcher, which is created when they are ready.
fn waiting_for_each_other(job: &Job<'_>, roles: &Roles<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let waits = job.workload?.launcher_waits;
    let workers: Vec<&PodRecord> = roles.active_workers().collect();
    let is_waiting = |pod: &&PodRecord| !pod.is_scheduled() && is_older(pod.created, SCHEDULING, context.now);
    if !waits || !roles.launchers.is_empty() || !workers.iter().all(is_waiting) {
        return None;
    }
    let key = workers.first()?.gang.as_ref()?;
    let group = context.pod_group(key.api, job.namespace, &key.name)?;
    let minimum = group.min_member.filter(|minimum| *minimum > workers.len() as u64)?;
    let message = format!(
        "PodGroup {} needs {minimum} pods, and the launcher is created when the {} workers run",
        group.name,
        workers.len()
    );
    let policy = "WaitForWorkersReady";
    let policy = Evidence::new(job.workload_name().to_string(), "spec.launcherCreationPolicy", policy, None);
    let minimum = Evidence::new(group.title(), group.api.minimum_field(), &minimum.to_string(), group.created);
    let code = DiagnosisCode::LauncherAwaitsGang;
    Some(
        Diagnosis::new(code, job.workload_name(), Recovery::LauncherDeadlocked, &message)
            .with_evidence([policy, minimum]),
    )
}

/// Reports workers that are not ready, so that the operator does not create the launcher.
fn waiting_for_workers(job: &Job<'_>, roles: &Roles<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    if !job.workload?.launcher_waits || !roles.launchers.is_empty() || finished(job, roles).is_some() {
        return None;
    }
    let unready: Vec<&PodRecord> = unready_workers(roles, context).collect();
    let since = unready.iter().filter_map(|pod| pod.condition("Ready")?.since).min()?;
    let message = format!(
        "{} {} not ready, so the launcher is not created, and {} workers wait",
        pod_names(&unready),
        verb(unready.len(), "is", "are"),
        roles.active_workers().count()
    );
    let policy = "WaitForWorkersReady";
    let policy = Evidence::new(job.workload_name().to_string(), "spec.launcherCreationPolicy", policy, None);
    let code = DiagnosisCode::LauncherAwaitsWorkers;
    Some(
        Diagnosis::new(code, job.workload_name(), Recovery::LauncherDelayed, &message)
            .with_evidence(unready.iter().filter_map(|pod| not_ready(pod)).chain([policy]))
            .with_waste(job.waste(&roles.workers, Some(since), context.now)),
    )
}

/// Returns the workers that run and have not been ready for a while.
fn unready_workers<'a>(roles: &Roles<'a>, context: &Context<'_>) -> impl Iterator<Item = &'a PodRecord> {
    roles.active_workers().filter(|pod| {
        let ready = pod.condition("Ready").filter(|ready| !ready.is_true());
        pod.is_running() && ready.is_some_and(|ready| is_older(ready.since, GRACE, context.now))
    })
}

fn not_ready(pod: &PodRecord) -> Option<Evidence> {
    let ready = pod.condition("Ready")?;
    Some(Evidence::new(pod.title(), "status.conditions[Ready]", &ready.summary(), ready.since))
}

/// Reports workers whose names do not resolve for a launcher that runs or fails.
fn unreachable(job: &Job<'_>, roles: &Roles<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let has_started = |pod: &&PodRecord| {
        pod.main().any(|container| {
            let failed = container.last_termination().is_some_and(|ended| ended.exit_code != 0);
            failed || is_older(container.running_since(), GRACE, context.now)
        })
    };
    if finished(job, roles).is_some() {
        return None;
    }
    let by_age = |pod: &&PodRecord| (!pod.is_finished(), pod.created);
    let launcher = roles.launchers.iter().copied().filter(has_started).max_by_key(by_age)?;
    let service = context.service(job.namespace, job.name);
    let diagnosis =
        |recovery, message: &str| {
            Diagnosis::new(DiagnosisCode::WorkersUnreachable, job.workload_name(), recovery, message)
                .with_waste(job.waste(&roles.workers, launcher.created, context.now))
        };
    let Some(service) = service else {
        // mpi-operator names it after the job.
        let is_missing = context.snapshot.is_complete(ObjectKind::Service, job.namespace);
        let is_v2 = launcher.owner.as_ref().is_some_and(|owner| &*owner.kind == "Job");
        let title = format!("Service {}/{}", job.namespace, job.name);
        let evidence = Evidence::new(title, "metadata.name", "does not exist", launcher.created);
        let message =
            format!("{} cannot resolve its workers: Service {} does not exist", launcher.short_name(), job.name);
        let recovery = Recovery::WorkersServiceMissing;
        return (is_missing && is_v2)
            .then(|| diagnosis(recovery, &message).with_evidence([evidence]).with_fix(SERVICE_FIX));
    };
    let unready: Vec<&PodRecord> = unready_workers(roles, context).collect();
    if service.publishes_not_ready || unready.is_empty() {
        return None;
    }
    let verb = verb(unready.len(), "is", "are");
    let message = format!("{} {verb} not ready, so the launcher cannot resolve the name", pod_names(&unready));
    Some(diagnosis(Recovery::LauncherRetries, &message).with_evidence(unready.iter().filter_map(|pod| not_ready(pod))))
}

/// Reports workers that hold accelerators although the launcher or the job has finished.
fn left_behind(job: &Job<'_>, roles: &Roles<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let (evidence, since) = finished(job, roles)?;
    // A pod that only its sidecar keeps has a finding.
    let runs = |pod: &&PodRecord| pod.phase == PodPhase::Running && pod.completion == Completion::Pending;
    let workers: Vec<&PodRecord> = roles.active_workers().filter(runs).collect();
    if workers.is_empty() || !is_older(Some(since), GRACE, context.now) {
        return None;
    }
    let verb = if workers.len() == 1 { "runs" } else { "run" };
    let end = if job.kind == MPI_JOB { "launcher" } else { "job" };
    let message = format!("{} {verb} although the {end} has finished", pod_names(&workers));
    let code = DiagnosisCode::WorkersLeft;
    let cleanup = job.workload.and_then(|workload| workload.cleanup.as_ref());
    let recovery = if cleanup.is_some() { Recovery::CleanupAwaited } else { Recovery::WorkersStay };
    let policy = cleanup
        .map(|CleanupPolicy { field, policy }| Evidence::new(job.workload_name().to_string(), *field, policy, None));
    let diagnosis = Diagnosis::new(code, job.workload_name(), recovery, &message)
        .with_evidence([evidence].into_iter().chain(policy))
        .with_waste(Job::held_by(&workers, Some(since), context.now));
    Some(diagnosis.with_fix(cleanup.is_some().then_some(CLEANUP_FIX)))
}

/// Returns the evidence that the job has finished, with its time: a condition, or the last launcher.
fn finished(job: &Job<'_>, roles: &Roles<'_>) -> Option<(Evidence, Timestamp)> {
    let conditions = job.workload.map(|workload| &workload.conditions[..]).unwrap_or_default();
    let is_end =
        |condition: &&ConditionRecord| matches!(&*condition.kind, "Succeeded" | "Failed") && condition.is_true();
    if let Some(condition) = conditions.iter().find(is_end) {
        let field = format!("status.conditions[{}]", condition.kind);
        let evidence = Evidence::new(job.workload_name().to_string(), field, &condition.summary(), condition.since);
        return Some((evidence, condition.since?));
    }
    // A launcher that failed is replaced by its Job.
    let is_done = roles.launchers.iter().any(|pod| pod.phase == PodPhase::Succeeded);
    let launcher = roles.launchers.iter().find(|_| is_done)?;
    let end = launcher.main().filter_map(|container| ContainerRecord::last_termination(container)?.finished).max()?;
    Some((Evidence::new(launcher.title(), "status.phase", "Succeeded", Some(end)), end))
}
