//! Pods with a node whose containers do not start: a volume, a network, an init container, or an image that takes long.

use jiff::{SignedDuration, Timestamp};

use super::node::silence;
use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::mesh::unready_proxy;
use crate::diagnosis::snapshot::container::{ContainerRecord, StateRecord};
use crate::diagnosis::snapshot::event::EventRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::lifecycle::PodPhase;
use crate::pod::ContainerKind;

/// Time within which volumes are normally attached and networks set up, after errors.
const GRACE: SignedDuration = SignedDuration::from_mins(5);
/// Time that the pull of a large image or an init container may need.
const LONG: SignedDuration = SignedDuration::from_mins(15);
/// Age of an event from which the kubelet has probably succeeded: it tries again every two minutes.
const RECENT: SignedDuration = SignedDuration::from_mins(10);
/// Reasons of the events of the kubelet and the volume controllers about a pod that cannot start.
const FAILURES: [&str; 6] = [
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedMapVolume",
    "FailedMount",
    "FailedPrepareDynamicResources",
    "NetworkNotReady",
];

/// Reasons of the events of the kubelet about a pod whose volumes and network are complete.
const PROGRESS: [&str; 4] = ["Pulling", "Pulled", "Created", "Started"];

/// Fix for containers that run, of which the main containers wait for one.
const LOG_FIX: &str = "read the log of the container in the evidence: kubectl logs -c CONTAINER";
/// Fix for pods without an error and without a container that runs.
const PULL_FIX: &str = "\
    check the events of the pod: kubectl describe pod; a large image may still be pulled; without events, check the kubelet and the \
    container runtime of the node";

/// A pod that does not start.
struct Stalled<'a> {
    pod: &'a PodRecord,
    /// The newest event about an error, unless the pod has advanced since.
    failure: Option<&'a EventRecord>,
}

/// Reports pods that have a node and no main container that has ever started.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let stalled: Vec<Stalled<'_>> = job.active().filter_map(|pod| Stalled::new(pod, context)).collect();
    if stalled.is_empty() {
        return;
    }
    let pods: Vec<&PodRecord> = stalled.iter().map(|stalled| stalled.pod).collect();
    let failures = || stalled.iter().filter_map(|stalled| stalled.failure).map(event_evidence);
    let has_failed = failures().next().is_some();
    let recovery = if has_failed { Recovery::StartRetried } else { Recovery::StartTakesLong };
    let has = verb(pods.len(), "has", "have");
    let message = format!("{} {has} a node and {has} not started{}", pod_names(&pods), job.waiting_peers(&pods));
    // Peers of a pod that replaces another one have worked before.
    let since = pods.iter().filter_map(|pod| pod.created).min();
    let states: Vec<Evidence> = stalled.iter().filter_map(Stalled::evidence).collect();
    let is_waiting = |state: &Evidence| state.field.ends_with("state.waiting");
    let (all_wait, none_waits) = (states.iter().all(is_waiting), !states.iter().any(is_waiting));
    let mut diagnosis = Diagnosis::new(DiagnosisCode::PodNotStarting, job.workload_name(), recovery, &message)
        .with_evidence(failures().chain(states))
        .with_waste(job.waste(&pods, since, context.now));
    if !has_failed {
        diagnosis.finding.severity = Severity::Warning;
        diagnosis = match (all_wait, none_waits) {
            (true, _) => diagnosis.with_fix(PULL_FIX),
            (false, true) => diagnosis.with_fix(LOG_FIX),
            (false, false) => diagnosis,
        };
    }
    found.push(diagnosis);
}

impl<'a> Stalled<'a> {
    fn new(pod: &'a PodRecord, context: &'a Context<'_>) -> Option<Self> {
        let progress = context.newest_pod_event(pod, &PROGRESS);
        let is_over = |failure: &EventRecord| {
            is_older(failure.last, RECENT, context.now)
                || has_run(pod)
                || progress.is_some_and(|progress| progress.last >= failure.last)
        };
        let failure = context.newest_pod_event(pod, &FAILURES).filter(|failure| !is_over(failure));
        let limit = if failure.is_some() { GRACE } else { LONG };
        let is_stalled = is_starting(pod, context.now) && is_older(pod.held_since(), limit, context.now);
        (is_stalled && silence(pod, context).is_none()).then_some(Self { pod, failure })
    }

    /// Returns the init container that runs, the sidecar that is not ready, or the state of the main container.
    fn evidence(&self) -> Option<Evidence> {
        let pod = self.pod;
        let init =
            pod.containers.iter().find(|container| container.kind == ContainerKind::Init && container.is_running());
        if let Some(init) = init {
            let field = init.status_field("state.running");
            return Some(Evidence::new(pod.title(), field, "has not completed", init.running_since()));
        }
        let unready = |container: &&ContainerRecord| container.is_running() && !container.is_main && !container.ready;
        if let Some(sidecar) = pod.containers.iter().find(unready) {
            return Some(Evidence::new(pod.title(), sidecar.status_field("ready"), "false", sidecar.running_since()));
        }
        let (container, reason, _) = pod.waiting().find(|(container, ..)| container.is_main)?;
        Some(Evidence::new(pod.title(), container.status_field("state.waiting"), reason, pod.held_since()))
    }
}

/// Returns true if a container, such as an init container, runs or has terminated, so that volumes and network are complete.
fn has_run(pod: &PodRecord) -> bool {
    pod.containers.iter().any(|container| container.is_running() || container.last_termination().is_some())
}

/// Returns true if no main container of a pod has ever started, for no cause that another finding reports: an image, the
/// configuration, a crash, a master that has no address, or a proxy. An init container that runs for [`LONG`] after a crash crashes
/// no more.
fn is_starting(pod: &PodRecord, now: Timestamp) -> bool {
    let is_explained = |container: &ContainerRecord| {
        let has_failed = container.last_termination().is_some_and(|termination| termination.exit_code != 0);
        let is_stuck = matches!(container.state, StateRecord::Waiting { .. }) && container.starting_reason().is_none();
        let is_recovered = is_older(container.running_since(), LONG, now);
        has_failed && !is_recovered || is_stuck || container.is_running() && container.waits_for_master()
    };
    let is_pending = pod.phase == PodPhase::Pending && pod.deleted.is_none() && pod.main().next().is_some();
    let is_starting = is_pending && pod.main().all(ContainerRecord::is_about_to_start);
    is_starting && unready_proxy(pod).is_none() && !pod.containers.iter().any(is_explained)
}
