//! Whether a container has ended for good, as the kubelet itself would judge.

use super::{ContainerFacts, RestartRule, RuleAction, State};
use crate::pod::RestartPolicy;

/// The exit codes of a container that was told to end: its own, that of SIGKILL and that of SIGTERM.
const ENDED: [i32; 3] = [0, 137, 143];

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
        match self.rules.iter().find(|rule| rule.matches(exit_code)).map(|rule| rule.action) {
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

    /// Whether all containers of the pod would start again if this one were ended: by itself, or by a signal.
    pub(super) fn takes_all_when_ended(&self) -> bool {
        ENDED.iter().any(|exit_code| {
            let rule = self.rules.iter().find(|rule| rule.matches(*exit_code));
            rule.is_some_and(|rule| rule.action == RuleAction::RestartAllContainers)
        })
    }
}

impl RestartRule {
    fn matches(&self, exit_code: i32) -> bool {
        self.codes.contains(&exit_code) == self.listed
    }
}
