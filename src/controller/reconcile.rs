//! Reconciles one pod: decide, read the pod again, decide again, act, record.
//!
//! The cache may be stale. So before an action the pod is read again, and the decision is repeated for the current pod:
//! the same uid, the same instance of the container. The effect of an action is observed in the pod's status, at its
//! next change or when the decision requeues the pod.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Api;
use kube::runtime::controller::Action;

use super::action;
use super::context::Context;
use super::histories::Step;
use super::limiter::Permit;
use super::missed;
use super::pod::{Pods, WatchedPod};
use super::publish::FindingCode;
use super::refused;
use crate::cluster::events;
use crate::cluster::namespaces::Labels;
use crate::reload::Active;
use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::error::chain;
use trainmesh_core::lifecycle::{Attempt, Decision, PodFacts, TerminationTarget};
use trainmesh_core::mutate::{RuleId, Snapshot, missed_rules};
use trainmesh_core::scope::Mode;

/// Delay before a retry if the namespace or the pod could not be read.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Time beyond its timeout for which an action counts as in flight.
const IN_FLIGHT_MARGIN: Duration = Duration::from_secs(5);

/// Performs the actions that are due for `pod` and returns when to reconcile it again.
pub(super) async fn reconcile(pod: Arc<WatchedPod>, context: Arc<Context>) -> Result<Action, Infallible> {
    let action = run_decisions(&pod, &context).await;
    if let Some(check) = pending_check(&pod.facts, &context) {
        Box::pin(check_webhook(&pod.facts, check, &context)).await;
    }
    if refused::take_due(&pod, &context) {
        Box::pin(refused::publish(&pod, &context.publisher)).await;
    }
    Ok(action)
}

/// Decides and acts until nothing is due for `pod`, and returns when to reconcile it again.
///
/// The futures of rare steps are boxed: thousands of pods are reconciled concurrently, and most need none of them.
async fn run_decisions(pod: &WatchedPod, context: &Context) -> Action {
    let mut current: Option<WatchedPod> = None;
    // `current` is up to date as long as a permit is held.
    let mut permit: Option<Permit> = None;
    while !context.stop.is_cancelled() {
        let facts = current.as_ref().map_or(&pod.facts, |current| &current.facts);
        let Some(active) = context.settings.active() else { break };
        let limit = active.config.termination.attempt_timeout.0;
        let in_flight_until = permit.is_some().then(|| Timestamp::now() + limit + IN_FLIGHT_MARGIN);
        match context.decide(facts, &active, in_flight_until) {
            None => return Action::requeue(RETRY_DELAY),
            Some(Decision::Wait { until, .. }) => return requeue_at(until),
            Some(Decision::Skip(_)) => return Action::await_change(),
            Some(Decision::Publish(finding)) => {
                permit = None;
                Box::pin(context.publisher.publish_pod_finding(facts, &finding)).await;
            }
            Some(Decision::Terminate { attempt, target }) => match permit.take() {
                Some(permit) => Box::pin(perform(facts, &attempt, &target, limit, permit, context)).await,
                None => match Box::pin(acquire(facts, context)).await {
                    Ok((granted, read)) => {
                        permit = Some(granted);
                        current = Some(read);
                    }
                    Err(action) => return action,
                },
            },
        }
    }
    Action::await_change()
}

/// Waits for the pod's turn, reads the pod again, and takes a slot for an action. Returns the requeue action if that
/// fails.
///
/// No slot is held while the pod is read, so that neither a long queue nor a slow apiserver blocks others.
async fn acquire(facts: &PodFacts, context: &Context) -> Result<(Permit, WatchedPod), Action> {
    let node = facts.node.as_deref().ok_or_else(Action::await_change)?;
    let turn = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Err(Action::await_change()),
        turn = context.limiter.wait_for_turn(&facts.namespace, node) => turn.map_err(requeue_after)?,
    };
    let pods: Pods = Api::namespaced(context.client.clone(), &facts.namespace);
    match context.read(pods.get_opt(&facts.name)).await {
        Ok(Ok(Some(read))) if read.facts.uid == facts.uid => Ok((turn.acquire().map_err(requeue_after)?, read)),
        // Deleted, or replaced by another pod with the same name, which is reconciled separately.
        Ok(Ok(_)) => Err(Action::await_change()),
        Ok(Err(error)) => {
            tracing::warn!(namespace = %facts.namespace, pod = %facts.name, "could not read the pod: {}", chain(&error));
            Err(Action::requeue(RETRY_DELAY))
        }
        Err(_) => Err(Action::requeue(RETRY_DELAY)),
    }
}

