//! Restarts of the pods of a job whose main containers fail: by the policy of the pod, of its role and of its owner.

use super::job::Job;
use super::snapshot::pod::PodRecord;
use crate::pod::RestartPolicy;

/// Consequence for pods whose main containers fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// The kubelet restarts the containers, or the owner replaces the pods.
    Restarts,
    /// The job fails, because its limit of restarts is reached.
    LimitReached,
    /// They stay failed.
    Never,
    /// The owner decides, and the snapshot lacks it.
    Unknown,
}

impl Job<'_> {
    /// Returns what happens if the main containers of `pods` fail.
    pub(super) fn replacement(&self, pods: &[&PodRecord]) -> Replacement {
        let policy = pods.iter().map(|pod| self.policy(pod)).find(|policy| *policy != Replacement::Restarts);
        if let Some(policy) = policy {
            return policy;
        }
        // The training operator counts the restarts of all containers.
        let count =
            |pod: &PodRecord| pod.containers.iter().map(|container| container.restarts).fold(0, u64::saturating_add);
        let restarts = self.active().map(count).fold(pods.len() as u64, u64::saturating_add);
        let limit = self.workload.filter(|_| self.kind == "PyTorchJob").and_then(|workload| workload.backoff_limit);
        if limit.is_some_and(|limit| restarts >= limit) { Replacement::LimitReached } else { Replacement::Restarts }
    }

    /// Returns true if the operator replaces a pod depending on its exit code.
    pub(super) fn restarts_by_exit_code(&self, pod: &PodRecord) -> bool {
        let role = pod.role();
        self.workload.is_some_and(|workload| workload.exit_code_roles.iter().any(|known| Some(&**known) == role))
    }

    fn policy(&self, pod: &PodRecord) -> Replacement {
        // The kubelet restarts no container of a pod that has finished.
        if !pod.is_finished() && pod.main().any(|container| container.policy != RestartPolicy::Never) {
            return Replacement::Restarts;
        }
        let owner = pod.owner.as_ref().map(|owner| &*owner.kind);
        match (self.workload, owner) {
            (_, None) => Replacement::Never,
            // They replace failed pods, a Job up to its limit.
            (_, Some("Job" | "RayCluster" | "StatefulSet")) => Replacement::Restarts,
            _ if self.restarts_by_exit_code(pod) => Replacement::Restarts,
            (Some(_), _) => Replacement::Never,
            (None, _) => Replacement::Unknown,
        }
    }
}
