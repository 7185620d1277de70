//! `restartPolicyRules` (KEP-5307, KEP-5532).

use super::State;

/// Exit codes of a container that was terminated: its own, that of SIGKILL and that of SIGTERM.
const ENDED: [i32; 3] = [0, 137, 143];

/// What the rules of a container say, as far as a decision needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartRules {
    /// The action of the first rule that matches the exit code of the container's state.
    pub matched: Option<RuleAction>,
    /// Whether all containers of the pod start again when this one is terminated: by itself, or by a signal.
    pub restarts_all_when_terminated: bool,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartRule {
    /// What it does.
    pub action: RuleAction,
    /// Whether it holds for the exit codes that are listed, or for all others.
    pub listed: bool,
    /// The exit codes.
    pub codes: Box<[i32]>,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Starts the container again, whatever its restart policy. An action that we do not know reads as this one: it may.
    Restart,
    /// Starts all containers of the pod again.
    RestartAllContainers,
}

impl RestartRules {
    /// Applies `rules` to a container in `state`.
    #[must_use]
    pub fn new(rules: &[RestartRule], state: State) -> Self {
        let action = |code: i32| rules.iter().find(|rule| rule.matches(code)).map(|rule| rule.action);
        let matched = if let State::Terminated { exit_code, .. } = state { action(exit_code) } else { None };
        let restarts_all_when_terminated =
            ENDED.iter().any(|code| action(*code) == Some(RuleAction::RestartAllContainers));
        Self { matched, restarts_all_when_terminated }
    }
}

impl RestartRule {
    /// A rule that starts the container again after every exit code.
    pub(super) fn always(action: RuleAction) -> Self {
        Self { action, listed: false, codes: Box::default() }
    }

    fn matches(&self, exit_code: i32) -> bool {
        self.codes.contains(&exit_code) == self.listed
    }
}
