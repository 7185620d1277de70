//! FP029: adapters and the quota of Kueue.

use super::context::CheckContext;
use super::quota_unit::QuotaUnit;
use super::sink::FindingSink;
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

/// Returns the unit that Kueue counts for the pod; `None` if no queue is known.
fn quota_unit(context: &CheckContext<'_>) -> Option<QuotaUnit> {
    let has_label = |key: &str| context.input.pod.label(key).is_some_and(|value| !value.is_empty());
    if has_label(MANAGED) {
        return None;
    }
    let of_workload = context.input.job.and_then(|job| job.queued);
    let by_pod_set = || has_label(POD_SET).then_some(QuotaUnit::Template);
    of_workload.or_else(by_pod_set).or_else(|| has_label(KUEUE_QUEUE).then_some(QuotaUnit::Pod))
}

/// FP029: the profile adds an adapter, which Kueue does not count, or which its quota must cover.
pub(super) fn adapter_outside_quota(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let Some(unit) = quota_unit(context) else { return };
    let originals: Vec<Container<'_>> = context.input.original.containers().collect();
    for container in &context.containers {
        let original = originals
            .iter()
            .find(|original| (original.kind, original.name()) == (container.spec.kind, container.spec.name()));
        let requested_before = |adapter: &str| {
            let resources = original.and_then(|original| original.raw().get("resources"));
            ["limits", "requests"]
                .iter()
                .any(|kind| resources.and_then(|resources| resources.get(kind)?.get(adapter)).is_some())
        };
        let Some((adapter, _)) = container.adapters.iter().find(|(adapter, _)| !requested_before(adapter)) else {
            continue;
        };
        let (field, name) = (container.pointer("/resources/limits"), container.display_name());
        match unit {
            QuotaUnit::Template => findings.push(field, format!("{name}: {adapter} is not counted by Kueue")),
            QuotaUnit::Pod => {
                let message = format!("{name}: Kueue counts {adapter}, which its ClusterQueue must cover");
                findings.push_with_fix(Severity::Info, field, message, FIX_FOR_PODS);
            }
        }
    }
}
