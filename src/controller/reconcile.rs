//! One pod, from what is known of it to what is done: decide, look again, act, note, decide again.
//!
//! A cache may be old. So before anything is done the pod is read anew, and what was decided is decided once more about
//! the pod as it is then: the same uid, the same instance of the container. Whether an action had an effect is seen in
//! the pod's status, at its next change or when the decision asks for another look.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::controller::Action;
use kube::{Api, Client};
use tokio::sync::Semaphore;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::gangs::Gangs;
use super::limiter::{ActionLimiter, Permit};
use super::memory::Memory;
use super::missed;
use super::pod::{Pods, Watched};
use super::publish::{Code, Publisher};
use super::quit;
use crate::bucket::Bucket;
use crate::cluster::events;
use crate::cluster::namespaces::{Labels, NamespaceCache};
use crate::reload::{Active, Settings};
use crate::telemetry::Metrics;
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::error::chain;
use trainmesh_core::lifecycle::{self, Decision, History, PodFacts, Situation, Step, Target};
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::scope::{Installation, Mode};

/// How soon to come back where the namespace or the pod could not be read.
const SOON: Duration = Duration::from_secs(1);
/// How long reading one pod may take.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Pods that are read at once. The text of one has up to 9 MiB: etcd takes 1.5 MiB, of which JSON makes six times as much
/// where all of it is control characters. A read takes milliseconds, so that a few at a time outrun the limit of actions.
pub(super) const READS: usize = 8;
/// How much longer than its time-out an action may count as under way: for what surrounds it.
const SLACK: Duration = Duration::from_secs(5);

/// What pods are decided and acted upon with.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) namespaces: Arc<NamespaceCache>,
    pub(super) installation: Installation,
    pub(super) settings: Arc<Settings>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) publisher: Arc<Publisher>,
    pub(super) memory: Memory,
    /// Pods that were given a fabric.
    pub(super) gangs: Arc<Gangs>,
    pub(super) limiter: ActionLimiter,
    /// For looks at what the webhook has done.
    pub(super) looks: Bucket,
    /// Places for reading a pod: [`READS`].
    pub(super) reads: Semaphore,
    /// No new action from then on.
    pub(super) stop: CancellationToken,
}

impl Context {
    /// Decides about the pod of `facts` now; `None` where its namespace is not known yet. See [`Memory::decide`].
    fn decide(&self, facts: &PodFacts, active: &Active, claim: Option<Timestamp>) -> Option<Decision> {
        let (labels, _) = self.namespaces.known_since(&facts.namespace)?;
        let settings = &active.config.termination;
        let (mode, now) = (self.installation.namespace_mode(&facts.namespace, &labels), Timestamp::now());
        let decide = |history: &History| {
            lifecycle::decide(&Situation { facts, mode, settings, catalogue: &active.catalogue, history, now })
        };
        Some(self.memory.decide(&facts.uid, now, claim, decide))
    }

    /// Waits for a place for `reading` a pod, and gives it [`READ_TIMEOUT`].
    async fn read<T>(&self, reading: impl Future<Output = T>) -> Result<T, Elapsed> {
        // The semaphore is never closed.
        let _place = self.reads.acquire().await.ok();
        timeout(READ_TIMEOUT, reading).await
    }
}

/// Does what is to be done about `pod` now, and says when to ask again.
pub(super) async fn reconcile(pod: Arc<Watched>, context: Arc<Context>) -> Result<Action, Infallible> {
    let action = settle(&pod, &context).await;
    if let Some(suspicion) = suspicion(&pod.facts, &context) {
        Box::pin(look(&pod.facts, suspicion, &context)).await;
    }
    Ok(action)
}

/// The waits are boxed: thousands of pods are decided about at once, and most of them need none.
async fn settle(pod: &Watched, context: &Context) -> Action {
    let mut fresh: Option<Watched> = None;
    // While there is a permit, `fresh` is the pod as it is now.
    let mut permit: Option<Permit> = None;
    while !context.stop.is_cancelled() {
        let facts = fresh.as_ref().map_or(&pod.facts, |fresh| &fresh.facts);
        let Some(active) = context.settings.active() else { break };
        let limit = active.config.termination.attempt_timeout.0;
        let claim = permit.is_some().then(|| Timestamp::now() + limit + SLACK);
        match context.decide(facts, &active, claim) {
            None => return Action::requeue(SOON),
            Some(Decision::Wait { until, .. }) => return rest(until),
            Some(Decision::Skip(_)) => return Action::await_change(),
            Some(Decision::Report(report)) => {
                permit = None;
                Box::pin(context.publisher.report(facts, &report)).await;
            }
            Some(Decision::End { step, target }) => match permit.take() {
                Some(permit) => Box::pin(act(facts, &step, &target, limit, permit, context)).await,
                None => match Box::pin(approach(facts, context)).await {
                    Ok((granted, read)) => {
                        permit = Some(granted);
                        fresh = Some(read);
                    }
                    Err(action) => return action,
                },
            },
        }
    }
    Action::await_change()
}

