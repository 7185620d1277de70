//! The loop that feeds an index: changes are reported together, and what may not be read is unknown.

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

/// Quotas change with every pod.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Permissions are given by people.
const PAUSE: Duration = Duration::from_mins(5);

/// How a resource is watched.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// What is watched, for the log.
    resource: String,
    /// How long changes are collected before they are reported.
    debounce: Duration,
    /// How long a resource that may not be read is left alone; `None`: as long as after any error, and what was known
    /// stays.
    pause: Option<Duration>,
}

impl Options {
    /// For a resource without which nothing works: every change is reported at once, and what was known stays whatever the
    /// apiserver answers.
    pub(crate) fn required(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), debounce: Duration::ZERO, pause: None }
    }

    /// For a resource without which the rest works: where it may not be read it is unknown.
    pub(crate) fn optional(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), debounce: DEBOUNCE, pause: Some(PAUSE) }
    }
}

/// Watches the objects of `api` that `config` selects, reduces them into `index`, and yields whenever that has changed.
/// Ends only when it is dropped.
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
    changes(Feed { events, index, options, reduce, due: None, resume: None, rejected: false })
}

/// An index, and the events that feed it.
struct Feed<S, V, R> {
    events: S,
    index: Arc<Index<V>>,
    options: Options,
    reduce: R,
    /// When to report what has changed.
    due: Option<Instant>,
    /// When to go on after a pause.
    resume: Option<Instant>,
    /// Whether the last answer was that it may not be read.
    rejected: bool,
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
    /// Waits until the index has changed; `None` when there are no more events.
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
                // Cancelled by a time that has come only while no event is there.
                event = self.events.next() => event?,
            };
            match event {
                Ok(event) => {
                    self.rejected = false;
                    if self.index.apply(&event, &self.reduce) {
                        if self.options.debounce.is_zero() {
                            return Some(());
                        }
                        self.due.get_or_insert_with(|| Instant::now() + self.options.debounce);
                    }
                }
                Err(error) => {
                    let what = &self.options.resource;
                    let Some(pause) = self.options.pause.filter(|_| is_rejected(&error)) else {
                        tracing::warn!("watch of {what} failed: {}", chain(&error));
                        continue;
                    };
                    if !std::mem::replace(&mut self.rejected, true) {
                        tracing::warn!("{what} cannot be read, so nothing is concluded from them: {}", chain(&error));
                    }
                    self.index.clear();
                    (self.due, self.resume) = (None, Some(Instant::now() + pause));
                    return Some(());
                }
            }
        }
    }
}

/// Whether asking again soon is of no use: it is forbidden, or there is no such kind.
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
    /// Far from the other.
    const PAUSE: Duration = Duration::from_millis(50);

    fn named(name: &str) -> ConfigMap {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn rejected(code: u16) -> watcher::Result<Event<ConfigMap>> {
        let status = Status { code, ..Status::default() };
        Err(watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status))))
    }

    /// What is reported of these events, each of which comes when what the one before has changed was reported; `-`:
    /// nothing is known.
    async fn reported(events: Vec<watcher::Result<Event<ConfigMap>>>, pause: Option<Duration>) -> Vec<String> {
        let events = events.into_iter().chain([Ok(Event::Init)]);
        let events = Box::pin(stream::iter(events).then(|event| async {
            sleep(2 * DEBOUNCE).await;
            event
        }));
        let index = Arc::new(Index::default());
        let options = Options { resource: "maps".to_owned(), debounce: DEBOUNCE, pause };
        let reduce = |map: &ConfigMap, _: Option<&String>| Some(map.name_any());
        let feed =
            Feed { events, index: Arc::clone(&index), options, reduce, due: None, resume: None, rejected: false };
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
    async fn reports(#[case] events: Vec<watcher::Result<Event<ConfigMap>>>, #[case] expected: &[&str]) {
        assert_eq!(reported(events, Some(PAUSE)).await, expected);
    }

    #[tokio::test]
    async fn what_may_not_be_read_is_left_alone_for_a_while() {
        let began = Instant::now();
        assert_eq!(reported(vec![rejected(403), Ok(Event::Init), Ok(Event::InitDone)], Some(PAUSE)).await, ["-", ""]);
        assert!(began.elapsed() > PAUSE);
    }

    #[tokio::test]
    async fn what_is_required_stays_known() {
        let events = vec![Ok(Event::Init), Ok(Event::InitApply(named("x"))), Ok(Event::InitDone), rejected(403)];
        assert_eq!(reported(events, None).await, ["x"]);
    }
}
