//! Predicts restarts of containers by the rules of the kubelet.

use super::{ContainerFacts, ContainerState, RuleAction};
use crate::pod::RestartPolicy;

/// The expected next state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestartOutlook {
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
    pub(super) fn outlook(&self) -> RestartOutlook {
        let exit_code = match self.state {
            ContainerState::Absent => return RestartOutlook::Unknown,
            ContainerState::Waiting { .. } | ContainerState::Running => return RestartOutlook::Running,
            ContainerState::Terminated { exit_code, .. } => exit_code,
        };
        match self.rules.matched {
            Some(RuleAction::RestartAllContainers) => return RestartOutlook::RestartsAll,
            Some(RuleAction::Restart) => return RestartOutlook::Restarts,
            None => {}
        }
        match self.policy {
            RestartPolicy::Never => RestartOutlook::Completed,
            RestartPolicy::OnFailure if exit_code == 0 => RestartOutlook::Completed,
            RestartPolicy::OnFailure | RestartPolicy::Always => RestartOutlook::Restarts,
        }
    }

    /// Returns true if the restart policy lets the container complete.
    pub(super) fn can_complete(&self) -> bool {
        self.policy != RestartPolicy::Always
    }
}
