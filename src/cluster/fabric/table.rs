//! A watch whose objects are kept in a light form, and told as a whole.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::chain;

/// Quotas change with every pod; rights are given by people.
const PACE: Pace = Pace { together: Duration::from_millis(100), seldom: Duration::from_mins(5) };

/// Namespace (empty where there is none) and name of an object.
pub(super) type Key = (String, String);

/// How often something is done.
#[derive(Clone, Copy)]
struct Pace {
    /// Changes of this time are told together.
    together: Duration,
    /// How long what may not be read is left alone.
    seldom: Duration,
}

/// Watches what `only` selects until `stop`, keeps what `light` makes of each object, and tells all of it whenever it has
/// changed, the first time when the list is complete. `None` is told where it may not be read; `what` it is, the log says.
pub(super) async fn keep<K, V>(
    api: Api<K>,
    only: watcher::Config,
    what: &str,
    light: impl Fn(K) -> Option<V>,
    tell: impl FnMut(Option<&BTreeMap<Key, V>>),
    stop: CancellationToken,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    V: PartialEq,
{
    let events = watcher(api, only).default_backoff().boxed();
    follow(events, what, PACE, light, tell, stop).await;
}

async fn follow<K: Resource, V: PartialEq>(
    mut events: impl Stream<Item = watcher::Result<Event<K>>> + Unpin,
    what: &str,
    pace: Pace,
    light: impl Fn(K) -> Option<V>,
    mut tell: impl FnMut(Option<&BTreeMap<Key, V>>),
    stop: CancellationToken,
) {
    let mut table = Table::default();
    let mut due: Option<Instant> = None;
    let mut refused = false;
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                tell(Some(&table.known));
                continue;
            }
            // Cancelled by a time that has come only while no event is there.
            event = events.next() => event,
        };
        match event {
            Some(Ok(event)) => {
                if table.apply(event, &light) && due.is_none() {
                    due = Some(Instant::now() + pace.together);
                }
                refused = false;
            }
            Some(Err(error)) if is_refused(&error) => {
                if !std::mem::replace(&mut refused, true) {
                    tracing::warn!("{what} cannot be read, so nothing is concluded from them: {}", chain(&error));
                }
                (table, due) = (Table::default(), None);
                tell(None);
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = sleep(pace.seldom) => {}
                }
            }
            Some(Err(error)) => tracing::warn!("watch of {what} failed: {}", chain(&error)),
            None => return,
        }
    }
}

struct Table<V> {
    known: BTreeMap<Key, V>,
    /// A list that is not complete yet.
    listed: BTreeMap<Key, V>,
    complete: bool,
}

impl<V: PartialEq> Table<V> {
    /// Whether what is known has changed.
    fn apply<K: Resource>(&mut self, event: Event<K>, light: impl Fn(K) -> Option<V>) -> bool {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let key = key(&object);
                self.listed.extend(light(object).map(|value| (key, value)));
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let changed = !std::mem::replace(&mut self.complete, true) || listed != self.known;
                self.known = listed;
                return changed;
            }
            Event::Apply(object) => {
                let key = key(&object);
                return match light(object) {
                    Some(value) if self.known.get(&key) == Some(&value) => false,
                    Some(value) => {
                        self.known.insert(key, value);
                        true
                    }
                    None => self.known.remove(&key).is_some(),
                };
            }
            Event::Delete(object) => return self.known.remove(&key(&object)).is_some(),
        }
        false
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), listed: BTreeMap::new(), complete: false }
    }
}

fn key(object: &impl Resource) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Whether asking again soon is of no use: it is forbidden, or there is no such kind.
fn is_refused(error: &watcher::Error) -> bool {
    let refused = |status: &kube::core::Status| matches!(status.code, 401 | 403 | 404 | 405);
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            matches!(error, kube::Error::Api(status) if refused(status))
        }
        watcher::Error::WatchError(status) => refused(status),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{ObjectMeta, Status};

    use super::*;

    /// Fast, and the one far from the other.
    const TEST: Pace = Pace { together: Duration::from_millis(2), seldom: Duration::from_millis(50) };

    fn named(name: &str, version: &str) -> ConfigMap {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    /// What is told of these events; `-` is that nothing is known.
    async fn told(events: Vec<watcher::Result<Event<ConfigMap>>>) -> Vec<String> {
        let mut told = Vec::new();
        // Each event comes when what the one before has changed was told.
        let events = stream::iter(events).then(|event| async {
            sleep(2 * TEST.together).await;
            event
        });
        let events = events.chain(stream::once(async {
            sleep(2 * TEST.together).await;
            Ok(Event::Init)
        }));
        let tell = |known: Option<&BTreeMap<Key, String>>| {
            let names = |known: &BTreeMap<Key, String>| known.keys().map(|(_, name)| name.as_str()).collect();
            told.push(known.map_or("-".to_owned(), names));
        };
        let light = |map: ConfigMap| map.name_any().starts_with('x').then(|| map.name_any());
        follow(Box::pin(events), "maps", TEST, light, tell, CancellationToken::new()).await;
        told
    }

    fn forbidden() -> watcher::Result<Event<ConfigMap>> {
        let status = Status { code: 403, ..Status::default() };
        Err(watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status))))
    }

    #[tokio::test]
    async fn a_list_is_told_when_it_is_complete() {
        let events = vec![Ok(Event::Init), Ok(Event::InitApply(named("x", "1"))), Ok(Event::InitDone)];
        assert_eq!(told(events[..2].iter().map(|_| Ok(Event::Init)).collect()).await, Vec::<String>::new());
        assert_eq!(told(events).await, ["x"]);
        assert_eq!(told(vec![Ok(Event::Init), Ok(Event::InitDone)]).await, [""], "an empty one too");
    }

    #[tokio::test]
    async fn only_changes_of_the_light_form_are_told() {
        let listed = || vec![Ok(Event::Init), Ok(Event::InitDone)];
        let then = |more: Vec<Event<ConfigMap>>| listed().into_iter().chain(more.into_iter().map(Ok)).collect();
        assert_eq!(told(then(vec![Event::Apply(named("x", "1")), Event::Apply(named("x", "2"))])).await, ["", "x"]);
        assert_eq!(told(then(vec![Event::Apply(named("other", "1"))])).await, [""]);
        assert_eq!(
            told(then(vec![Event::Apply(named("x", "1")), Event::Delete(named("x", "1"))])).await,
            ["", "x", ""]
        );
        let again = vec![Event::Apply(named("x", "1")), Event::Init, Event::InitDone];
        assert_eq!(told(then(again)).await, ["", "x", ""], "gone while the watch was down");
    }

    #[tokio::test]
    async fn what_may_not_be_read_is_unknown() {
        let began = Instant::now();
        assert_eq!(told(vec![forbidden(), Ok(Event::Init), Ok(Event::InitDone)]).await, ["-", ""]);
        assert!(began.elapsed() > TEST.seldom);
        let failed = || Err(watcher::Error::NoResourceVersion);
        assert_eq!(told(vec![Ok(Event::Init), Ok(Event::InitDone), failed()]).await, [""], "what was known stays");
    }
}
