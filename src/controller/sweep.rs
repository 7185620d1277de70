//! The same decisions and actions for a person: which pods hang now, and ending them one by one.
//!
//! No lease and no memory: somebody who is allowed to does by hand what a controller would have done, and what it has
//! tried already does not matter. The opt-in of the namespace is not asked for, because a person names the namespace; the
//! opt-out of a pod is kept, because its author knew more.

use std::time::Duration;

use futures::{Stream, TryStreamExt as _};
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use super::pod::Watched;
use super::publish::line;
use super::quit;
use crate::cluster::list::pages;
use crate::cluster::request::RequestError;
use trainmesh_core::config::Termination;
use trainmesh_core::lifecycle::{
    Catalogue, Decision, History, PodFacts, ReportCode, Role, Situation, Skip, State, Step, Target, Why, decide,
};
use trainmesh_core::pod::ContainerKind;
use trainmesh_core::scope::Mode;

/// How often a pod that was told to end is looked at.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long one pod is worked on: every step of the ladder has its turn.
const LIMIT: Duration = Duration::from_mins(1);
/// How long one read may take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks for pods that hang, and ends them.
#[derive(Clone)]
pub struct Sweeper {
    client: Client,
    settings: Termination,
    catalogue: Catalogue,
}

/// A pod whose payload has ended for good, and which does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hanging {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Why it hangs.
    pub why: String,
    /// When its payload ended.
    pub since: Option<Timestamp>,
    /// Its label says that it is to be left alone.
    pub opted_out: bool,
    uid: Box<str>,
}

/// What came of ending a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Nothing is left that would hold it.
    Ended,
    /// There was nothing to do any more; why.
    Changed(String),
    /// It still hangs; why.
    Failed(String),
}

impl Sweeper {
    /// By `settings`, whether they are switched on or not.
    #[must_use]
    pub fn new(client: Client, settings: Termination) -> Self {
        let settings = Termination { enabled: true, ..settings };
        let catalogue = Catalogue::new(&settings);
        Self { client, settings, catalogue }
    }

    /// The pods that hang now in `namespace`, or in all of them.
    pub fn hanging(&self, namespace: Option<&str>) -> impl Stream<Item = Result<Hanging, RequestError>> {
        let api: Api<Watched> = match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let running = ListParams::default().fields("status.phase=Running");
        let pods = pages("list pods", running, move |parameters| {
            let api = api.clone();
            async move { api.list(&parameters).await }
        });
        pods.try_filter_map(move |pod| {
            let found = self.judge(&pod.facts, Timestamp::now());
            async move { Ok(found) }
        })
    }

    /// Ends `pod`, and waits until that is seen.
    pub async fn end(&self, pod: &Hanging) -> Swept {
        let api: Api<Watched> = Api::namespaced(self.client.clone(), &pod.namespace);
        let deadline = Instant::now() + LIMIT;
        let mut history = History::default();
        let mut last = String::from("no answer from the apiserver");
        while Instant::now() < deadline {
            let facts = match timeout(READ_TIMEOUT, api.get_opt(&pod.name)).await {
                Ok(Ok(Some(read))) if read.facts.uid == pod.uid => read.facts,
                Ok(Ok(_)) => return Swept::Changed("the pod is gone".to_owned()),
                Ok(Err(error)) => return Swept::Failed(trainmesh_core::error::chain(&error)),
                Err(_) => continue,
            };
            match self.decide(&facts, &history, Timestamp::now()) {
                Decision::End { step, target } => {
                    last = self.act(&facts, &step, &target, &mut history).await;
                }
                Decision::Report(report) => {
                    history.tell(&report);
                    match report.code {
                        ReportCode::ProxyEndFailed | ReportCode::HelperEndFailed | ReportCode::Forbidden => {
                            return Swept::Failed(line(&report.finding()));
                        }
                        _ => {}
                    }
                }
                Decision::Skip(Skip::Ended | Skip::Finished | Skip::NativeProxy) => return Swept::Ended,
                Decision::Skip(skip) => return Swept::Changed(skip.text().to_owned()),
                Decision::Wait {
                    why: Why::Ending | Why::BackingOff | Why::InFlight | Why::GivenUp | Why::Settling,
                    ..
                } => sleep(INTERVAL).await,
                Decision::Wait { why, .. } => return Swept::Changed(why.text().to_owned()),
            }
        }
        Swept::Failed(last)
    }

