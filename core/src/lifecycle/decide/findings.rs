//! Findings about earlier actions, and about a proxy that exited by itself.

use std::time::Duration;

use super::DecisionInput;
use super::main_containers::{finished_at, last_finished};
use crate::lifecycle::history::ContainerAttempts;
use crate::lifecycle::restart_prediction::RestartPrediction;
use crate::lifecycle::roles::{ProxyRole, Roles};
use crate::lifecycle::{
    AttemptResult, ContainerFacts, ContainerState, PodFinding, PodFindingCode, PodPhase, Role, TerminationDetails,
};

/// Returns the findings about containers with attempts.
pub(super) fn of_attempts(input: &DecisionInput<'_>, roles: &Roles<'_>) -> Vec<PodFinding> {
    let DecisionInput { facts, history, .. } = *input;
    let container_findings = facts.containers.iter().filter_map(|container| {
        let attempts = history.attempts(&container.name)?;
        container_finding(input, roles, container, attempts)
    });
    premature_termination(input).into_iter().chain(container_findings).collect()
}

/// Reports a proxy that exited while the main containers run, if no restart follows and no attempt caused it.
pub(super) fn proxy_died_early(input: &DecisionInput<'_>, roles: &Roles<'_>) -> Option<PodFinding> {
    let ProxyRole::Classic(proxy) = roles.proxy else { return None };
    let ContainerState::Terminated { exit_code, .. } = proxy.state else { return None };
    let by_attempt = input.history.attempts(&proxy.name).is_some_and(ContainerAttempts::may_have_terminated);
    let main_running = roles.main.iter().any(|container| container.predict_restart() != RestartPrediction::Completed);
    let restarts_all =
        input.facts.containers.iter().any(|container| container.predict_restart() == RestartPrediction::RestartsAll);
    let died = proxy.predict_restart() == RestartPrediction::Completed && main_running && !by_attempt && !restarts_all;
    died.then(|| {
        PodFinding::for_container(PodFindingCode::ProxyDiedEarly, &proxy.name)
            .with_detail(format!("exit code {exit_code}"))
    })
}

fn container_finding(
    input: &DecisionInput<'_>,
    roles: &Roles<'_>,
    container: &ContainerFacts,
    attempts: &ContainerAttempts,
) -> Option<PodFinding> {
    let DecisionInput { facts, now, .. } = *input;
    let finding = |code| PodFinding::for_container(code, &container.name);
    let [terminated, failed] = match attempts.role() {
        Role::Proxy => [PodFindingCode::ProxyEnded, PodFindingCode::ProxyEndFailed],
        Role::Sidecar => [PodFindingCode::HelperEnded, PodFindingCode::HelperEndFailed],
    };
    let same_instance = container.id.as_deref() == Some(attempts.id());
    if same_instance && matches!(container.state, ContainerState::Terminated { .. }) {
        let method = attempts.last_effective_method()?;
        let delay = last_finished(&roles.main)
            .zip(finished_at(container))
            .and_then(|(main, container)| Duration::try_from(container.duration_since(main)).ok());
        let termination = Some(TerminationDetails { method, delay });
        return Some(PodFinding { termination, ..finding(terminated).with_detail(method.name()) });
    }
    if facts.phase != PodPhase::Running || facts.deleting {
        return None;
    }
    if !same_instance && container.id.is_some() && attempts.role() == Role::Proxy && attempts.may_have_terminated() {
        return Some(finding(PodFindingCode::ProxyRestarted).with_detail(format!("{} restarts", container.restarts)));
    }
    let (method, last) = attempts.last();
    if last.result == AttemptResult::Forbidden && !attempts.deadline_exceeded(now) {
        let permissions = format!("requires create and get on {}", method.subresource());
        return Some(finding(PodFindingCode::Forbidden).with_detail(join(&permissions, &last.detail)));
    }
    let result = format!("{}: {}", method.name(), last.result.name());
    attempts.deadline_exceeded(now).then(|| finding(failed).with_detail(join(&result, &last.detail)))
}

/// Reports a main container that was restarted after the first action: a defect, because actions require completion.
///
/// The main containers are those of the first action: users may change the annotations by which they are selected. If the
/// exit of another container restarts all containers, the restart is no defect.
fn premature_termination(input: &DecisionInput<'_>) -> Option<PodFinding> {
    let before = input.history.main_restarts()?;
    let restarts = |container: &ContainerFacts| {
        before.iter().find(|(name, _)| *name == container.name).map(|(_, restarts)| *restarts)
    };
    let containers = &input.facts.containers;
    let restarted = containers.iter().any(|container| {
        restarts(container).is_some_and(|restarts| container.restarts > restarts)
            && container.predict_restart() != RestartPrediction::Completed
    });
    let by_rule = || {
        let others = containers.iter().filter(|container| restarts(container).is_none());
        // The exit of a container that the controller tried to terminate is its own action.
        let mut others = others.filter(|container| input.history.attempts(&container.name).is_none());
        others.any(|container| container.rules.may_restart_all)
    };
    (restarted && !by_rule()).then(|| PodFinding::new(PodFindingCode::PrematureEnd))
}

fn join(head: &str, detail: &str) -> String {
    if detail.is_empty() { head.to_owned() } else { format!("{head}: {detail}") }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::config::Configuration;
    use crate::lifecycle::{
        AttemptOutcome, AttemptResult, Decision, DecisionInput, History, PodFacts, PodFindingCode, SidecarCatalog,
        SkipReason, decide,
    };
    use crate::pod::Pod;
    use crate::scope::Mode;

    const FINISHED_AT: &str = "2026-01-01T00:00:00Z";

    /// Returns a pod whose proxy still runs after the main container has completed.
    fn pod(phase: &str, deleted: Option<&str>) -> PodFacts {
        let pod: Value = json!({
            "metadata": {"name": "a", "deletionTimestamp": deleted},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "istio-proxy"}]},
            "status": {"phase": phase, "containerStatuses": [
                {"name": "a", "state": {"terminated": {"exitCode": 0, "finishedAt": FINISHED_AT}}},
                {"name": "istio-proxy", "state": {"running": {}}, "containerID": "p"}]}});
        PodFacts::read(Pod::new(&pod))
    }

    #[rstest]
    #[case::running(pod("Running", None), Err(PodFindingCode::Forbidden))]
    #[case::being_deleted(pod("Running", Some(FINISHED_AT)), Ok(SkipReason::BeingDeleted))]
    #[case::finished(pod("Failed", None), Ok(SkipReason::Finished))]
    fn reports_a_failed_attempt_only_while_the_pod_runs(
        #[case] facts: PodFacts,
        #[case] expected: Result<SkipReason, PodFindingCode>,
    ) {
        let settings = Configuration::embedded().termination;
        let catalog = SidecarCatalog::new(&settings);
        let now = FINISHED_AT.parse::<Timestamp>().unwrap() + std::time::Duration::from_secs(10);
        let decide_about = |facts: &PodFacts, history: &History| {
            decide(&DecisionInput {
                facts,
                mode: Ok(Mode::Enabled),
                settings: &settings,
                catalog: &catalog,
                history,
                now,
            })
        };
        let mut history = History::default();
        let Decision::Terminate { attempt, target } = decide_about(&pod("Running", None), &history) else {
            panic!("no action")
        };
        let forbidden = AttemptOutcome { result: AttemptResult::Forbidden, detail: String::new() };
        history.record(&target, &attempt, forbidden, 1.0, now);
        let found = match decide_about(&facts, &history) {
            Decision::Skip(skip) => Ok(skip),
            Decision::Publish(finding) => Err(finding.code),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected);
    }
}
