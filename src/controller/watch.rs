//! The pods that are watched, and when each is decided about.
//!
//! One watch by the configuration's selector, and one for pods that the webhook has marked. A pod is decided about when
//! it is first listed, when it changes, when it said so itself the last time, when the configuration or the opt-in of
//! its namespace changes, and every few minutes anyway.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, Stream, StreamExt as _, future, stream};
use jiff::Timestamp;
use kube::Api;
use kube::runtime::controller::{Config, Error, ReconcileRequest, applier};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt as _, reflector as reflect};
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use super::pod::Watched;
use super::reconcile::{Context, reconcile};
use crate::cluster::namespaces::{Labels, Namespaces as _};
use trainmesh_core::error::chain;
use trainmesh_core::{keys, scope};

/// How often every pod is decided about again: whatever was missed is found by then. A decision costs microseconds, and
/// no call.
const RESYNC: Duration = Duration::from_mins(5);
/// Pods that are decided about at once: more than the limiter keeps in line and lets act, so that pods that need no action
/// are never behind those that wait for one.
const CONCURRENCY: u16 = 2048;
/// Pods in one page, where the list does not come as a stream: the page is read as a whole before it is decoded, and one
/// pod may have more than 1 MiB.
const PAGE: u32 = 50;

type Request = Result<ReconcileRequest<Watched>, Infallible>;

/// Which pods are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Those that the configuration's selector finds.
    Configured(String),
    /// Those that the webhook has marked.
    Marked,
}

/// Watches the pods of `selection`, and acts on them, until `stop`; what is under way is finished.
pub(super) async fn watch(context: Arc<Context>, selection: Selection, streams_lists: bool, stop: CancellationToken) {
    let marked = selection == Selection::Marked;
    let selector = match selection {
        Selection::Configured(selector) => selector,
        Selection::Marked => format!("{}=true", keys::MANAGED),
    };
    let config = watcher::Config::default().labels(&selector);
    let config = if streams_lists { config.streaming_lists() } else { config.page_size(PAGE) };
    let (store, writer) = reflector::store();
    let events = reflect(writer, watcher(Api::all(context.client.clone()), config).default_backoff());
    let changed = events.filter_map({
        let context = Arc::clone(&context);
        move |event| {
            if let Some(event) = event.as_ref().ok().filter(|_| marked) {
                context.gangs.note(event);
            }
            future::ready(noted(&context, event).map(Ok))
        }
    });
    let queue = stream::select(changed, again(&context, store.clone())).take_until(stop.cancelled_owned());
    let config = Config::default().concurrency(CONCURRENCY);
    let reconcile = |pod, context| reconcile(pod, context).boxed();
    let done = applier(reconcile, |_, error: &Infallible, _| match *error {}, context, store, Box::pin(queue), config);
    done.for_each(|done| {
        match done {
            // A pod that was deleted before its turn came.
            Ok(_) | Err(Error::ObjectNotFound(_)) => {}
            Err(error) => tracing::debug!("{}", chain(&error)),
        }
        future::ready(())
    })
    .await;
}

/// Notes what the watch says; the pod to decide about.
fn noted(context: &Context, event: Result<Event<Watched>, watcher::Error>) -> Option<ReconcileRequest<Watched>> {
    match event {
        Ok(Event::Apply(pod) | Event::InitApply(pod)) => Some(ObjectRef::from_obj(&pod).into()),
        Ok(Event::Delete(pod)) => {
            context.memory.forget(&pod.facts.uid);
            None
        }
        Ok(Event::Init | Event::InitDone) => None,
        Err(error) => {
            tracing::warn!("watch of the pods failed: {}", chain(&error));
            None
        }
    }
}

/// Pods to decide about though they have not changed.
fn again(context: &Arc<Context>, store: Store<Watched>) -> impl Stream<Item = Request> + Send + use<> {
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + RESYNC, RESYNC);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let resync = stream::unfold(ticks, |mut ticks| async move {
        ticks.tick().await;
        Some(((), ticks))
    });
    let resync = resync.inspect({
        let context = Arc::clone(context);
        move |()| context.memory.forget_idle(Timestamp::now() - 3 * RESYNC)
    });
    let all = stream::select(resync, changes(context.settings.subscribe())).flat_map({
        let store = store.clone();
        move |()| stream::iter(store.state())
    });
    let mut opt_ins = OptIns::default();
    let namespaces = Arc::clone(&context.namespaces);
    let opted = changes(namespaces.changes()).flat_map(move |()| {
        let known = |namespace: &str| namespaces.known(namespace);
        stream::iter(opt_ins.affected(store.state(), known))
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

/// What namespaces said of their opt-in when they were last looked at. Most changes of labels are about something else,
/// and new namespaces have no pods yet.
#[derive(Default)]
struct OptIns {
    seen: HashMap<Box<str>, Option<[Option<String>; 2]>>,
}

impl OptIns {
    /// Those of `pods` whose namespaces say something else than the last time.
    fn affected(&mut self, pods: Vec<Arc<Watched>>, known: impl Fn(&str) -> Option<Arc<Labels>>) -> Vec<Arc<Watched>> {
        let mut now: HashMap<Box<str>, Option<[Option<String>; 2]>> = HashMap::new();
        for pod in &pods {
            if !now.contains_key(&pod.facts.namespace) {
                let labels = known(&pod.facts.namespace);
                let said = labels.map(|labels| scope::LABELS.map(|key| labels.get(key).cloned()));
                now.insert(pod.facts.namespace.clone(), said);
            }
        }
        let before = std::mem::replace(&mut self.seen, now);
        let changed = |pod: &Arc<Watched>| before.get(&pod.facts.namespace) != self.seen.get(&pod.facts.namespace);
        pods.into_iter().filter(changed).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_follow_the_opt_in_of_their_namespace() {
        let pod = |namespace: &str| {
            let raw = json!({"metadata": {"namespace": namespace, "name": "a"}});
            Arc::new(serde_json::from_value::<Watched>(raw).unwrap())
        };
        let pods = || vec![pod("a"), pod("b"), pod("b")];
        let known = |b: &'static str| {
            move |namespace: &str| {
                let said = if namespace == "b" { b } else { "enabled" };
                let labels = [("trainmesh.dev/inject", said), ("team", said)];
                Some(Arc::new(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()))
            }
        };
        let mut opt_ins = OptIns::default();
        let mut affected = |b| opt_ins.affected(pods(), known(b)).len();
        assert_eq!(affected("enabled"), 3, "nothing was known");
        assert_eq!(affected("enabled"), 0);
        assert_eq!(affected("audit"), 2);
        let other_label = |_: &str| Some(Arc::new(Labels::from([("team".to_owned(), "x".to_owned())])));
        assert_eq!(opt_ins.affected(pods(), other_label).len(), 3, "all have lost it");
        assert_eq!(opt_ins.affected(pods(), |_| None).len(), 3, "and now they are gone");
    }
}
