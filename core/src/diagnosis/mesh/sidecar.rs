//! Sidecars that run although the main containers have finished.

use jiff::{SignedDuration, Timestamp};

use super::active;
use crate::diagnosis::context::{Context, termination_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names};
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::snapshot::usage::Management;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::{self, BlockedReason, BlockedSidecar, Completion, PodPhase, ProxyOverview};

/// Time after completion within which the controller terminates sidecars, with all of its retries.
const TERMINATION: SignedDuration = SignedDuration::from_mins(1);

/// Fix for pods that a label excludes: neither the controller nor `sweep` changes them.
const EXCLUDED_FIX: &str = "\
    the label trainmesh.dev/inject=disabled excludes the pod: remove it from the pod template, and from this pod with kubectl label pod \
    POD trainmesh.dev/inject-; then: trainmesh sweep --apply";
/// The same for pods with Istio's proxy.
const EXCLUDED_PROXY_FIX: &str = "\
    the label trainmesh.dev/inject=disabled excludes the pod: remove it from the pod template, or set the label \
    sidecar.istio.io/inject: \"false\" there; for this pod, kubectl label pod POD trainmesh.dev/inject-, then trainmesh sweep --apply";
/// Fix for sidecars that are terminated by a port-forward, which is disabled by default.
const FORWARD_FIX: &str = "\
    set termination.portForward: true in trainmesh's configuration, install its controller and label the namespace; some \
    containers also need a flag, an annotation or another image: docs/termination.md#sidecar-containers; or make the container \
    a native sidecar: in initContainers, with restartPolicy: Always";
/// Fix for sidecars that trainmesh cannot terminate.
const BLOCKED_FIX: &str = "\
    trainmesh cannot terminate the container, for the reason in the evidence: make it a native sidecar (in \
    initContainers, with restartPolicy: Always), or add an entry for it to termination.helpers";
/// Fix for a sidecar whose image lacks the command of its method.
const IMAGE_FIX: &str = "\
    trainmesh terminates the container by kill, which its image does not contain, unless termination.helpers has another method for it: use \
    the image with the same tag and -debug, or make the container a native sidecar (in initContainers, with restartPolicy: Always), and \
    delete this pod once its results are saved";
/// Fix for pods with hostNetwork, which neither the controller nor `sweep` changes.
const HOST_NETWORK_FIX: &str = "\
    trainmesh leaves pods with hostNetwork alone: make the container a native sidecar in the pod template (in initContainers, with \
    restartPolicy: Always), and delete this pod once its results are saved";
/// Fix for pods whose annotation names containers that they do not have.
const ANNOTATION_FIX: &str = "\
    correct the annotation trainmesh.dev/payload-containers, which names main containers, in the pod template, and in this pod with \
    kubectl annotate --overwrite: until then, trainmesh terminates nothing";
/// Fix for pods of which the controller should have terminated the sidecar.
const ENABLED_FIX: &str = "\
    the controller of trainmesh should have terminated it: check the events of the pod (ProxyEndFailed), and the \
    controller with trainmesh doctor; until then: trainmesh sweep --apply";

/// Fix for pods that the controller does not watch, because they have neither its label nor a proxy.
const MISSED_FIX: &str = "\
    the controller of trainmesh does not watch the pod, because the webhook has not labeled it: trainmesh sweep --apply; for the next \
    pods, check the webhook with trainmesh doctor. Pods that are older than the label of the namespace are never labeled";
/// Fix for pods in a namespace in which the controller does not act, although it may have been enabled before.
const DISABLED_FIX: &str = "\
    the controller of trainmesh terminates sidecars only in namespaces with the label trainmesh.dev/inject=enabled, which this \
    one lacks: label it and install the controller, or use trainmesh sweep --apply";