    async fn act(&self, facts: &PodFacts, step: &Step, target: &Target, history: &mut History) -> String {
        let place = quit::Place { namespace: &facts.namespace, pod: &facts.name, container: &target.container };
        let limit = self.settings.attempt_timeout.0;
        let attempt = quit::perform(self.client.clone(), place, &step.action, limit).await;
        let said = format!("{}: {} {}", step.method.name(), attempt.result.name(), attempt.detail);
        history.record(target, step, attempt, 0.0, Timestamp::now());
        said.trim_end().to_owned()
    }

    /// Whether the pod of `facts` hangs.
    fn judge(&self, facts: &PodFacts, now: Timestamp) -> Option<Hanging> {
        let opted_out = facts.opted_out;
        let facts = &PodFacts { opted_out: false, ..facts.clone() };
        let mut history = History::default();
        let decision = loop {
            match self.decide(facts, &history, now) {
                Decision::Report(report) => history.tell(&report),
                decision => break decision,
            }
        };
        let why = match decision {
            Decision::End { target: Target { role: Role::Proxy, container, .. }, .. } => {
                format!("the payload has ended, the proxy {container} still runs")
            }
            Decision::End { target: Target { role: Role::Helper, container, .. }, .. } => {
                format!("the payload has ended, the helper {container} still runs")
            }
            Decision::Wait { why: why @ (Why::HelperStarting | Why::ProxyStarting), .. } => {
                format!("the payload has ended, {}", why.text())
            }
            _ => return None,
        };
        let ends = facts.containers.iter().filter(|container| container.kind == ContainerKind::App);
        let since = ends.filter_map(|container| match container.state {
            State::Terminated { finished, .. } => finished,
            _ => None,
        });
        Some(Hanging {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            why,
            since: since.max(),
            opted_out,
            uid: facts.uid.clone(),
        })
    }

    fn decide(&self, facts: &PodFacts, history: &History, now: Timestamp) -> Decision {
        let Self { client: _, settings, catalogue } = self;
        decide(&Situation { facts, mode: Ok(Mode::Enabled), settings, catalogue, history, now })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use trainmesh_core::config::Configuration;
    use trainmesh_core::pod::Pod;

    /// What hangs of a pod with these labels, whose payload and proxy are in these states.
    #[rstest]
    #[case::hangs(json!({}), json!({"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}}), json!({"running": {}}),
        Some(("the payload has ended, the proxy istio-proxy still runs", false)))]
    #[case::left_alone(json!({"trainmesh.dev/inject": "disabled"}),
        json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}), json!({"running": {}}),
        Some(("the payload has ended, the proxy istio-proxy still runs", true)))]
    #[case::proxy_cannot_start(json!({}), json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}),
        json!({"waiting": {"reason": "CrashLoopBackOff"}}), Some(("the payload has ended, the proxy is not running yet", false)))]
    #[case::only_just_ended(json!({}), json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:59Z"}}),
        json!({"running": {}}), None)]
    #[case::runs(json!({}), json!({"running": {}}), json!({"running": {}}), None)]
    #[tokio::test]
    async fn what_hangs(
        #[case] labels: Value,
        #[case] payload: Value,
        #[case] proxy: Value,
        #[case] expected: Option<(&str, bool)>,
    ) {
        let pod = json!({
            "metadata": {"namespace": "team-a", "name": "a", "uid": "1", "labels": labels},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "istio-proxy"}, {"name": "train"}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "istio-proxy", "containerID": "c://1", "state": proxy},
                {"name": "train", "containerID": "c://2", "state": payload},
            ]},
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        let nowhere = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let settings = Configuration::embedded().termination;
        let sweeper = Sweeper::new(Client::try_from(nowhere).unwrap(), settings);
        let found = sweeper.judge(&PodFacts::read(Pod::new(&pod)), "2026-01-01T00:00:59.5Z".parse().unwrap());
        assert_eq!(found.as_ref().map(|found| (found.why.as_str(), found.opted_out)), expected);
    }
}
