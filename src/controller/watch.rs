//! Watches pods and queues them for reconciliation.
//!
//! One watch uses the configured selector, another selects the pods that the webhook has labeled. A pod is reconciled
//! when it is listed, when it changes, when its last reconciliation requeued it, when the configuration or its
//! namespace's opt-in changes, and at each resync.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, Stream, StreamExt as _, future, stream};
use jiff::Timestamp;
use kube::Api;
use kube::runtime::controller::{Config, Error, ReconcileRequest, applier};
use kube::runtime::reflector as reflect;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::pod::WatchedPod;
use super::reconcile::reconcile;
use super::selection::Selection;
use crate::cluster::namespaces::{Labels, Namespaces as _};
use crate::cluster::watched;
use trainmesh_core::error::chain;
use trainmesh_core::{keys, scope};

/// Interval at which every pod is reconciled again. A decision takes microseconds and makes no call.
const RESYNC: Duration = Duration::from_mins(5);
/// Maximum number of concurrent reconciliations: more than the limiter queues and runs, so that pods without an action
/// never wait for those with one.
const CONCURRENCY: u16 = 2048;
/// Page size for lists that are not streamed: a page is buffered as text, and each pod once more, before it is
/// decoded, and one pod can exceed 1 MiB.
const PAGE: u32 = 25;

type Request = Result<ReconcileRequest<WatchedPod>, Infallible>;

/// Watches and reconciles the pods of `selection` until `stop`; reconciliations in progress complete.
pub(super) async fn watch(
    context: Arc<Context>,
    selection: Selection,
    supports_streaming_lists: bool,
    stop: CancellationToken,
) {
    let is_managed = selection == Selection::Managed;
    let selector = match &selection {
        Selection::Configured(selector) => selector.clone(),
        Selection::Managed => format!("{}=true", keys::MANAGED),
    };
    let config = watcher::Config::default().labels(&selector);
    let config = if supports_streaming_lists { config.streaming_lists() } else { config.page_size(PAGE) };
    let (store, writer) = reflector::store();
    let events = reflect(writer, watched::events(Api::all(context.client.clone()), config));
    let changed = events.filter_map({
        let (context, selection) = (Arc::clone(&context), selection.clone());
        move |event| {
            if let Ok(event) = &event {
                context.suspects.apply(&selection, event);
                if is_managed {
                    context.gangs.apply(event);
                }
            }
            future::ready(handle_event(&context, event).map(Ok))
        }
    });
    let queue = stream::select(changed, requeues(&context, store.clone())).take_until(stop.cancelled_owned());
    let config = Config::default().concurrency(CONCURRENCY);
    let reconcile = |pod, context| reconcile(pod, context).boxed();
    let (counted, pods) = (Arc::clone(&context), store.clone());
    let done = applier(reconcile, |_, error: &Infallible, _| match *error {}, context, store, Box::pin(queue), config);
    let done = done.for_each(|done| {
        match done {
            // Deleted while it was queued.
            Ok(_) | Err(Error::ObjectNotFound(_)) => {}
            Err(error) => tracing::debug!("{}", chain(&error)),
        }
        future::ready(())
    });
    tokio::select! {
        biased;
        () = done => {}
        () = counted.inventory.count(&selection, &pods) => {}
    }
    counted.suspects.clear(&selection);
    counted.inventory.clear(&selection);
}

/// Handles a watch event and returns the pod to reconcile.
fn handle_event(
    context: &Context,
    event: Result<Event<WatchedPod>, watcher::Error>,
) -> Option<ReconcileRequest<WatchedPod>> {
    match event {
        Ok(Event::Apply(pod) | Event::InitApply(pod)) => Some(ObjectRef::from_obj(&pod).into()),
        Ok(Event::Delete(pod)) => {
            context.histories.remove(&pod.facts.uid);
            None
        }
        Ok(Event::Init | Event::InitDone) => None,
        Err(error) => {
            tracing::warn!("watch of the pods failed: {}", chain(&error));
            None
        }
    }
}

