//! Watch loop that feeds an index: it debounces changes and treats what is forbidden as unknown.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until};

use super::Index;
use trainmesh_core::error::chain;

/// Time for which changes are collected: quotas change with every pod.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Delay before a forbidden resource is requested again: permissions change only when an administrator edits RBAC.
const FORBIDDEN_RETRY_DELAY: Duration = Duration::from_mins(5);

/// Options of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Name of the resource, for the log.
    resource: String,
    /// Time for which changes are collected before they are reported.
    debounce: Duration,
    /// Delay before a forbidden resource is requested again; `None` backs off as after any other error and keeps the
    /// known objects.
    forbidden_retry_delay: Option<Duration>,
}

impl Options {
    /// Returns the options for a required resource: changes are reported immediately, and known objects are kept on any
    /// error.
    pub(crate) fn required(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), debounce: Duration::ZERO, forbidden_retry_delay: None }
    }

    /// Sets the time for which changes are collected.
    pub(crate) fn with_debounce(self, debounce: Duration) -> Self {
        Self { debounce, ..self }
    }

    /// Returns the options for an optional resource: its objects become unknown if it is forbidden.
    pub(crate) fn optional(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), debounce: DEBOUNCE, forbidden_retry_delay: Some(FORBIDDEN_RETRY_DELAY) }
    }
}

/// Watches the objects of `api` that `config` selects, reduces them into `index`, and yields whenever the index
/// changes. The stream never ends.
pub(crate) fn watch<K, V>(
    api: Api<K>,
    config: watcher::Config,
    index: Arc<Index<V>>,
    options: Options,
    reduce: impl Fn(&K, Option<&V>) -> Option<V> + Send + 'static,
) -> impl Stream<Item = ()> + Send + 'static
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    V: PartialEq + Send + Sync + 'static,
{
    let events = watcher(api, config).default_backoff().boxed();
    changes(Feed { events, index, options, reduce, due: None, resume: None, forbidden: false })
}

/// An index and the events that feed it.
struct Feed<S, V, R> {
    events: S,
    index: Arc<Index<V>>,
    options: Options,
    reduce: R,
    /// Time at which to report pending changes.
    due: Option<Instant>,
    /// Time at which a pause ends.
    resume: Option<Instant>,
    /// Set while the resource is forbidden, so that it is logged once.
    forbidden: bool,
}

fn changes<K, S, V, R>(feed: Feed<S, V, R>) -> impl Stream<Item = ()>
where
    K: Resource,
    S: Stream<Item = watcher::Result<Event<K>>> + Unpin,
    V: PartialEq,
    R: Fn(&K, Option<&V>) -> Option<V>,
{
    stream::unfold(feed, |mut feed| async move { feed.changed().await.map(|()| ((), feed)) })
}

impl<K, S, V, R> Feed<S, V, R>
where
    K: Resource,
    S: Stream<Item = watcher::Result<Event<K>>> + Unpin,
    V: PartialEq,
    R: Fn(&K, Option<&V>) -> Option<V>,
{
    /// Waits until the index has changed; `None` when the events have ended.
    async fn changed(&mut self) -> Option<()> {
        if let Some(resume) = self.resume.take() {
            sleep_until(resume).await;
        }
        loop {
            let event = tokio::select! {
                biased;
                () = sleep_until(self.due.unwrap_or_else(Instant::now)), if self.due.is_some() => {
                    self.due = None;
                    return Some(());
                }
                // Cancel-safe: the timer wins only while no event is ready.
                event = self.events.next() => event?,
            };
            match event {
                Ok(event) => {
                    self.forbidden = false;
                    if self.index.apply(&event, &self.reduce) {
                        if self.options.debounce.is_zero() {
                            return Some(());
                        }
                        self.due.get_or_insert_with(|| Instant::now() + self.options.debounce);
                    }
                }
                Err(error) => {
                    let resource = &self.options.resource;
                    let Some(pause) = self.options.forbidden_retry_delay.filter(|_| is_rejected(&error)) else {
                        tracing::warn!("watch of {resource} failed: {}", chain(&error));
                        continue;
                    };
                    if !std::mem::replace(&mut self.forbidden, true) {
                        tracing::warn!("{resource} cannot be read and are treated as unknown: {}", chain(&error));
                    }
                    self.index.clear();
                    (self.due, self.resume) = (None, Some(Instant::now() + pause));
                    return Some(());
                }
            }
        }
    }
}

