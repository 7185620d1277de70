//! Processes that the kernel killed inside containers that live on.

use jiff::{SignedDuration, Timestamp};

use crate::diagnosis::context::{Context, event_evidence};
use crate::diagnosis::job::{Job, pod_names};
use crate::diagnosis::snapshot::container::ContainerRecord;
use crate::diagnosis::snapshot::event::EventRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Reasons of node-problem-detector and of the kubelet for a process that the kernel killed.
const REASONS: [&str; 2] = ["OOMKilling", "SystemOOM"];
/// Time between the event and the termination of the container that explains it.
const SAME_KILL: SignedDuration = SignedDuration::from_mins(1);

/// Reports kills on the nodes of running ranks that no termination of a container explains.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let mut pods = Vec::new();
    let mut events = Vec::new();
    for pod in job.active().filter(|pod| pod.is_rank() && pod.is_running()) {
        let Some(node) = pod.node.as_deref() else { continue };
        let started = pod.main().filter_map(ContainerRecord::running_since).max();
        let concerns = |event: &&&EventRecord| {
            let is_later = event.last.zip(started).is_some_and(|(at, started)| at > started);
            REASONS.contains(&&*event.reason)
                && is_later
                && names_pod(event, pod)
                && !is_explained(event, node, context)
        };
        let Some(event) = context.node_events(node).iter().find(concerns) else { continue };
        pods.push(pod);
        events.push(*event);
    }
    if pods.is_empty() {
        return;
    }
    let message =
        format!("the kernel killed a process on the node of {}, whose containers still run", pod_names(&pods));
    let code = DiagnosisCode::ProcessKilled;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::ProcessKilled, &message);
    let nodes =
        pods.iter().filter_map(|pod| Some(Evidence::new(pod.title(), "spec.nodeName", pod.node.as_deref()?, None)));
    found.push(diagnosis.with_evidence(events.into_iter().map(event_evidence)).with_evidence(nodes));
}

/// Returns false if the message names the cgroup of another pod: it contains the UID of a pod, in some drivers with
/// underscores.
fn names_pod(event: &EventRecord, pod: &PodRecord) -> bool {
    let names_cgroup = event.message.contains("kubepods");
    !names_cgroup || event.message.contains(&*pod.uid) || event.message.contains(&pod.uid.replace('-', "_"))
}

/// Returns true if a container of the node was killed at the time of the event.
fn is_explained(event: &EventRecord, node: &str, context: &Context<'_>) -> bool {
    let Some(at) = event.last else { return false };
    let near = |finished: Timestamp| finished.duration_since(at).abs() <= SAME_KILL;
    let pods = context.pods_of_node(node).iter();
    let mut terminations = pods.flat_map(|pod| &pod.containers).filter_map(ContainerRecord::last_termination);
    terminations.any(|termination| termination.is_out_of_memory() && termination.finished.is_some_and(near))
}
