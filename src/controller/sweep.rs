//! The controller's decisions and actions for a one-time run: lists stuck pods and terminates their sidecars.
//!
//! It needs neither a lease nor the controller's history. The user names the namespace, so its opt-in is not required;
//! the opt-out of a pod is respected.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, TryStreamExt as _};
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use super::action;
use super::pod::WatchedPod;
use super::publish::event_note;
use crate::cluster::list::paginate;
use crate::cluster::request::RequestError;
use trainmesh_core::config::Termination;
use trainmesh_core::lifecycle::{
    Attempt, ContainerState, Decision, DecisionInput, History, PodFacts, PodFindingCode, Role, SidecarCatalog,
    SkipReason, TerminationTarget, WaitReason, decide,
};
use trainmesh_core::pod::ContainerKind;
use trainmesh_core::scope::Mode;

/// Interval at which a pod is read while its sidecars terminate.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time limit for one pod, sufficient for all termination methods.
const POD_TIMEOUT: Duration = Duration::from_mins(1);
/// Time limit of one read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Finds stuck pods and terminates their sidecars.
#[derive(Clone)]
pub struct Sweeper {
    client: Client,
    settings: Termination,
    catalog: SidecarCatalog,
}

/// A pod whose main containers have completed while a sidecar still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckPod {
    /// Namespace of the pod.
    pub namespace: Box<str>,
    /// Name of the pod.
    pub name: Box<str>,
    /// Reason why it does not complete.
    pub reason: String,
    /// Time at which its main containers completed.
    pub since: Option<Timestamp>,
    /// True if the pod is labeled as opted out.
    pub opted_out: bool,
    uid: Box<str>,
}

/// Result of terminating the sidecars of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepResult {
    /// No sidecar is left that prevents completion.
    Terminated,
    /// No action is needed any more, with the reason.
    NotNeeded(String),
    /// The pod is still stuck, with the reason.
    Failed(String),
}

impl Sweeper {
    /// Creates a sweeper with these settings, whether termination is enabled or not.
    #[must_use]
    pub fn new(client: Client, settings: Termination) -> Self {
        let settings = Termination { enabled: true, ..settings };
        let catalog = SidecarCatalog::new(&settings);
        Self { client, settings, catalog }
    }