/// Returns true if an early retry is pointless: the request is forbidden, or the kind does not exist.
fn is_rejected(error: &watcher::Error) -> bool {
    let rejected = |status: &kube::core::Status| matches!(status.code, 401 | 403 | 404 | 405);
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            matches!(error, kube::Error::Api(status) if rejected(status))
        }
        watcher::Error::WatchError(status) => rejected(status),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::ResourceExt as _;
    use kube::core::{ObjectMeta, Status};
    use rstest::rstest;
    use tokio::time::sleep;

    use super::*;

    const DEBOUNCE: Duration = Duration::from_millis(2);
    /// Much longer than [`DEBOUNCE`].
    const PAUSE: Duration = Duration::from_millis(50);

    fn named(name: &str) -> ConfigMap {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn rejected(code: u16) -> watcher::Result<Event<ConfigMap>> {
        let status = Status { code, ..Status::default() };
        Err(watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status))))
    }

    /// Returns the known objects at each report, `-` if they are unknown. Each event arrives after the previous change
    /// has been reported.
    async fn reported(events: Vec<watcher::Result<Event<ConfigMap>>>, pause: Option<Duration>) -> Vec<String> {
        let events = events.into_iter().chain([Ok(Event::Init)]);
        let events = Box::pin(stream::iter(events).then(|event| async {
            sleep(2 * DEBOUNCE).await;
            event
        }));
        let index = Arc::new(Index::default());
        let options = Options { resource: "maps".to_owned(), debounce: DEBOUNCE, forbidden_retry_delay: pause };
        let reduce = |map: &ConfigMap, _: Option<&String>| Some(map.name_any());
        let feed =
            Feed { events, index: Arc::clone(&index), options, reduce, due: None, resume: None, forbidden: false };
        let known = |()| {
            let names = |names: Option<&super::super::Objects<String>>| {
                names.map_or("-".to_owned(), |names| names.keys().map(String::as_str).collect())
            };
            future::ready(index.read(names))
        };
        changes(feed).then(known).collect().await
    }

    #[rstest]
    #[case::incomplete_list(vec![Ok(Event::Init), Ok(Event::InitApply(named("x")))], &[])]
    #[case::list(vec![Ok(Event::Init), Ok(Event::InitApply(named("x"))), Ok(Event::InitDone)], &["x"])]
    #[case::changes(
        vec![Ok(Event::Init), Ok(Event::InitDone), Ok(Event::Apply(named("x"))), Ok(Event::Delete(named("x")))],
        &["", "x", ""]
    )]
    #[case::not_permitted(vec![rejected(403), Ok(Event::Init), Ok(Event::InitDone)], &["-", ""])]
    #[case::no_such_kind(vec![rejected(404), Ok(Event::Init), Ok(Event::InitDone)], &["-", ""])]
    #[case::overloaded(vec![Ok(Event::Init), Ok(Event::InitDone), rejected(503)], &[""])]
    #[case::another_error(vec![Ok(Event::Init), Ok(Event::InitDone), Err(watcher::Error::NoResourceVersion)], &[""])]
    #[tokio::test]
    async fn reports_changes(#[case] events: Vec<watcher::Result<Event<ConfigMap>>>, #[case] expected: &[&str]) {
        assert_eq!(reported(events, Some(PAUSE)).await, expected);
    }

    #[tokio::test]
    async fn a_forbidden_resource_is_retried_after_a_pause() {
        let started = Instant::now();
        assert_eq!(reported(vec![rejected(403), Ok(Event::Init), Ok(Event::InitDone)], Some(PAUSE)).await, ["-", ""]);
        assert!(started.elapsed() > PAUSE);
    }

    #[tokio::test]
    async fn a_required_resource_stays_known() {
        let events = vec![Ok(Event::Init), Ok(Event::InitApply(named("x"))), Ok(Event::InitDone), rejected(403)];
        assert_eq!(reported(events, None).await, ["x"]);
    }
}
