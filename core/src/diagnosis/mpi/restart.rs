//! Workers that restarted under a launcher that runs on.

use jiff::{SignedDuration, Timestamp};

use super::{Roles, finished};
use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;

/// Time that a launcher needs to start its daemons in the workers: a worker that terminates before has no rank.
const START: SignedDuration = SignedDuration::from_secs(30);
/// Time within which a launcher notices that a daemon is gone, if it notices it at all.
const GRACE: SignedDuration = SignedDuration::from_mins(1);

const FIX: &str = "\
    find out why the worker terminated: kubectl logs --previous -c CONTAINER; if the ranks of the job make no progress, recreate the job, \
    because sshd alone runs again";

/// A worker with its main container and the termination of the last run.
type Restart<'a> = (&'a PodRecord, &'a ContainerRecord, &'a TerminationRecord);

/// Reports workers that restarted after the launcher started its daemons in them. `mpirun` usually ends then, so the finding is a warning.
pub(super) fn check(job: &Job<'_>, roles: &Roles<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let launcher = roles.launchers.iter().copied().find(|pod| pod.is_running() && pod.deleted.is_none())?;
    if finished(job, roles).is_some() {
        return None;
    }
    // A launcher that only waits, such as a shell in which somebody works, has started no ranks.
    let mut programs = launcher.main().filter(|container| container.starts_ranks);
    let (container, started) = programs.find_map(|main| Some((main, main.running_since()?)))?;
    let restarted: Vec<Restart<'_>> =
        roles.active_workers().filter_map(|pod| restart(pod, started, context.now)).collect();
    let first = restarted.iter().filter_map(|(.., ended)| ended.finished).min()?;
    let pods: Vec<&PodRecord> = restarted.iter().map(|(pod, ..)| *pod).collect();
    let (names, them) = (pod_names(&pods), verb(pods.len(), "it", "them"));
    let message = format!("{names} restarted, and the launcher, which had started ranks in {them}, did not");
    let ends = restarted.iter().map(|(pod, container, ended)| {
        let value = format!("{}, {}", ended.summary(), container.restarts_text());
        Evidence::new(pod.title(), container.status_field("lastState.terminated"), &value, ended.finished)
    });
    let field = container.status_field("state.running.startedAt");
    let launcher = Evidence::new(launcher.title(), field, "not restarted", Some(started));
    let code = DiagnosisCode::WorkerRestarted;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::WorkerRanksLost, &message)
        .with_evidence(ends.chain([launcher]))
        .with_waste(job.waste(&pods, Some(first), context.now))
        .with_severity(Severity::Warning)
        .with_fix(FIX);
    Some(diagnosis)
}

/// Returns the restart of a worker that runs again, after a launcher had started its daemon.
fn restart(pod: &PodRecord, launched: Timestamp, now: Timestamp) -> Option<Restart<'_>> {
    let container = pod.main().find(|container| container.is_running() && container.restarts > 0)?;
    let ended = container.last.as_ref()?;
    let (from, to) = (ended.started?.max(launched), ended.finished?);
    let had_daemon = to.duration_since(from) >= START;
    (had_daemon && is_older(container.running_since(), GRACE, now)).then_some((pod, container, ended))
}