    fn pods(&self, namespace: Option<&str>) -> Api<WatchedPod> {
        match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    /// Lists the pods in `namespace`, or in all namespaces, that are stuck now.
    pub fn stuck_pods(&self, namespace: Option<&str>) -> impl Stream<Item = Result<StuckPod, RequestError>> {
        let api = self.pods(namespace);
        let running = ListParams::default().fields("status.phase=Running");
        let pods = paginate("list pods", running, move |parameters| {
            let api = api.clone();
            async move { api.list(&parameters).await }
        });
        pods.try_filter_map(move |pod| {
            let stuck = self.stuck_pod(&pod.facts, Timestamp::now());
            async move { Ok(stuck) }
        })
    }

    /// Returns true if a pod exists in `namespace`, or in any namespace.
    pub async fn has_pods(&self, namespace: Option<&str>) -> Result<bool, RequestError> {
        let api = self.pods(namespace);
        let pods = paginate("list pods", ListParams::default().limit(1), move |parameters| {
            let api = api.clone();
            async move { api.list(&parameters).await }
        });
        Ok(pin!(pods).try_next().await?.is_some())
    }

    /// Terminates the sidecars of `pod` and waits until the pod's status shows it. Fails if the pod cannot be read.
    pub async fn terminate(&self, pod: &StuckPod) -> Result<SweepResult, Box<kube::Error>> {
        let api: Api<WatchedPod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let deadline = Instant::now() + POD_TIMEOUT;
        let mut history = History::default();
        let mut last = String::from("no response from the apiserver");
        while Instant::now() < deadline {
            let facts = match timeout(READ_TIMEOUT, api.get_opt(&pod.name)).await {
                Ok(Ok(Some(read))) if read.facts.uid == pod.uid => read.facts,
                Ok(Ok(_)) => return Ok(SweepResult::NotNeeded("the pod no longer exists".to_owned())),
                Ok(Err(error)) => return Err(Box::new(error)),
                Err(_) => continue,
            };
            match self.decide(&facts, &history, Timestamp::now()) {
                Decision::Terminate { attempt, target } => {
                    last = self.perform(&facts, &attempt, &target, &mut history).await;
                }
                Decision::Publish(finding) => {
                    history.record_finding(&finding);
                    match finding.code {
                        PodFindingCode::ProxyEndFailed
                        | PodFindingCode::HelperEndFailed
                        | PodFindingCode::Forbidden => {
                            return Ok(SweepResult::Failed(event_note(&finding.to_finding())));
                        }
                        _ => {}
                    }
                }
                Decision::Skip(SkipReason::Ended | SkipReason::Finished | SkipReason::NativeProxy) => {
                    return Ok(SweepResult::Terminated);
                }
                Decision::Skip(skip) => return Ok(SweepResult::NotNeeded(skip.text().to_owned())),
                Decision::Wait {
                    reason:
                        WaitReason::Ending
                        | WaitReason::BackingOff
                        | WaitReason::InFlight
                        | WaitReason::GivenUp
                        | WaitReason::Settling,
                    ..
                } => sleep(POLL_INTERVAL).await,
                Decision::Wait { reason, .. } => return Ok(SweepResult::NotNeeded(reason.text().to_owned())),
            }
        }
        Ok(SweepResult::Failed(last))
    }

    async fn perform(
        &self,
        facts: &PodFacts,
        attempt: &Attempt,
        target: &TerminationTarget,
        history: &mut History,
    ) -> String {
        let container =
            action::ContainerRef { namespace: &facts.namespace, pod: &facts.name, container: &target.container };
        let limit = self.settings.attempt_timeout.0;
        let outcome = action::perform(self.client.clone(), container, &attempt.action, limit).await;
        let summary = format!("{}: {} {}", attempt.method.name(), outcome.result.name(), outcome.detail);
        history.record(target, attempt, outcome, 0.0, Timestamp::now());
        summary.trim_end().to_owned()
    }

    /// Returns the pod of `facts` if it is stuck.
    fn stuck_pod(&self, facts: &PodFacts, now: Timestamp) -> Option<StuckPod> {
        let opted_out = facts.opted_out;
        let facts = &PodFacts { opted_out: false, ..facts.clone() };
        let mut history = History::default();
        let decision = loop {
            match self.decide(facts, &history, now) {
                Decision::Publish(finding) => history.record_finding(&finding),
                decision => break decision,
            }
        };
        let reason = match decision {
            Decision::Terminate { target: TerminationTarget { role: Role::Proxy, container, .. }, .. } => {
                format!("the main containers have completed, but proxy {container} is still running")
            }
            Decision::Terminate { target: TerminationTarget { role: Role::Sidecar, container, .. }, .. } => {
                format!("the main containers have completed, but sidecar {container} is still running")
            }
            Decision::Wait { reason: reason @ (WaitReason::HelperStarting | WaitReason::ProxyStarting), .. } => {
                format!("the main containers have completed, but {}", reason.text())
            }
            _ => return None,
        };
        let main = facts.containers.iter().filter(|container| container.kind == ContainerKind::App);
        let since = main.filter_map(|container| match container.state {
            ContainerState::Terminated { finished, .. } => finished,
            _ => None,
        });
        Some(StuckPod {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            reason,
            since: since.max(),
            opted_out,
            uid: facts.uid.clone(),
        })
    }

    fn decide(&self, facts: &PodFacts, history: &History, now: Timestamp) -> Decision {
        let Self { client: _, settings, catalog } = self;
        decide(&DecisionInput { facts, mode: Ok(Mode::Enabled), settings, catalog, history, now })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use trainmesh_core::config::Configuration;
    use trainmesh_core::pod::Pod;

    /// Checks a pod with these labels and these states of its main container and proxy.
    #[rstest]
    #[case::stuck(json!({}), json!({"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}}), json!({"running": {}}),
        Some(("the main containers have completed, but proxy istio-proxy is still running", false)))]
    #[case::opted_out(json!({"trainmesh.dev/inject": "disabled"}),
        json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}), json!({"running": {}}),
        Some(("the main containers have completed, but proxy istio-proxy is still running", true)))]
    #[case::proxy_cannot_start(json!({}), json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}}),
        json!({"waiting": {"reason": "CrashLoopBackOff"}}), Some(("the main containers have completed, but the proxy is not running yet", false)))]
    #[case::completed_within_the_stabilization_window(json!({}), json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:59Z"}}),
        json!({"running": {}}), None)]
    #[case::running(json!({}), json!({"running": {}}), json!({"running": {}}), None)]
    #[tokio::test]
    async fn finds_stuck_pods(
        #[case] labels: Value,
        #[case] main: Value,
        #[case] proxy: Value,
        #[case] expected: Option<(&str, bool)>,
    ) {
        let pod = json!({
            "metadata": {"namespace": "team-a", "name": "a", "uid": "1", "labels": labels},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "istio-proxy"}, {"name": "train"}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "istio-proxy", "containerID": "c://1", "state": proxy},
                {"name": "train", "containerID": "c://2", "state": main},
            ]},
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let settings = Configuration::embedded().termination;
        let sweeper = Sweeper::new(Client::try_from(config).unwrap(), settings);
        let found = sweeper.stuck_pod(&PodFacts::read(Pod::new(&pod)), "2026-01-01T00:00:59.5Z".parse().unwrap());
        assert_eq!(found.as_ref().map(|found| (found.reason.as_str(), found.opted_out)), expected);
    }
}