/// Yields pods to reconcile although they have not changed.
fn requeues(context: &Arc<Context>, store: Store<WatchedPod>) -> impl Stream<Item = Request> + Send + use<> {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + RESYNC, RESYNC);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let resync = stream::unfold(ticks, |mut ticks| async move {
        ticks.tick().await;
        Some(((), ticks))
    });
    let resync = resync.inspect({
        let context = Arc::clone(context);
        move |()| context.histories.remove_idle(Timestamp::now() - 3 * RESYNC)
    });
    let all = stream::select(resync, changes(context.settings.subscribe())).flat_map({
        let store = store.clone();
        move |()| stream::iter(store.state())
    });
    let mut opt_in_labels = OptInLabels::default();
    let namespaces = Arc::clone(&context.namespaces);
    let opted = changes(namespaces.changes()).flat_map(move |()| {
        let known = |namespace: &str| namespaces.cached(namespace);
        stream::iter(opt_in_labels.affected(store.state(), known))
    });
    stream::select(all, opted).map(|pod| Ok(ObjectRef::from_obj(&*pod).into()))
}

fn changes<T: Send + Sync + 'static>(receiver: Receiver<T>) -> impl Stream<Item = ()> + Send
where
    Receiver<T>: Send,
{
    stream::unfold(receiver, |mut receiver| async move {
        receiver.changed().await.ok()?;
        Some(((), receiver))
    })
}

/// Opt-in labels of namespaces as of the last call. Most label changes concern other keys, and new namespaces have no
/// pods yet.
#[derive(Default)]
struct OptInLabels {
    last: HashMap<Box<str>, Option<[Option<String>; 2]>>,
}

impl OptInLabels {
    /// Returns those of `pods` whose namespace's opt-in labels have changed since the last call.
    fn affected(
        &mut self,
        pods: Vec<Arc<WatchedPod>>,
        known: impl Fn(&str) -> Option<Arc<Labels>>,
    ) -> Vec<Arc<WatchedPod>> {
        let mut now: HashMap<Box<str>, Option<[Option<String>; 2]>> = HashMap::new();
        for pod in &pods {
            if !now.contains_key(&pod.facts.namespace) {
                let labels = known(&pod.facts.namespace);
                let values = labels.map(|labels| scope::LABELS.map(|key| labels.get(key).cloned()));
                now.insert(pod.facts.namespace.clone(), values);
            }
        }
        let before = std::mem::replace(&mut self.last, now);
        let changed = |pod: &Arc<WatchedPod>| before.get(&pod.facts.namespace) != self.last.get(&pod.facts.namespace);
        pods.into_iter().filter(changed).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_requeued_when_their_namespace_opts_in_or_out() {
        let pod = |namespace: &str| {
            let raw = json!({"metadata": {"namespace": namespace, "name": "a"}});
            Arc::new(serde_json::from_value::<WatchedPod>(raw).unwrap())
        };
        let pods = || vec![pod("a"), pod("b"), pod("b")];
        let known = |b: &'static str| {
            move |namespace: &str| {
                let value = if namespace == "b" { b } else { "enabled" };
                let labels = [("trainmesh.dev/inject", value), ("team", value)];
                Some(Arc::new(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()))
            }
        };
        let mut opt_in_labels = OptInLabels::default();
        let mut affected = |b| opt_in_labels.affected(pods(), known(b)).len();
        assert_eq!(affected("enabled"), 3, "first call");
        assert_eq!(affected("enabled"), 0);
        assert_eq!(affected("audit"), 2);
        let other_label = |_: &str| Some(Arc::new(Labels::from([("team".to_owned(), "x".to_owned())])));
        assert_eq!(opt_in_labels.affected(pods(), other_label).len(), 3, "the label is removed everywhere");
        assert_eq!(opt_in_labels.affected(pods(), |_| None).len(), 3, "the namespaces are deleted");
    }
}
