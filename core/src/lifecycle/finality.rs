//! Whether a container has ended for good, as the kubelet itself would judge.

use super::{ContainerFacts, RuleAction, State};
use crate::pod::RestartPolicy;

/// What will become of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Nothing is known about it.
    Unknown,
    /// It runs, or is about to.
    Alive,
    /// It has ended and will be started again.
    Restarts,
    /// It has ended, and takes all others of the pod into their next life.
    RestartsAll,
    /// It has ended for good.
    Final,
}

impl ContainerFacts {
    /// What will become of the container. Rules come first, in their order, whatever the policies say (KEP-5307), then
    /// the container's policy, then the pod's, which [`ContainerFacts::policy`] has put together.
    pub(super) fn outlook(&self) -> Outlook {
        let exit_code = match self.state {
            State::Absent => return Outlook::Unknown,
            State::Waiting { .. } | State::Running => return Outlook::Alive,
            State::Terminated { exit_code, .. } => exit_code,
        };
        match self.rules.matched {
            Some(RuleAction::RestartAllContainers) => return Outlook::RestartsAll,
            Some(RuleAction::Restart) => return Outlook::Restarts,
            None => {}
        }
        match self.policy {
            RestartPolicy::Never => Outlook::Final,
            RestartPolicy::OnFailure if exit_code == 0 => Outlook::Final,
            RestartPolicy::OnFailure | RestartPolicy::Always => Outlook::Restarts,
        }
    }

    /// Whether it can end for good at all.
    pub(super) fn can_end(&self) -> bool {
        self.policy != RestartPolicy::Always
    }
}
