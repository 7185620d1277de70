//! Mode `kueue`: pods get no keys. Kueue's groups of plain pods deadlock with operators that reuse the names of pods, so
//! that Kueue must manage the job.

use super::super::RuleDecision;
use crate::gang::{Creator, kueue_integration};
use crate::keys::{DEFAULT_QUEUE, KUEUE_QUEUE};
use crate::mutate::Reason;
use crate::workload::PodIdentity;

/// Kinds whose objects another object may create, with what applies then: the label of a queue belongs to that object.
const CREATED: [(&str, &str); 2] =
    [("RayCluster", "for a RayJob, ray.io/rayjob"), ("JobSet", "for a TrainJob, trainer.kubeflow.org/trainjob")];

/// Skips a pod whose job is in a queue: when Kueue admits the job, it adds its own keys to the pods.
pub(super) fn leave_queued() -> RuleDecision {
    RuleDecision::skipped(Reason::GangKeyPresent).with_detail(format!("label {KUEUE_QUEUE} of the job"))
}

/// Skips a pod that Kueue has not admitted, and names the integration by which it would admit the job. `creator` is that of a job
/// that has not been created yet: if it names a queue, or the namespace has a default one, Kueue can admit it.
pub(super) fn decide(member: PodIdentity<'_>, creator: Option<Creator<'_>>) -> RuleDecision {
    let kind = member.kind;
    let decision = RuleDecision::skipped(Reason::GangLeftToKueue);
    let of_creator = creator.and_then(|creator| kueue_integration(creator.group, creator.kind));
    let Some(integration) = of_creator.or_else(|| kueue_integration(kind.group, kind.kind)) else {
        let warning = format!("gang kueue: Kueue has no integration for {}", kind.kind);
        return decision.with_detail(format!("it has no integration for {}", kind.kind)).with_warning(warning);
    };
    let default_queue = |creator: Creator<'_>| creator.has_default_queue.then_some(DEFAULT_QUEUE);
    if let Some(queue) = creator.and_then(|creator| creator.queue.or_else(|| default_queue(creator))) {
        return decision.with_detail(format!("queue {queue}: Kueue needs its integration {integration}"));
    }
    // Without the manifest, the object that created the workload is unknown.
    let created = CREATED.iter().find(|(created, _)| *created == kind.kind && of_creator.is_none());
    let exception = created.map(|(_, exception)| format!(" ({exception})")).unwrap_or_default();
    let warning = format!(
        "gang kueue: Kueue does not manage the pod: label the job with a queue, and enable {integration}{exception}"
    );
    decision
        .with_detail(format!("enable its integration {integration}{exception}, and label the job {KUEUE_QUEUE}"))
        .with_warning(warning)
}
