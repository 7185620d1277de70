//! Watch loop that feeds an index: it debounces changes and treats what is forbidden as unknown.

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until};

use super::Index;
use crate::cluster::watched;
use trainmesh_core::error::chain;

/// Time for which changes are collected: quotas change with every pod.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Delay before a forbidden resource is requested again: permissions change only when an administrator edits RBAC.
const FORBIDDEN_RETRY_DELAY: Duration = Duration::from_mins(5);
/// Least time between lists for objects that were left out: a list reads all objects again.
const RELIST_DELAY: Duration = Duration::from_mins(10);

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
    /// Delay before objects are listed again, once objects that were left out may fit.
    relist_delay: Duration,
}

impl Options {
    /// Returns the options for a required resource: changes are reported immediately, and known objects are kept on any
    /// error.
    pub(crate) fn required(resource: impl Into<String>) -> Self {
        Self { debounce: Duration::ZERO, forbidden_retry_delay: None, ..Self::optional(resource) }
    }

    /// Sets the time for which changes are collected.
    pub(crate) fn with_debounce(self, debounce: Duration) -> Self {
        Self { debounce, ..self }
    }

    /// Sets the delay before a forbidden resource is requested again.
    pub(crate) fn with_forbidden_retry_delay(self, delay: Duration) -> Self {
        Self { forbidden_retry_delay: Some(delay), ..self }
    }

    /// Returns the options for an optional resource: its objects become unknown if it is forbidden.
    pub(crate) fn optional(resource: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            debounce: DEBOUNCE,
            forbidden_retry_delay: Some(FORBIDDEN_RETRY_DELAY),
            relist_delay: RELIST_DELAY,
        }
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
    let start = move || watched::events(api.clone(), config.clone()).boxed();
    changes(Feed::new(start, index, options, reduce))
}

/// An index and the events that feed it.
struct Feed<S, F, V, R> {
    /// Starts a watch, which begins with a list.
    start: F,
    events: S,
    index: Arc<Index<V>>,
    options: Options,
    reduce: R,
    /// Time at which to report pending changes.
    due: Option<Instant>,
    /// Time at which a pause ends.
    resume: Option<Instant>,
    /// Time at which to list the objects again.
    relist: Option<Instant>,
    /// Set while the resource is forbidden, so that it is logged once.
    forbidden: bool,
    /// Last failure until the next event, so that each one is logged once: a removed kind fails at every retry.
    failure: String,
}

fn changes<K, S, F, V, R>(feed: Feed<S, F, V, R>) -> impl Stream<Item = ()>
where
    K: Resource,
    F: Fn() -> S,
    S: Stream<Item = watcher::Result<Event<K>>> + Unpin,
    V: PartialEq,
    R: Fn(&K, Option<&V>) -> Option<V>,
{
    stream::unfold(feed, |mut feed| async move { feed.changed().await.map(|()| ((), feed)) })
}

impl<S, F: Fn() -> S, V, R> Feed<S, F, V, R> {
    fn new(start: F, index: Arc<Index<V>>, options: Options, reduce: R) -> Self {
        let events = start();
        let (due, resume, relist, forbidden, failure) = (None, None, None, false, String::new());
        Self { start, events, index, options, reduce, due, resume, relist, forbidden, failure }
    }
}

impl<K, S, F, V, R> Feed<S, F, V, R>
where
    K: Resource,
    F: Fn() -> S,
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
                () = sleep_until(self.relist.unwrap_or_else(Instant::now)), if self.relist.is_some() => {
                    self.relist = None;
                    self.events = (self.start)();
                    continue;
                }
                // Cancel-safe: a timer wins only while no event is ready.
                event = self.events.next() => event?,
            };
            match event {
                Ok(event) => {
                    self.forbidden = false;
                    self.failure.clear();
                    let changed = self.index.apply(&event, &self.reduce);
                    if self.index.is_outdated() {
                        self.relist.get_or_insert_with(|| Instant::now() + self.options.relist_delay);
                    }
                    if changed {
                        if self.options.debounce.is_zero() {
                            return Some(());
                        }
                        self.due.get_or_insert_with(|| Instant::now() + self.options.debounce);
                    }
                }
                Err(error) => {
                    let resource = &self.options.resource;
                    let Some(pause) = self.options.forbidden_retry_delay.filter(|_| is_rejected(&error)) else {
                        let failure = chain(&error);
                        if failure != self.failure {
                            tracing::warn!("watch of {resource} failed: {failure}");
                            self.failure = failure;
                        }
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