/// Reports pods that only their sidecars keep from completing.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>) -> Option<Diagnosis> {
    let outlived = active(job, |pod| outlives_main(pod, context.now));
    if outlived.is_empty() {
        return None;
    }
    let since = outlived.iter().filter_map(|pod| completed_at(pod)).min();
    // The commands of the fix name the first pod of the evidence.
    let mut shown = outlived.clone();
    shown.sort_by_key(|pod| pod.usage.management != Management::Excluded);
    let mut sidecars = shown.iter().map(|pod| {
        let names: Vec<String> = pod.running_sidecars.iter().map(|name| description(pod, name)).collect();
        Evidence::new(pod.title(), "status.containerStatuses: running", &names.join(", "), completed_at(pod))
    });
    let blocked = || outlived.iter().flat_map(|pod| &pod.blocked_sidecars);
    let is_enabled = context.namespace(job.namespace).map(|namespace| namespace.is_enabled);
    let is_missed = is_enabled == Some(true) && outlived.iter().all(|pod| is_unwatched(pod));
    let has_no_kill = outlived.iter().any(|pod| pod.running_sidecars.iter().any(|name| lacks_kill(pod, name)));
    let recovery = if blocked().next().is_some() || has_no_kill {
        Recovery::SidecarBlocked
    } else if is_missed {
        Recovery::SidecarMissed
    } else {
        Recovery::SidecarRuns
    };
    let failure = first_failure(&outlived);
    let failed = failure.map(|(pod, _, ended)| {
        format!("; {} failed with {}: read its log before the pod is gone", pod.short_name(), ended.summary())
    });
    let failed = failed.unwrap_or_default();
    let message = format!("sidecars of {} run after the main containers have finished{failed}", pod_names(&outlived));
    let end = failure.map(|(pod, container, ended)| termination_evidence(pod, container, ended));
    let diagnosis = Diagnosis::new(DiagnosisCode::SidecarOutlivesMain, job.workload_name(), recovery, &message)
        .with_evidence(sidecars.by_ref().take(1))
        .with_evidence(end)
        .with_evidence(sidecars)
        .with_waste(Job::held_by(&outlived, since, context.now));
    let is_managed = || outlived.iter().any(|pod| pod.usage.management == Management::Managed);
    let mut excluded = outlived.iter().filter(|pod| pod.usage.management == Management::Excluded).peekable();
    Some(if excluded.peek().is_some() {
        let has_proxy = excluded.any(|pod| pod.proxy != ProxyOverview::Absent);
        diagnosis.with_fix(if has_proxy { EXCLUDED_PROXY_FIX } else { EXCLUDED_FIX })
    } else if blocked().any(|sidecar| sidecar.reason == BlockedReason::PortForwardDisabled) {
        diagnosis.with_fix(FORWARD_FIX)
    } else if blocked().any(|sidecar| sidecar.reason == BlockedReason::HostNetwork) {
        diagnosis.with_fix(HOST_NETWORK_FIX)
    } else if blocked().any(|sidecar| matches!(sidecar.reason, BlockedReason::MainUnknown(_))) {
        diagnosis.with_fix(ANNOTATION_FIX)
    } else if blocked().next().is_some() {
        diagnosis.with_fix(BLOCKED_FIX)
    } else if has_no_kill {
        diagnosis.with_fix(IMAGE_FIX)
    } else if is_enabled == Some(false) {
        diagnosis.with_fix(DISABLED_FIX)
    } else if is_missed {
        diagnosis.with_fix(MISSED_FIX)
    } else if is_enabled == Some(true) || is_managed() {
        diagnosis.with_fix(ENABLED_FIX)
    } else {
        diagnosis
    })
}

/// Returns the main container that failed first: the cause of the others, and of their end.
fn first_failure<'a>(pods: &[&'a PodRecord]) -> Option<(&'a PodRecord, &'a ContainerRecord, &'a TerminationRecord)> {
    let ends_of = |pod: &'a PodRecord| pod.main().filter_map(move |main| Some((pod, main, main.last_termination()?)));
    let ends = pods.iter().copied().flat_map(ends_of);
    let failures = ends.filter(|(.., ended)| ended.exit_code != 0);
    failures.min_by_key(|(.., ended)| (ended.finished.is_none(), ended.finished))
}

/// Returns true if the controller does not watch a pod, whatever its namespace: it watches those with a proxy, and those that the
/// webhook has labeled.
fn is_unwatched(pod: &PodRecord) -> bool {
    pod.usage.management == Management::Absent && pod.proxy == ProxyOverview::Absent
}

/// Returns the name of a sidecar, and why trainmesh does not terminate it.
fn description(pod: &PodRecord, name: &str) -> String {
    match pod.blocked_sidecars.iter().find(|sidecar| *sidecar.name == *name) {
        None if lacks_kill(pod, name) => format!("{name} (its image contains no kill)"),
        None => name.to_owned(),
        Some(BlockedSidecar { reason: BlockedReason::PortForwardDisabled, .. }) => {
            format!("{name} (needs termination.portForward: true)")
        }
        Some(BlockedSidecar { reason, .. }) => format!("{name} ({reason})"),
    }
}

/// Returns true if the image of a sidecar lacks the command by which trainmesh terminates it.
fn lacks_kill(pod: &PodRecord, name: &str) -> bool {
    pod.containers.iter().any(|container| *container.name == *name && lifecycle::lacks_kill(name, &container.image))
}

fn outlives_main(pod: &PodRecord, now: Timestamp) -> bool {
    pod.phase == PodPhase::Running && !pod.running_sidecars.is_empty() && is_older(completed_at(pod), TERMINATION, now)
}

fn completed_at(pod: &PodRecord) -> Option<Timestamp> {
    if let Completion::Completed(at) = pod.completion { at } else { None }
}
