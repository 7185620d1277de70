//! Checks that the main containers have completed, and how long ago.

use std::time::Duration;

use jiff::Timestamp;

use super::CheckResult;
use crate::lifecycle::restart_prediction::RestartPrediction;
use crate::lifecycle::{ContainerFacts, ContainerState, Decision, PodFacts, SkipReason, WaitReason};

/// Maximum clock skew of a node. Times that are further in the future are ignored.
const MAX_CLOCK_SKEW: Duration = Duration::from_mins(1);

/// Checks that there are main containers and that all of them can complete.
pub(super) fn check_can_complete(main: &[&ContainerFacts]) -> CheckResult {
    if main.is_empty() {
        return Err(Decision::Skip(SkipReason::NoPayload));
    }
    if main.iter().all(|container| container.can_complete()) {
        Ok(())
    } else {
        Err(Decision::Skip(SkipReason::PayloadNeverEnds))
    }
}

/// Returns when the main containers completed; `None` if the kubelet does not report the time. `Err` if one of them
/// runs or will be restarted.
pub(super) fn completion_time(facts: &PodFacts, main: &[&ContainerFacts]) -> Result<Option<Timestamp>, Decision> {
    // The container whose rule restarts all others may be a sidecar.
    if facts.containers.iter().any(|container| container.predict_restart() == RestartPrediction::RestartsAll) {
        return Err(wait(WaitReason::PodRestarting));
    }
    for container in main {
        match container.predict_restart() {
            RestartPrediction::Completed => {}
            RestartPrediction::Unknown => return Err(wait(WaitReason::StatusIncomplete)),
            RestartPrediction::Running => return Err(wait(WaitReason::PayloadRunning)),
            RestartPrediction::Restarts | RestartPrediction::RestartsAll => {
                return Err(wait(WaitReason::PayloadRestarting));
            }
        }
    }
    Ok(last_finished(main))
}

/// Checks that the stabilization window is over. During the window, the kubelet can report a restart, and the proxy can
/// send buffered data.
pub(super) fn check_stabilized(completed: Option<Timestamp>, window: Duration, now: Timestamp) -> CheckResult {
    let Some(completed) = completed.filter(|completed| *completed <= now + MAX_CLOCK_SKEW) else { return Ok(()) };
    let until = completed + window;
    if now < until { Err(Decision::Wait { until: Some(until), reason: WaitReason::Settling }) } else { Ok(()) }
}

/// Returns the latest termination time that the kubelet reports for `main`.
pub(super) fn last_finished(main: &[&ContainerFacts]) -> Option<Timestamp> {
    main.iter().filter_map(|container| finished_at(container)).max()
}

/// Returns when `container` terminated.
pub(super) fn finished_at(container: &ContainerFacts) -> Option<Timestamp> {
    if let ContainerState::Terminated { finished, .. } = container.state { finished } else { None }
}

fn wait(reason: WaitReason) -> Decision {
    Decision::Wait { until: None, reason }
}
