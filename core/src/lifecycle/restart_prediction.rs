//! Predicts restarts of containers by the rules of the kubelet.

use super::{ContainerFacts, ContainerState, RuleAction};
use crate::pod::RestartPolicy;

/// The predicted restart behavior of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestartPrediction {
    /// The state of the container is unknown.
    Unknown,
    /// The container runs or is about to start.
    Running,
    /// The container has terminated and will be restarted.
    Restarts,
    /// The container has terminated, and a rule restarts all containers of the pod.
    RestartsAll,
    /// The container has terminated and will not be restarted.
    Completed,
}

impl ContainerFacts {
    /// Predicts what the kubelet will do: the first matching rule overrides all policies (KEP-5307), then the policy of
    /// the container overrides that of the pod ([`ContainerFacts::policy`] contains the effective one).
    pub(super) fn predict_restart(&self) -> RestartPrediction {
        let exit_code = match self.state {
            ContainerState::Absent => return RestartPrediction::Unknown,
            ContainerState::Waiting { .. } | ContainerState::Running => return RestartPrediction::Running,
            ContainerState::Terminated { exit_code, .. } => exit_code,
        };
        match self.rules.matched {
            Some(RuleAction::RestartAllContainers) => return RestartPrediction::RestartsAll,
            Some(RuleAction::Restart) => return RestartPrediction::Restarts,
            None => {}
        }
        match self.policy {
            RestartPolicy::Never => RestartPrediction::Completed,
            RestartPolicy::OnFailure if exit_code == 0 => RestartPrediction::Completed,
            RestartPolicy::OnFailure | RestartPolicy::Always => RestartPrediction::Restarts,
        }
    }

    /// Returns true if the restart policy lets the container complete.
    pub(super) fn can_complete(&self) -> bool {
        self.policy != RestartPolicy::Always
    }
}