/// Waits for the pod's turn, reads it again, and takes a place for an action. `Err`: when to come back instead.
///
/// No place is held before the pod has been read: neither a long line nor a slow apiserver keeps others from acting.
async fn approach(facts: &PodFacts, context: &Context) -> Result<(Permit, Watched), Action> {
    let node = facts.node.as_deref().ok_or_else(Action::await_change)?;
    let turn = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Err(Action::await_change()),
        turn = context.limiter.turn(&facts.namespace, node) => turn.map_err(later)?,
    };
    let pods: Pods = Api::namespaced(context.client.clone(), &facts.namespace);
    match context.read(pods.get_opt(&facts.name)).await {
        Ok(Ok(Some(read))) if read.facts.uid == facts.uid => Ok((turn.start().map_err(later)?, read)),
        // Gone, or another pod of the same name: about which there is a decision of its own.
        Ok(Ok(_)) => Err(Action::await_change()),
        Ok(Err(error)) => {
            tracing::warn!(namespace = %facts.namespace, pod = %facts.name, "could not read the pod: {}", chain(&error));
            Err(Action::requeue(SOON))
        }
        Err(_) => Err(Action::requeue(SOON)),
    }
}

async fn act(facts: &PodFacts, step: &Step, target: &Target, limit: Duration, permit: Permit, context: &Context) {
    let container = quit::Place { namespace: &facts.namespace, pod: &facts.name, container: &target.container };
    let attempt = quit::perform(context.client.clone(), container, &step.action, limit).await;
    permit.finish(attempt.result, limit);
    let (method, result) = (step.method.name(), attempt.result.name());
    tracing::debug!(
        namespace = %facts.namespace, pod = %facts.name, container = %target.container, method, result,
        detail = attempt.detail, "attempted"
    );
    context.metrics.lifecycle.attempt(method, result);
    context.memory.record(&facts.uid, target, step, attempt, Timestamp::now());
}

/// A pod that the webhook may have missed, in the namespace as it is known.
struct Suspicion {
    active: Arc<Active>,
    labels: Arc<Labels>,
    mode: Mode,
}

/// Whether to look at the pod; not while many others are being looked at: then at the next occasion.
fn suspicion(facts: &PodFacts, context: &Context) -> Option<Suspicion> {
    let active = context.settings.active()?;
    let (labels, since) = context.namespaces.known_since(&facts.namespace)?;
    let mode = context.installation.namespace_mode(&facts.namespace, &labels).ok()?;
    let due =
        missed::suspicious(facts, mode, since) && context.memory.looks_due(&facts.uid) && context.looks.try_take();
    due.then_some(Suspicion { active, labels, mode })
}

/// Looks whether the webhook has missed a new pod.
async fn look(facts: &PodFacts, suspicion: Suspicion, context: &Context) {
    let Suspicion { active, labels, mode } = suspicion;
    let fetch = missed::fetch(&context.client, &facts.namespace, &facts.name);
    let Ok(Ok(pod)) = context.read(fetch).await else { return };
    if !context.memory.looked_at(&facts.uid) {
        return;
    }
    let Some(pod) = pod else { return };
    let Active { config, hash, catalogue: _ } = &*active;
    let snapshot = Snapshot {
        mode,
        namespace: &facts.namespace,
        labels: &labels,
        config,
        config_hash: hash,
        replicas: None,
        cluster: ClusterView::default(),
    };
    let missed = missed::missed(&pod, &snapshot);
    if missed.is_empty() {
        return;
    }
    let note =
        format!("created without {}: did the call of the webhook fail, or is it not registered?", missed.join(", "));
    let pod = events::pod(&facts.namespace, &facts.name, &facts.uid);
    context.publisher.publish(&pod, Code::PodMissedByWebhook, note).await;
}

fn rest(until: Option<Timestamp>) -> Action {
    let Some(until) = until else { return Action::await_change() };
    // A time that has passed meanwhile is due at once.
    Action::requeue(Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default())
}

/// After `wait`, and not all at the same moment.
fn later(wait: Duration) -> Action {
    Action::requeue(wait.mul_f64(1.0 + fastrand::f64() / 2.0))
}
