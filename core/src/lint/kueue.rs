//! FP029: adapters and the quota of Kueue.

use super::JobContext;
use super::context::CheckContext;
use super::sink::FindingSink;
use crate::accounting::{Counted, added_requests};
use crate::finding::Severity;
use crate::keys::KUEUE_QUEUE;
use crate::pod::Container;

/// Label that Kueue sets on the pods of a job whose template it admitted.
const POD_SET: &str = "kueue.x-k8s.io/podset";
/// Label that Kueue sets on pods that it admits individually, after admission webhooks have changed them.
const MANAGED: &str = "kueue.x-k8s.io/managed";
/// How to fix a profile whose adapters Kueue counts.
const FIX_FOR_PODS: &str =
    "list the adapter in coveredResources of the ClusterQueue, or in Kueue's resources.excludeResourcePrefixes";

/// Returns what Kueue counts for the pod; `None` if no queue is known.
fn counted(context: &CheckContext<'_>) -> Option<Counted> {
    let has_label = |key: &str| context.input.pod.label(key).is_some_and(|value| !value.is_empty());
    if has_label(MANAGED) {
        return None;
    }
    let of_workload = context.input.job.and_then(JobContext::queue).map(|queue| queue.counts);
    let by_pod_set = || has_label(POD_SET).then_some(Counted::Templates);
    of_workload.or_else(by_pod_set).or_else(|| has_label(KUEUE_QUEUE).then_some(Counted::Pods))
}

/// FP029: the profile adds an adapter, which Kueue does not count, or which its quota must cover.
pub(super) fn adapter_outside_quota(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(counted) = counted(context) else { return };
    let originals: Vec<Container<'_>> = context.input.original.containers().collect();
    for container in &context.containers {
        let added = added_requests(&originals, container.spec);
        let is_added = |adapter: &str| added.iter().any(|(name, _)| name == adapter);
        let Some((adapter, _)) = container.adapters.iter().find(|(adapter, _)| is_added(adapter)) else { continue };
        let (field, name) = (container.pointer("/resources/limits"), container.display_name());
        match counted {
            Counted::Templates => findings.push(field, format!("{name}: {adapter} is not counted by Kueue")),
            Counted::Pods => {
                let message = format!("{name}: Kueue counts {adapter}, which its ClusterQueue must cover");
                findings.push_with_fix(Severity::Info, field, message, FIX_FOR_PODS);
            }
        }
    }
}
