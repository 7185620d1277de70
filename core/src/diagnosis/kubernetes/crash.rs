//! Main containers that crash or run out of memory.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::ended::has_failed;
use crate::diagnosis::context::{Context, event_evidence, termination_evidence};
use crate::diagnosis::job::{Job, pod_names, verb};
use crate::diagnosis::snapshot::container::{ContainerRecord, StateRecord, TerminationRecord};
use crate::diagnosis::snapshot::event::{EventRecord, UNHEALTHY};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::pod::RestartPolicy;

/// Number of restarts from which a crash is no longer one of the first connections of a job.
const MIN_RESTARTS: u64 = 3;
/// Reason of the kubelet for a container between restarts.
const CRASH_LOOP: &str = "CrashLoopBackOff";

/// Reason and part of the message of the event of the kubelet about a container that it restarts because of a probe.
const KILLED_BY_PROBE: (&str, &str) = ("Killing", " probe, will be restarted");
const PROBE_FIX: &str = "\
    the kubelet terminates the container because its probe fails: correct the probe, or raise its timeoutSeconds and \
    failureThreshold; the log of the last run shows if the container hangs: kubectl logs --previous";
/// Fix for init containers and sidecars: without a name, kubectl reads the log of a main container.
const OTHER_FIX: &str =
    "read the log of the last run of the container in the evidence: kubectl logs --previous -c CONTAINER";

/// Fix for programs that do not train, such as an etcd.
const OTHER_MEMORY_FIX: &str =
    "raise the memory limit of the container in the evidence, or find out what it needs the memory for";

/// Reports containers between restarts. Main containers that ran out of memory are reported by
/// [`check_memory`].
pub(super) fn check_crash_loops(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let in_loop = |pod: &&PodRecord| pod.containers.iter().any(is_between_restarts);
    let pods: Vec<&PodRecord> = job.active().filter(in_loop).collect();
    if pods.is_empty() {
        return;
    }
    let containers = || {
        let all = pods.iter().flat_map(|pod| pod.containers.iter().map(move |container| (*pod, container)));
        all.filter(|(_, container)| is_between_restarts(container))
    };
    let restarts = containers().map(|(_, container)| container.restarts).max().unwrap_or_default();
    let evidence = containers().map(|(pod, container)| {
        let last = container.last_termination();
        let value = last.map_or_else(|| CRASH_LOOP.to_owned(), TerminationRecord::summary);
        let value = format!("{value}, {}", container.restarts_text());
        Evidence::new(pod.title(), container.termination_field(), &value, last.and_then(|last| last.finished))
    });
    let since = containers().filter_map(|(_, container)| container.last_termination()?.finished).min();
    let probes: Vec<Vec<Evidence>> = pods.iter().map(|pod| failed_probes(pod, context)).collect();
    let are_killed_by_probe = probes.iter().all(|events| !events.is_empty());
    let names: BTreeSet<&str> =
        containers().filter(|(_, container)| !container.is_main).map(|(_, container)| &*container.name).collect();
    let has_main = containers().any(|(_, container)| container.is_main);
    let subject = match names.first() {
        Some(name) if names.len() == 1 && !has_main => format!("container {name} of {} crashes", pod_names(&pods)),
        _ => format!("{} {}", pod_names(&pods), verb(pods.len(), "crashes", "crash")),
    };
    let is_one = names.len() == 1 && !has_main || pods.len() == 1;
    let repetition = match (restarts > 1, is_one) {
        (true, _) => "again and again",
        (false, true) => "and is restarted after a delay",
        (false, false) => "and are restarted after a delay",
    };
    let message = format!("{subject} {repetition}{}", job.waiting_peers(&pods));
    let mut diagnosis = Diagnosis::new(DiagnosisCode::CrashLoop, job.workload_name(), Recovery::CrashRetried, &message)
        .with_evidence(evidence)
        .with_evidence(probes.into_iter().flatten())
        .with_waste(job.waste(&pods, since, context.now));
    if restarts < MIN_RESTARTS {
        diagnosis.finding.severity = Severity::Warning;
    }
    if are_killed_by_probe {
        diagnosis = diagnosis.with_fix(PROBE_FIX);
    } else if !names.is_empty() {
        diagnosis = diagnosis.with_fix(OTHER_FIX);
    }
    found.push(diagnosis);
}

