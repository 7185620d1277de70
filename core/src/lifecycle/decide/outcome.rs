//! What has come of earlier actions, and of the proxy without any.

use std::time::Duration;

use super::Situation;
use super::payload::{finished, last_end};
use crate::lifecycle::finality::Outlook;
use crate::lifecycle::history::Tries;
use crate::lifecycle::roles::{Proxy, Roles};
use crate::lifecycle::{AttemptResult, ContainerFacts, Ended, Phase, Report, ReportCode, Role, State};

/// What is to be told of the containers that were told to end.
pub(super) fn reports(situation: &Situation<'_>, roles: &Roles<'_>) -> Vec<Report> {
    let Situation { facts, history, .. } = *situation;
    let about_containers = facts.containers.iter().filter_map(|container| {
        let tries = history.tries(&container.name)?;
        about(situation, roles, container, tries)
    });
    premature(situation, roles).into_iter().chain(about_containers).collect()
}

/// The proxy's end while the payload still runs, where nothing brings it back and we have no part in it.
pub(super) fn died_early(situation: &Situation<'_>, roles: &Roles<'_>) -> Option<Report> {
    let Proxy::Classic(proxy) = roles.proxy else { return None };
    let State::Terminated { exit_code, .. } = proxy.state else { return None };
    let told_to_end = situation.history.tries(&proxy.name).is_some_and(Tries::may_be_obeyed);
    let alive = roles.payload.iter().any(|container| container.outlook() != Outlook::Final);
    let comes_back = situation.facts.containers.iter().any(|it| it.outlook() == Outlook::RestartsAll);
    let died = proxy.outlook() == Outlook::Final && alive && !told_to_end && !comes_back;
    died.then(|| Report::about(ReportCode::ProxyDiedEarly, &proxy.name).detail(format!("exit code {exit_code}")))
}

fn about(situation: &Situation<'_>, roles: &Roles<'_>, container: &ContainerFacts, tries: &Tries) -> Option<Report> {
    let Situation { facts, now, .. } = *situation;
    let report = |code| Report::about(code, &container.name);
    let [ended, failed] = match tries.role() {
        Role::Proxy => [ReportCode::ProxyEnded, ReportCode::ProxyEndFailed],
        Role::Helper => [ReportCode::HelperEnded, ReportCode::HelperEndFailed],
    };
    let same = container.id.as_deref() == Some(tries.id());
    if same && matches!(container.state, State::Terminated { .. }) {
        let method = tries.delivered()?;
        let delay = last_end(&roles.payload)
            .zip(finished(container))
            .and_then(|(payload, container)| Duration::try_from(container.duration_since(payload)).ok());
        return Some(Report { ended: Some(Ended { method, delay }), ..report(ended).detail(method.name()) });
    }
    if facts.phase != Phase::Running || facts.deleting {
        return None;
    }
    if !same && container.id.is_some() && tries.role() == Role::Proxy && tries.may_be_obeyed() {
        return Some(report(ReportCode::ProxyRestarted).detail(format!("{} restarts", container.restarts)));
    }
    let (method, last) = tries.last();
    if last.result == AttemptResult::Forbidden && !tries.overdue(now) {
        let right = format!("needs create and get on {}", method.subresource());
        return Some(report(ReportCode::Forbidden).detail(join(&right, &last.detail)));
    }
    let state = format!("{}: {}", method.name(), last.result.name());
    tries.overdue(now).then(|| report(failed).detail(join(&state, &last.detail)))
}

/// The payload has been started again since we told something to end: what must never happen.
fn premature(situation: &Situation<'_>, roles: &Roles<'_>) -> Option<Report> {
    let before = situation.history.payload_restarts()?;
    let again = roles.payload_restarts() > before && roles.payload.iter().any(|it| it.outlook() != Outlook::Final);
    again.then(|| Report::new(ReportCode::PrematureEnd))
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
        Attempt, AttemptResult, Catalogue, Decision, History, PodFacts, ReportCode, Situation, Skip, decide,
    };
    use crate::pod::Pod;
    use crate::scope::Mode;

    const ENDED: &str = "2026-01-01T00:00:00Z";

    /// A pod whose proxy runs after its payload.
    fn pod(phase: &str, deleted: Option<&str>) -> PodFacts {
        let pod: Value = json!({
            "metadata": {"name": "a", "deletionTimestamp": deleted},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "istio-proxy"}]},
            "status": {"phase": phase, "containerStatuses": [
                {"name": "a", "state": {"terminated": {"exitCode": 0, "finishedAt": ENDED}}},
                {"name": "istio-proxy", "state": {"running": {}}, "containerID": "p"}]}});
        PodFacts::read(Pod::new(&pod))
    }

    #[rstest]
    #[case::running(pod("Running", None), Err(ReportCode::Forbidden))]
    #[case::being_deleted(pod("Running", Some(ENDED)), Ok(Skip::BeingDeleted))]
    #[case::finished(pod("Failed", None), Ok(Skip::Finished))]
    fn a_failed_try_is_reported_of_a_pod_that_runs_on(
        #[case] facts: PodFacts,
        #[case] expected: Result<Skip, ReportCode>,
    ) {
        let settings = Configuration::embedded().termination;
        let catalogue = Catalogue::new(&settings);
        let now = ENDED.parse::<Timestamp>().unwrap() + std::time::Duration::from_secs(10);
        let decide_about = |facts: &PodFacts, history: &History| {
            decide(&Situation {
                facts,
                mode: Ok(Mode::Enabled),
                settings: &settings,
                catalogue: &catalogue,
                history,
                now,
            })
        };
        let mut history = History::default();
        let Decision::End { step, target } = decide_about(&pod("Running", None), &history) else { panic!("no action") };
        let forbidden = Attempt { result: AttemptResult::Forbidden, detail: String::new() };
        history.record(&target, &step, forbidden, 1.0, now);
        let found = match decide_about(&facts, &history) {
            Decision::Skip(skip) => Ok(skip),
            Decision::Report(report) => Err(report.code),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected);
    }
}
