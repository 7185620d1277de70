//! Pods on nodes that left or do not report.

use jiff::{SignedDuration, Timestamp};

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, is_older, pod_names, verb};
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;

/// Time for which a node may be silent: a restart of the kubelet takes less.
const SILENCE: SignedDuration = SignedDuration::from_mins(1);
/// Time for which a node may be silent until its pods are evicted: 5 minutes by default, and the node controller limits its rate.
const EVICTION: SignedDuration = SignedDuration::from_mins(10);
/// Time after the grace period within which the kubelet confirms a deletion.
const CONFIRMATION: SignedDuration = SignedDuration::from_mins(2);

/// Reasons of the events of the node controllers about a node or its pods, each later than the one before.
const DEPARTURES: [&str; 3] = ["NodeNotReady", "DeletingNode", "RemovingNode"];
/// Reason of the events of the kubelet about a pod whose containers it cannot end.
const FAILURE: &str = "FailedKillPod";
/// Fix for pods that only the kubelet keeps.
const KUBELET_FIX: &str = "\
    no finalizer holds the pod, but the kubelet cannot end its processes: on the node, look at the log of the kubelet, and \
    with dmesg and ps for a process in state D (driver, file system); if it remains, reboot the node";

/// Reports pods on silent or missing nodes, and pods whose deletion does not end.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let terminating: Vec<&PodRecord> =
        job.pods.iter().copied().filter(|pod| is_older(pod.deleted, CONFIRMATION, context.now)).collect();
    if !terminating.is_empty() {
        found.push(stuck(job, context, &terminating));
    }
    let lost: Vec<(&PodRecord, Evidence)> = job
        .active()
        .filter(|pod| !is_older(pod.deleted, CONFIRMATION, context.now))
        .filter_map(|pod| Some((pod, silence(pod, context)?)))
        .collect();
    if lost.is_empty() {
        return;
    }
    let pods: Vec<&PodRecord> = lost.iter().map(|(pod, _)| *pod).collect();
    let since: Option<Timestamp> = lost.iter().filter_map(|(_, evidence)| evidence.time).min();
    let are_lost =
        verb(pods.len(), "is on a node that left or does not report", "are on nodes that left or do not report");
    let message = format!("{} {are_lost}{}", pod_names(&pods), job.waiting_peers(&pods));
    let code = DiagnosisCode::NodeNotReporting;
    let is_overdue = |(pod, evidence): &(&PodRecord, Evidence)| {
        pod.deleted.is_none() && is_older(evidence.time, EVICTION, context.now)
    };
    let recovery = if job.runs_without(&pods) {
        Recovery::NodeShrinks
    } else if lost.iter().any(is_overdue) {
        Recovery::EvictionOverdue
    } else {
        Recovery::NodeSilent
    };
    found.push(
        Diagnosis::new(code, job.workload_name(), recovery, &message)
            .with_evidence(lost.into_iter().map(|(_, evidence)| evidence))
            // Without the time at which the node left, all of the job would count as lost.
            .with_waste(since.and_then(|since| job.waste(&pods, Some(since), context.now))),
    );
}

/// Returns the evidence that the node of `pod` left or does not report.
pub(super) fn silence(pod: &PodRecord, context: &Context<'_>) -> Option<Evidence> {
    let node = pod.node.as_deref()?;
    if context.is_node_gone(node) {
        let value = format!("{node}, which does not exist");
        return Some(Evidence::new(pod.title(), "spec.nodeName", &value, departure(pod, node, context)));
    }
    let ready = context.node(node)?.ready().filter(|ready| !ready.is_true())?;
    is_older(ready.since, SILENCE, context.now)
        .then(|| Evidence::new(format!("Node {node}"), "status.conditions[Ready]", &ready.summary(), ready.since))
}

/// Returns the time at which a node that does not exist left, or stopped to report before: by the condition of `pod`, which has been
/// ready, or else by the events. `None` if it is not known.
fn departure(pod: &PodRecord, node: &str, context: &Context<'_>) -> Option<Timestamp> {
    let started = pod.main().filter_map(ContainerRecord::running_since).max();
    let unready = pod.condition("Ready").filter(|ready| !ready.is_true()).and_then(|ready| ready.since);
    unready.filter(|since| started.is_some_and(|started| *since > started)).or_else(|| {
        let events = || context.node_events(node).iter().chain(context.pod_events(pod));
        let newest =
            |reason: &str| events().filter(|event| &*event.reason == reason).filter_map(|event| event.last).max();
        DEPARTURES.iter().find_map(|reason| newest(reason)).filter(|left| Some(*left) >= pod.created)
    })
}

fn stuck(job: &Job<'_>, context: &Context<'_>, terminating: &[&PodRecord]) -> Diagnosis {
    let silent = terminating.iter().filter_map(|pod| silence(pod, context)).collect::<Vec<_>>();
    let finalizers = terminating
        .iter()
        .filter(|pod| !pod.finalizers.is_empty())
        .map(|pod| Evidence::new(pod.title(), "metadata.finalizers", &pod.finalizers.join(", "), None));
    let deletions = terminating.iter().map(|pod| {
        Evidence::new(pod.title(), "metadata.deletionTimestamp", "the end of the grace period", pod.deleted)
    });
    let is_silent = !silent.is_empty();
    let is_held = terminating.iter().any(|pod| !pod.finalizers.is_empty());
    let recovery = match (is_silent, is_held) {
        (true, _) => Recovery::DeletionStuck,
        (false, true) => Recovery::FinalizerHeld,
        (false, false) => Recovery::DeletionRetried,
    };
    let failures = terminating.iter().filter_map(|pod| context.newest_pod_event(pod, &[FAILURE]).map(event_evidence));
    let message = format!("the deletion of {} does not end{}", pod_names(terminating), job.waiting_peers(terminating));
    let code = DiagnosisCode::PodStuckTerminating;
    let since = terminating.iter().filter_map(|pod| pod.deleted).min();
    let mut diagnosis = Diagnosis::new(code, job.workload_name(), recovery, &message)
        .with_evidence(silent.into_iter().chain(finalizers).chain(failures).chain(deletions))
        .with_waste(job.waste(terminating, since, context.now));
    if !is_silent {
        // A controller may still remove its finalizer, and the kubelet end the processes.
        diagnosis.finding.severity = Severity::Warning;
    }
    if recovery == Recovery::DeletionRetried {
        diagnosis = diagnosis.with_fix(KUBELET_FIX);
    }
    diagnosis
}
