//! The controller's decisions and actions for a one-time run: lists stuck pods and terminates their sidecars.
//!
//! It needs neither a lease nor the controller's history. The user names the namespace, so its opt-in is not required;
//! the opt-out of a pod is respected.

mod blocked;
#[cfg(test)]
mod tests;

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
    Attempt, Completion, ContainerState, Decision, DecisionInput, History, PodFacts, PodFindingCode, PodOverview, Role,
    SidecarCatalog, SkipReason, TerminationTarget, WaitReason, decide,
};
use trainmesh_core::scope::Mode;

/// Interval at which a pod is read while its sidecars terminate.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time limit for one pod, sufficient for all termination methods.
const POD_TIMEOUT: Duration = Duration::from_mins(1);
/// Documentation to read after the last method has failed.
const NEXT_STEP: &str = "see docs/termination.md#termination-methods";
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

/// Result of terminating the sidecars of a pod, and what was done before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepOutcome {
    /// Sidecars that terminated after an attempt.
    pub terminated: Vec<Box<str>>,
    /// The result.
    pub result: SweepResult,
}

/// Result of terminating the sidecars of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepResult {
    /// No sidecar is left that prevents completion.
    Terminated,
    /// No action is needed any more, with the reason.
    NotNeeded(String),
    /// Only sidecars that cannot be terminated still run, with the reasons: another attempt has the same result.
    Blocked(String),
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
    pub async fn terminate(&self, pod: &StuckPod) -> Result<SweepOutcome, Box<kube::Error>> {
        let mut terminated = Vec::new();
        let result = self.attempt(pod, &mut terminated).await?;
        Ok(SweepOutcome { terminated, result })
    }

    /// Terminates the sidecars of `pod`. `terminated` gets the names of those that were seen to terminate.
    async fn attempt(&self, pod: &StuckPod, terminated: &mut Vec<Box<str>>) -> Result<SweepResult, Box<kube::Error>> {
        let api: Api<WatchedPod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let deadline = Instant::now() + POD_TIMEOUT;
        let mut history = History::default();
        let mut attempted: Vec<Box<str>> = Vec::new();
        let mut last = String::from("no response from the apiserver");
        while Instant::now() < deadline {
            let facts = match timeout(READ_TIMEOUT, api.get_opt(&pod.name)).await {
                Ok(Ok(Some(read))) if read.facts.uid == pod.uid => read.facts,
                Ok(Ok(_)) => return Ok(SweepResult::NotNeeded("the pod no longer exists".to_owned())),
                Ok(Err(error)) => return Err(Box::new(error)),
                Err(_) => continue,
            };
            *terminated = attempted.iter().filter(|name| has_terminated(&facts, name)).cloned().collect();
            match self.decide(&facts, &history, Timestamp::now()) {
                Decision::Terminate { attempt, target } => {
                    if !attempted.contains(&target.container) {
                        attempted.push(target.container.clone());
                    }
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
                Decision::Skip(skip) => {
                    return Ok(match (self.blocked(&facts, skip, Timestamp::now()), skip) {
                        (Some(reason), _) => SweepResult::Blocked(reason),
                        (None, SkipReason::Ended | SkipReason::Finished | SkipReason::NativeProxy) => {
                            SweepResult::Terminated
                        }
                        (None, skip) => SweepResult::NotNeeded(skip.text().to_owned()),
                    });
                }
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
        let (container, method, result) = (&target.container, attempt.method.name(), outcome.result.text());
        let detail = if outcome.detail.is_empty() { String::new() } else { format!(": {}", outcome.detail) };
        let summary = format!("{container}: {method}: {result}{detail}; {NEXT_STEP}");
        history.record(target, attempt, outcome, 0.0, Timestamp::now());
        summary
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
        let target = match &decision {
            Decision::Terminate { target: TerminationTarget { role: Role::Proxy, container, .. }, .. } => {
                Some(format!("proxy {container} is still running"))
            }
            Decision::Terminate { target: TerminationTarget { role: Role::Sidecar, container, .. }, .. } => {
                Some(format!("sidecar {container} is still running"))
            }
            Decision::Wait { reason: reason @ (WaitReason::HelperStarting | WaitReason::ProxyStarting), .. } => {
                Some(reason.text().to_owned())
            }
            Decision::Skip(_) => None,
            _ => return None,
        };
        let blocked = match decision {
            Decision::Skip(skip) => Some(self.blocked(facts, skip, now)?),
            _ => self.describe_blocked(facts, now),
        };
        let causes: Vec<String> = target.into_iter().chain(blocked).collect();
        let reason = format!("the main containers have completed, but {}", causes.join(", and "));
        let since = match PodOverview::new(facts, &self.settings, &self.catalog).completion {
            Completion::Completed(since) => since,
            Completion::Pending => None,
        };
        Some(StuckPod {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            reason,
            since,
            opted_out,
            uid: facts.uid.clone(),
        })
    }

    /// Returns the sidecars that keep a pod, which is skipped because of `skip`, from completing.
    fn blocked(&self, facts: &PodFacts, skip: SkipReason, now: Timestamp) -> Option<String> {
        use SkipReason::{Ambient, Ended, HostNetwork, NativeProxy, NothingToEnd, PayloadUnknown, ProxyNeverEnds};

        let is_done = matches!(skip, Ambient | Ended | NativeProxy | NothingToEnd | ProxyNeverEnds);
        if is_done || matches!(skip, HostNetwork | PayloadUnknown) { self.describe_blocked(facts, now) } else { None }
    }

    fn describe_blocked(&self, facts: &PodFacts, now: Timestamp) -> Option<String> {
        blocked::describe(facts, &self.settings, &self.catalog, now)
    }

    fn decide(&self, facts: &PodFacts, history: &History, now: Timestamp) -> Decision {
        let Self { client: _, settings, catalog } = self;
        decide(&DecisionInput { facts, mode: Ok(Mode::Enabled), settings, catalog, history, now })
    }
}

/// Returns true if the container of this name has terminated.
fn has_terminated(facts: &PodFacts, name: &str) -> bool {
    let named = facts.containers.iter().find(|container| *container.name == *name);
    named.is_some_and(|container| matches!(container.state, ContainerState::Terminated { .. }))
}
