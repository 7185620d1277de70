//! Mode `kueue`: pods get no keys. Kueue's groups of plain pods deadlock with operators that reuse the names of pods, so
//! that Kueue must manage the job.

use super::super::RuleDecision;
use crate::gang::{NamedQueue, kueue_integration};
use crate::keys::KUEUE_QUEUE;
use crate::mutate::Reason;
use crate::workload::PodIdentity;

/// Kinds whose objects another object may create, with what applies then: the label of a queue belongs to that object.
const CREATED: [(&str, &str); 2] =
    [("RayCluster", "for a RayJob, ray.io/rayjob"), ("JobSet", "for a TrainJob, trainer.kubeflow.org/trainjob")];

/// Skips a pod whose job is in a queue: when Kueue admits the job, it adds its own keys to the pods.
pub(super) fn leave_queued() -> RuleDecision {
    RuleDecision::skipped(Reason::GangKeyPresent).with_detail(format!("label {KUEUE_QUEUE} of the job"))
}

/// Skips a pod that Kueue has not admitted, and names the integration by which it would admit the job. `queue` is that of a job
/// that has not been created yet, which Kueue can admit.
pub(super) fn decide(member: PodIdentity<'_>, queue: Option<NamedQueue<'_>>) -> RuleDecision {
    let kind = member.kind;
    let decision = RuleDecision::skipped(Reason::GangLeftToKueue);
    let of_queue = queue.and_then(|queue| kueue_integration(queue.group, queue.kind));
    let Some(integration) = of_queue.or_else(|| kueue_integration(kind.group, kind.kind)) else {
        let warning = format!("gang kueue: Kueue has no integration for {}", kind.kind);
        return decision.with_detail(format!("it has no integration for {}", kind.kind)).with_warning(warning);
    };
    if let Some(queue) = queue {
        return decision.with_detail(format!("queue {}: Kueue needs its integration {integration}", queue.name));
    }
    let created = CREATED.iter().find(|(created, _)| *created == kind.kind);
    let exception = created.map(|(_, exception)| format!(" ({exception})")).unwrap_or_default();
    let warning =
        format!("gang kueue: Kueue does not manage the pod: label the job with a queue, and enable {integration}");
    decision
        .with_detail(format!("enable its integration {integration}{exception}, and label the job {KUEUE_QUEUE}"))
        .with_warning(warning)
}
