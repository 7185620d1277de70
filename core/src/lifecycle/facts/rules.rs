//! `restartPolicyRules` (KEP-5307, KEP-5532).

use super::ContainerState;

/// Exit codes of a container that the controller terminates: success, SIGKILL and SIGTERM.
const TERMINATION_CODES: [i32; 3] = [0, 137, 143];

/// The restart rules of a container, reduced to what decisions need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartRules {
    /// Action of the first rule that matches the current exit code.
    pub matched: Option<RuleAction>,
    /// True if terminating this container, by a request or by a signal, would restart all containers of the pod.
    pub restarts_all_when_terminated: bool,
    /// True if an exit of this container can restart all containers of the pod.
    pub may_restart_all: bool,
}

/// A restart rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartRule {
    /// Action of the rule.
    pub action: RuleAction,
    /// True if the rule matches the listed exit codes (`In`), false if it matches all others (`NotIn`).
    pub matches_listed: bool,
    /// Listed exit codes.
    pub codes: Box<[i32]>,
}

/// Action of a restart rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Restarts the container, whatever its restart policy. Unknown actions count as this one.
    Restart,
    /// Restarts all containers of the pod.
    RestartAllContainers,
}

impl RestartRules {
    /// Evaluates `rules` for a container in `state`.
    #[must_use]
    pub fn new(rules: &[RestartRule], state: ContainerState) -> Self {
        let action = |code: i32| rules.iter().find(|rule| rule.matches(code)).map(|rule| rule.action);
        let matched = if let ContainerState::Terminated { exit_code, .. } = state { action(exit_code) } else { None };
        let restarts_all_when_terminated =
            TERMINATION_CODES.iter().any(|code| action(*code) == Some(RuleAction::RestartAllContainers));
        let may_restart_all = rules.iter().any(|rule| rule.action == RuleAction::RestartAllContainers);
        Self { matched, restarts_all_when_terminated, may_restart_all }
    }
}

impl RestartRule {
    /// Creates a rule that matches every exit code.
    pub(super) fn always(action: RuleAction) -> Self {
        Self { action, matches_listed: false, codes: Box::default() }
    }

    fn matches(&self, exit_code: i32) -> bool {
        self.codes.contains(&exit_code) == self.matches_listed
    }
}
