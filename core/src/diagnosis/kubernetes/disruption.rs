//! Pods that were evicted, or rejected by the kubelet of their node.

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, pod_names, verb};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::lifecycle::PodPhase;

/// Condition of Kubernetes for a pod that is about to be terminated by a disruption.
const DISRUPTION: &str = "DisruptionTarget";
/// Reasons of the kubelet for a pod that it does not admit. It has others, with which no container has started.
const REJECTIONS: [&str; 4] = ["UnexpectedAdmissionError", "NodeAffinity", "NodeShutdown", "Preempting"];
/// Start of the kubelet's reasons for a node without enough of a resource.
const OUT_OF: &str = "OutOf";
/// Reason of a pod that exceeded `activeDeadlineSeconds`, possibly before a container started.
const DEADLINE: &str = "DeadlineExceeded";
/// Reason of the kubelet for a pod that it evicts, and for one that it does not admit because its node lacks memory or disk.
const EVICTED: &str = "Evicted";

/// Reason of the condition for a pod that the kubelet terminates: its node shuts down, or lacks memory or disk.
const BY_KUBELET: &str = "TerminationByKubelet";
/// Fix for these pods, for which no priority matters.
pub(super) const SHUTDOWN_FIX: &str = "\
    read the message: for a node that is shut down, such as a spot instance, write checkpoints often, or use nodes that are not \
    reclaimed; for one that lacks memory or disk, set requests and limits of these";
/// Fix for a pod that a node without memory or disk did not admit.
const EVICTED_FIX: &str = "\
    read the message: free the resource on the node, and set requests and limits of memory and ephemeral-storage, so that the scheduler \
    counts them; delete the pod";

/// Reports evicted and rejected pods that no newer pod replaces.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let disrupted = job.not_replaced(|pod| disruption(pod).is_some() && pod.phase != PodPhase::Succeeded);
    if !disrupted.is_empty() {
        let evidence = disrupted.iter().filter_map(|pod| {
            let (value, time) = disruption(pod)?;
            Some(Evidence::new(pod.title(), format!("status.conditions[{DISRUPTION}]"), &value, time))
        });
        let were = verb(disrupted.len(), "was", "were");
        let message = format!("{} {were} evicted{}", pod_names(&disrupted), job.waiting_peers(&disrupted));
        let diagnosis = report(DiagnosisCode::PodDisrupted, job, context, &disrupted, &message).with_evidence(evidence);
        let is_shutdown = |pod: &&PodRecord| {
            let condition = pod.condition(DISRUPTION);
            condition.is_some_and(|condition| condition.reason.as_deref() == Some(BY_KUBELET))
        };
        let has_shut_down = disrupted.iter().all(is_shutdown);
        found.push(diagnosis.with_fix(has_shut_down.then_some(SHUTDOWN_FIX)));
    }
    let rejected = job.not_replaced(is_rejected);
    if !rejected.is_empty() {
        let evidence = rejected
            .iter()
            .filter_map(|pod| Some(Evidence::new(pod.title(), "status.reason", &pod.status_summary()?, pod.created)));
        let were = verb(rejected.len(), "was", "were");
        let node = rejected.iter().find_map(|pod| pod.node.as_deref()).unwrap_or("their node");
        let peers = job.waiting_peers(&rejected);
        let is_evicted = |pod: &&PodRecord| pod.reason.as_deref() == Some(EVICTED);
        let are_evicted = rejected.iter().all(is_evicted);
        let action = if are_evicted { "evicted" } else { "rejected" };
        let message = format!("{} {were} {action} by the kubelet of {node}{peers}", pod_names(&rejected));
        let diagnosis =
            report(DiagnosisCode::RejectedByNode, job, context, &rejected, &message).with_evidence(evidence);
        found.push(diagnosis.with_fix(are_evicted.then_some(EVICTED_FIX)));
    }
}

fn report(code: DiagnosisCode, job: &Job<'_>, context: &Context<'_>, pods: &[&PodRecord], message: &str) -> Diagnosis {
    let is_owned = pods.iter().all(|pod| pod.owner.is_some());
    let recovery = if is_owned { Recovery::DisruptedOwned } else { Recovery::DisruptedBare };
    let since = pods.iter().filter_map(|pod| disruption(pod).and_then(|(_, time)| time)).min();
    Diagnosis::new(code, job.workload_name(), recovery, message).with_waste(job.waste(pods, since, context.now))
}

fn disruption(pod: &PodRecord) -> Option<(String, Option<jiff::Timestamp>)> {
    let condition = pod.condition(DISRUPTION).filter(|condition| condition.is_true())?;
    Some((condition.summary(), condition.since))
}

fn is_rejected(pod: &PodRecord) -> bool {
    let reason = pod.reason.as_deref().unwrap_or_default();
    let is_known = REJECTIONS.contains(&reason) || reason.starts_with(OUT_OF);
    let has_started =
        || pod.containers.iter().any(|container| container.is_running() || container.last_termination().is_some());
    let is_other = !reason.is_empty() && reason != DEADLINE && pod.is_scheduled() && disruption(pod).is_none();
    pod.phase == PodPhase::Failed && (is_known || is_other && !has_started())
}