async fn perform(
    facts: &PodFacts,
    attempt: &Attempt,
    target: &TerminationTarget,
    limit: Duration,
    permit: Permit,
    context: &Context,
) {
    let container =
        action::ContainerRef { namespace: &facts.namespace, pod: &facts.name, container: &target.container };
    let outcome = action::perform(context.client.clone(), container, &attempt.action, limit).await;
    permit.finish(outcome.result, limit);
    let (method, result) = (attempt.method.name(), outcome.result.name());
    tracing::debug!(
        namespace = %facts.namespace, pod = %facts.name, container = %target.container, method, result,
        detail = outcome.detail, "attempted"
    );
    context.metrics.lifecycle.record_attempt(method, result);
    context.histories.record(&facts.uid, target, attempt, outcome, Timestamp::now());
}

/// Context for the check of a pod that the webhook may have missed.
struct WebhookCheck {
    active: Arc<Active>,
    labels: Arc<Labels>,
    mode: Mode,
}

/// Returns the check that is due for a pod, if the rate limit allows it; otherwise it stays due.
fn pending_check(facts: &PodFacts, context: &Context) -> Option<WebhookCheck> {
    let active = context.settings.active()?;
    let (labels, since) = context.namespaces.cached_since(&facts.namespace)?;
    let mode = context.installation.namespace_mode(&facts.namespace, &labels).ok()?;
    let due = missed::is_candidate(facts, mode, since)
        && context.histories.is_due(&facts.uid, Step::WebhookCheck)
        && context.webhook_checks.try_take();
    due.then_some(WebhookCheck { active, labels, mode })
}

/// Checks if the webhook has missed a new pod, and reports it.
async fn check_webhook(facts: &PodFacts, check: WebhookCheck, context: &Context) {
    let WebhookCheck { active, labels, mode } = check;
    let fetch = missed::fetch(&context.client, &facts.namespace, &facts.name);
    let Ok(Ok(pod)) = context.read(fetch).await else { return };
    if !context.histories.mark_done(&facts.uid, Step::WebhookCheck) {
        return;
    }
    let Some(pod) = pod else { return };
    let Active { config, hash, catalog: _ } = &*active;
    let snapshot = Snapshot {
        mode,
        namespace: &facts.namespace,
        namespace_labels: &labels,
        labels_assumed: false,
        config,
        config_hash: hash,
        replicas: None,
        cluster: ClusterView::default(),
    };
    let missed: Vec<&str> = missed_rules(&pod, &snapshot).into_iter().map(RuleId::name).collect();
    if missed.is_empty() {
        return;
    }
    let note = format!(
        "created without {}: the webhook was not called, or the call failed. Check the webhook configuration and the webhook's log",
        missed.join(", ")
    );
    let pod = events::pod(&facts.namespace, &facts.name, &facts.uid);
    context.publisher.publish(&pod, FindingCode::PodMissedByWebhook, note).await;
}

fn requeue_at(until: Option<Timestamp>) -> Action {
    let Some(until) = until else { return Action::await_change() };
    // A time that has passed meanwhile is due at once.
    Action::requeue(Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default())
}

/// Requeues after `wait` with jitter.
fn requeue_after(wait: Duration) -> Action {
    Action::requeue(wait.mul_f64(1.0 + fastrand::f64() / 2.0))
}