/// Returns the events about a failed probe because of which the kubelet restarts a container of the loop; none if there is another cause.
fn failed_probes(pod: &PodRecord, context: &Context<'_>) -> Vec<Evidence> {
    // Another container of the pod may have a probe, too.
    let is_of_loop = |event: &&EventRecord| {
        let is_named = |name: &str| pod.containers.iter().any(|one| *one.name == *name && is_between_restarts(one));
        event.container.as_deref().is_none_or(is_named)
    };
    let newest = |reason| context.newest_pod_event(pod, &[reason]);
    let (reason, text) = KILLED_BY_PROBE;
    let killing = newest(reason).filter(|event| event.message.contains(text)).filter(is_of_loop);
    let failed = killing.and_then(|_| newest(UNHEALTHY).filter(is_of_loop));
    failed.into_iter().chain(killing).map(event_evidence).collect()
}

/// Reports main containers that ran out of memory: those that are not restarted, and those that were.
pub(super) fn check_memory(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let killed: Vec<Killed<'_>> = job.pods.iter().flat_map(|pod| Killed::all(pod)).collect();
    for runs_again in [false, true] {
        let killed: Vec<&Killed<'_>> =
            killed.iter().filter(|killed| killed.container.is_running() == runs_again).collect();
        let has_ended = job.pods.iter().all(|pod| pod.is_finished());
        // A job that has succeeded since has lost no rank.
        if killed.is_empty() || has_ended && !has_failed(job) {
            continue;
        }
        let mut pods: Vec<&PodRecord> = killed.iter().map(|killed| killed.pod).collect();
        pods.dedup_by_key(|pod| &pod.name);
        let is_restarted =
            killed.iter().all(|killed| killed.container.policy != RestartPolicy::Never && !killed.pod.is_finished());
        let recovery = if is_restarted { Recovery::MemoryRestarted } else { Recovery::MemoryEnded };
        let exceeded = verb(pods.len(), "exceeded its memory limit", "exceeded their memory limits");
        let end = if runs_again {
            format!(" and {} again", verb(pods.len(), "runs", "run"))
        } else {
            job.waiting_peers(&pods)
        };
        let message = format!("{} {exceeded}{end}", pod_names(&pods));
        let evidence = killed.iter().map(|killed| killed.evidence());
        let since: Option<Timestamp> = killed.iter().filter_map(|killed| killed.termination.finished).min();
        let mut diagnosis =
            Diagnosis::new(DiagnosisCode::OutOfMemory, job.workload_name(), recovery, &message).with_evidence(evidence);
        if !pods.iter().any(|pod| pod.is_rank() || pod.accelerators() > 0) {
            diagnosis = diagnosis.with_fix(OTHER_MEMORY_FIX);
        }
        if runs_again {
            // The job may have continued, so nothing is known to be idle.
            diagnosis.finding.severity = Severity::Warning;
        } else if has_ended {
            // Nobody waits for the rank any more.
            diagnosis.finding.severity = Severity::Info;
        } else {
            diagnosis = diagnosis.with_waste(job.waste(&pods, since, context.now));
        }
        found.push(diagnosis);
    }
}

/// A main container that ran out of memory.
struct Killed<'a> {
    pod: &'a PodRecord,
    container: &'a ContainerRecord,
    termination: &'a TerminationRecord,
}

impl<'a> Killed<'a> {
    fn all(pod: &'a PodRecord) -> impl Iterator<Item = Self> {
        pod.main()
            .filter(|container| ran_out_of_memory(container))
            .filter_map(move |container| Some(Self { pod, container, termination: container.last_termination()? }))
    }

    fn evidence(&self) -> Evidence {
        let Self { pod, container, termination } = self;
        termination_evidence(pod, container, termination)
    }
}

/// Returns true for a container that the kubelet restarts after a delay, unless it is a main container that ran out of memory. For a
/// part of the delay, the kubelet reports the termination and not `CrashLoopBackOff`.
fn is_between_restarts(container: &ContainerRecord) -> bool {
    let waits = match &container.state {
        StateRecord::Waiting { reason, .. } => **reason == *CRASH_LOOP,
        StateRecord::Terminated(termination) => {
            let is_restarted = container.policy != RestartPolicy::Never && container.restarts >= MIN_RESTARTS;
            container.is_main && termination.exit_code != 0 && is_restarted
        }
        _ => false,
    };
    waits && !(container.is_main && ran_out_of_memory(container))
}

fn ran_out_of_memory(container: &ContainerRecord) -> bool {
    container.last_termination().is_some_and(TerminationRecord::is_out_of_memory)
}
