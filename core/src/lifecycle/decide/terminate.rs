//! Chooses the container to terminate and the method: sidecars in the order of the catalog, then the proxy.

use std::time::Duration;

use jiff::Timestamp;

use super::{CheckResult, DecisionInput};
use crate::lifecycle::history::NextAttempt;
use crate::lifecycle::proxy_methods::proxy_attempts;
use crate::lifecycle::restart_prediction::RestartPrediction;
use crate::lifecycle::roles::{ProxyRole, Roles};
use crate::lifecycle::{
    Attempt, ContainerFacts, ContainerState, Decision, Method, PodFinding, PodFindingCode, Role, SkipReason,
    TerminationTarget, WaitReason,
};

/// Maximum time, from the completion of the main containers, that the proxy waits for a sidecar that is not running.
/// Such a sidecar may never run: an image pull or a crash loop that takes longer is unlikely to succeed.
const SIDECAR_START_TIMEOUT: Duration = Duration::from_secs(30);

/// State of the termination of a container.
enum TerminationState {
    /// The container has terminated and will not be restarted.
    Terminated,
    /// The container does not run yet, so that it cannot be terminated.
    NotRunning,
    /// An attempt is due.
    Due(Attempt),
    /// An attempt is in effect, or the next one is due later.
    Pending(Timestamp, WaitReason),
    /// Attempts failed for so long that other containers no longer wait for this one.
    DeadlineExceeded(Timestamp, WaitReason),
}

/// Returns the next action for a pod whose main containers completed at `completed`.
pub(super) fn next_action(
    input: &DecisionInput<'_>,
    roles: &Roles<'_>,
    completed: Option<Timestamp>,
    publish_once: impl Fn(PodFinding) -> CheckResult,
) -> Result<Decision, Decision> {
    let mut next_wait: Option<(Timestamp, WaitReason)> = None;
    let mut not_running = None;
    for (sidecar, entry) in &roles.sidecars {
        match termination_state(input, sidecar, std::slice::from_ref(&entry.attempt)) {
            TerminationState::Terminated => {}
            TerminationState::Due(attempt) => return Ok(terminate(Role::Sidecar, sidecar, attempt, roles)),
            TerminationState::Pending(until, reason) => return Ok(Decision::Wait { until: Some(until), reason }),
            TerminationState::DeadlineExceeded(until, reason) => next_wait = earliest(next_wait, (until, reason)),
            TerminationState::NotRunning => {
                let deadline = completed.map(|completed| completed + SIDECAR_START_TIMEOUT);
                let until = deadline.filter(|until| input.now < *until);
                if until.is_some() {
                    return Ok(Decision::Wait { until, reason: WaitReason::HelperStarting });
                }
                not_running = Some(WaitReason::HelperStarting);
            }
        }
    }
    if let ProxyRole::Classic(proxy) = roles.proxy {
        match termination_state(input, proxy, &proxy_attempts(input.facts.agent, input.settings)) {
            TerminationState::Terminated => {}
            TerminationState::Due(attempt) => return Ok(terminate(Role::Proxy, proxy, attempt, roles)),
            TerminationState::Pending(until, reason) | TerminationState::DeadlineExceeded(until, reason) => {
                next_wait = earliest(next_wait, (until, reason));
            }
            TerminationState::NotRunning => {
                if proxy.state == (ContainerState::Waiting { crash_loop: true }) {
                    publish_once(PodFinding::for_container(PodFindingCode::ProxyCrashLoop, &proxy.name))?;
                }
                not_running = Some(WaitReason::ProxyStarting);
            }
        }
    }
    Ok(match (next_wait, not_running) {
        (Some((until, reason)), _) => Decision::Wait { until: Some(until), reason },
        (None, Some(reason)) => Decision::Wait { until: None, reason },
        (None, None) => Decision::Skip(match roles.proxy {
            ProxyRole::Native => SkipReason::NativeProxy,
            ProxyRole::AlwaysRestarted(_) => SkipReason::ProxyNeverEnds,
            ProxyRole::Classic(_) | ProxyRole::Absent => SkipReason::Ended,
        }),
    })
}

/// Reports the running containers that would be terminated outside of audit mode.
pub(super) fn audit_finding(roles: &Roles<'_>) -> Option<PodFinding> {
    let proxy = if let ProxyRole::Classic(proxy) = roles.proxy { Some(proxy) } else { None };
    let targets = roles.sidecars.iter().map(|(sidecar, _)| *sidecar).chain(proxy);
    let running: Vec<&str> = targets
        .filter(|container| container.state == ContainerState::Running)
        .map(|container| &*container.name)
        .collect();
    (!running.is_empty()).then(|| PodFinding::new(PodFindingCode::WouldEnd).with_detail(running.join(", ")))
}

/// Returns the state of the termination of `container`, with `attempts` in order of preference.
fn termination_state(input: &DecisionInput<'_>, container: &ContainerFacts, attempts: &[Attempt]) -> TerminationState {
    if container.predict_restart() == RestartPrediction::Completed {
        return TerminationState::Terminated;
    }
    let (ContainerState::Running, Some(id)) = (container.state, &container.id) else {
        return TerminationState::NotRunning;
    };
    let due = |attempt: Option<&Attempt>| {
        // `attempts` is never empty, and the index comes from `methods`.
        attempt.map_or(TerminationState::NotRunning, |attempt| TerminationState::Due(attempt.clone()))
    };
    let methods: Vec<Method> = attempts.iter().map(|attempt| attempt.method).collect();
    let Some(previous) = input.history.attempts(&container.name) else { return due(attempts.first()) };
    let (until, reason) = match previous.next_attempt(id, &methods, input.now) {
        NextAttempt::Due(index) => return due(attempts.get(index)),
        NextAttempt::Terminating(until) => (until, WaitReason::Ending),
        NextAttempt::BackingOff(until) => (until, WaitReason::BackingOff),
        NextAttempt::GivenUp(until) => (until, WaitReason::GivenUp),
    };
    if previous.deadline_exceeded(input.now) {
        TerminationState::DeadlineExceeded(until, reason)
    } else {
        TerminationState::Pending(until, reason)
    }
}

fn terminate(role: Role, container: &ContainerFacts, attempt: Attempt, roles: &Roles<'_>) -> Decision {
    let target = TerminationTarget {
        role,
        container: container.name.clone(),
        id: container.id.clone().unwrap_or_default(),
        main_restarts: roles.main_restarts(),
    };
    Decision::Terminate { attempt, target }
}

fn earliest(one: Option<(Timestamp, WaitReason)>, other: (Timestamp, WaitReason)) -> Option<(Timestamp, WaitReason)> {
    one.filter(|one| one.0 <= other.0).or(Some(other))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(second: i64, reason: WaitReason) -> (Timestamp, WaitReason) {
        (Timestamp::from_second(second).unwrap(), reason)
    }

    #[rstest]
    #[case::single(None, at(1, WaitReason::Ending), at(1, WaitReason::Ending))]
    #[case::first_is_earlier(Some(at(1, WaitReason::GivenUp)), at(2, WaitReason::Ending), at(1, WaitReason::GivenUp))]
    #[case::second_is_earlier(Some(at(2, WaitReason::GivenUp)), at(1, WaitReason::Ending), at(1, WaitReason::Ending))]
    fn returns_the_earlier_of_two_waits(
        #[case] one: Option<(Timestamp, WaitReason)>,
        #[case] other: (Timestamp, WaitReason),
        #[case] expected: (Timestamp, WaitReason),
    ) {
        assert_eq!(earliest(one, other), Some(expected));
    }
}
