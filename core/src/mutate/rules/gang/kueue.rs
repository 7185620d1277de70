//! Mode `kueue`: pods get no keys. Kueue's groups of plain pods deadlock with operators that reuse the names of pods, so
//! that Kueue must manage the job.

use super::super::RuleDecision;
use crate::keys::KUEUE_QUEUE;
use crate::mutate::Reason;
use crate::workload::PodIdentity;

/// Entries of `integrations.frameworks` in Kueue's configuration, by API group and kind (kubernetes-sigs/kueue 0.19,
/// `apis/config/v1beta2`).
const INTEGRATIONS: [(&str, &str, &str); 11] = [
    ("batch", "Job", "batch/job"),
    ("jobset.x-k8s.io", "JobSet", "jobset.x-k8s.io/jobset"),
    ("trainer.kubeflow.org", "TrainJob", "trainer.kubeflow.org/trainjob"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkerset.x-k8s.io/leaderworkerset"),
    ("ray.io", "RayCluster", "ray.io/raycluster (for a RayJob, ray.io/rayjob)"),
    ("kubeflow.org", "MPIJob", "kubeflow.org/mpijob"),
    ("kubeflow.org", "PyTorchJob", "kubeflow.org/pytorchjob"),
    ("kubeflow.org", "TFJob", "kubeflow.org/tfjob"),
    ("kubeflow.org", "XGBoostJob", "kubeflow.org/xgboostjob"),
    ("kubeflow.org", "PaddleJob", "kubeflow.org/paddlejob"),
    ("kubeflow.org", "JAXJob", "kubeflow.org/jaxjob"),
];

/// Skips a pod whose job is in a queue: when Kueue admits the job, it adds its own keys to the pods.
pub(super) fn leave_queued() -> RuleDecision {
    RuleDecision::skipped(Reason::GangKeyPresent).with_detail(format!("label {KUEUE_QUEUE} of the job"))
}

/// Skips a pod that Kueue has not admitted, and names the integration by which it would admit the job. `queue` is that of a job
/// that has not been created yet, which Kueue can admit.
pub(super) fn decide(member: PodIdentity<'_>, queue: Option<&str>) -> RuleDecision {
    let kind = member.kind;
    let integration = INTEGRATIONS.iter().find(|(group, name, _)| *group == kind.group && *name == kind.kind);
    let decision = RuleDecision::skipped(Reason::GangLeftToKueue);
    let Some((_, _, integration)) = integration else {
        let warning = format!("gang kueue: Kueue has no integration for a {}", kind.kind);
        return decision.with_detail(format!("it has no integration for a {}", kind.kind)).with_warning(warning);
    };
    if let Some(queue) = queue {
        return decision.with_detail(format!("queue {queue}: Kueue needs its integration {integration}"));
    }
    let warning =
        format!("gang kueue: Kueue does not manage the pod: label the job with a queue, and enable {integration}");
    decision
        .with_detail(format!("enable its integration {integration}, and label the job {KUEUE_QUEUE}"))
        .with_warning(warning)
}
