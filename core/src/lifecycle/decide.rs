//! Decides what to do for a pod now.
//!
//! The order matters: the controller first reports the effects of earlier actions and then checks for reasons to skip
//! the pod. It terminates the sidecars, and last the proxy, only after the main containers have completed and the
//! stabilization window is over.

mod findings;
mod main_containers;
mod preconditions;
mod terminate;

use std::time::Duration;

use jiff::Timestamp;

use super::roles::Roles;
use super::{
    Decision, History, PodFacts, PodFinding, PodFindingCode, PodPhase, SidecarCatalog, SkipReason, WaitReason,
};
use crate::config::{MAX_SETTLE, Termination};
use crate::duration;
use crate::scope::{Exclusion, Mode};

/// The input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct DecisionInput<'a> {
    /// The pod.
    pub facts: &'a PodFacts,
    /// Mode of the namespace, or the reason for which it is excluded.
    pub mode: Result<Mode, Exclusion>,
    /// Section `termination` of the configuration.
    pub settings: &'a Termination,
    /// Sidecar catalog under these settings.
    pub catalog: &'a SidecarCatalog,
    /// Previous attempts and published findings.
    pub history: &'a History,
    /// Current time.
    pub now: Timestamp,
}

/// `Err` is a final decision, so that checks can be chained with `?`.
type CheckResult = Result<(), Decision>;

/// Decides what to do for a pod. [`Decision::Terminate`] is returned only after the main containers have completed and
/// while no other action is in progress.
#[must_use]
pub fn decide(input: &DecisionInput<'_>) -> Decision {
    match evaluate(input) {
        Ok(decision) | Err(decision) => decision,
    }
}

fn evaluate(input: &DecisionInput<'_>) -> Result<Decision, Decision> {
    let DecisionInput { facts, mode, settings, catalog, history, now } = *input;
    if let Some(until) = history.in_flight(now) {
        return Err(Decision::Wait { until: Some(until), reason: WaitReason::InFlight });
    }
    let publish_once =
        |finding: PodFinding| if history.is_published(&finding) { Ok(()) } else { Err(Decision::Publish(finding)) };
    let roles = || Roles::new(facts, settings.proxy_container.as_str(), catalog);

    if history.has_attempts() {
        findings::of_attempts(input, &roles()).into_iter().try_for_each(publish_once)?;
    }
    // Checked before the roles are determined, because most namespaces have not opted in and the roles are costly.
    preconditions::check_pod(facts, mode, settings)?;
    let roles = roles();
    if let Some(unknown) = &roles.unknown_main {
        publish_once(PodFinding::new(PodFindingCode::PayloadUnknown).with_detail(unknown.as_str()))?;
        return Err(Decision::Skip(SkipReason::PayloadUnknown));
    }
    if let Some(finding) = findings::proxy_died_early(input, &roles) {
        publish_once(finding)?;
    }
    let can_complete = main_containers::check_can_complete(&roles.main);
    if can_complete.is_ok() {
        roles.findings.iter().cloned().try_for_each(publish_once)?;
    }
    preconditions::check_targets(facts, &roles)?;
    can_complete?;
    if let Err(detail) = own_window(facts) {
        publish_once(PodFinding::new(PodFindingCode::SettleUnreadable).with_detail(detail))?;
    }
    let completed = main_containers::completion_time(facts, &roles.main)?;
    check_stabilized(facts, settings, completed, now)?;
    if mode == Ok(Mode::Audit) {
        if let Some(finding) = terminate::audit_finding(&roles) {
            publish_once(finding)?;
        }
        return Err(Decision::Skip(SkipReason::Audit));
    }
    terminate::next_action(input, &roles, completed, publish_once)
}

/// State of the main containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// One of them runs, is starting, or will be restarted; or their state is unknown.
    Pending,
    /// All have terminated for good, or the pod has finished; contains the time, if the kubelet reports it.
    Completed(Option<Timestamp>),
}

/// Returns the state of the main containers.
pub(super) fn completion(facts: &PodFacts, roles: &Roles<'_>) -> Completion {
    // The kubelet restarts no container of such a pod, whatever the restart policy.
    let is_final = matches!(facts.phase, PodPhase::Succeeded | PodPhase::Failed);
    let completed = if is_final {
        Ok(main_containers::last_finished(&roles.main))
    } else {
        main_containers::completion_time(facts, &roles.main)
    };
    match completed {
        Ok(at) if !roles.main.is_empty() => Completion::Completed(at),
        Ok(_) | Err(_) => Completion::Pending,
    }
}

/// Returns true if the stabilization window of a pod is over, whose main containers completed at `completed`.
#[must_use]
pub fn is_stabilized(facts: &PodFacts, settings: &Termination, completed: Option<Timestamp>, now: Timestamp) -> bool {
    check_stabilized(facts, settings, completed, now).is_ok()
}

fn check_stabilized(
    facts: &PodFacts,
    settings: &Termination,
    completed: Option<Timestamp>,
    now: Timestamp,
) -> CheckResult {
    let window = own_window(facts).ok().flatten().unwrap_or(settings.settle.0);
    main_containers::check_stabilized(completed, window, now)
}

/// Returns the stabilization window that the pod itself sets. `Err` is the detail of the finding about an invalid annotation: its
/// value, or the limit that it exceeds.
fn own_window(facts: &PodFacts) -> Result<Option<Duration>, String> {
    let text = match &facts.annotations.settle {
        None => return Ok(None),
        Some(Err(exceeded)) => return Err(exceeded.to_string()),
        Some(Ok(text)) => text,
    };
    let window = duration::parse(text.trim()).ok().filter(|window| *window <= MAX_SETTLE);
    window.map(Some).ok_or_else(|| text.to_string())
}
