//! The labels of all namespaces: a watched cache of labels alone, and one bounded call where it lacks one.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::bucket::Bucket;
use crate::error::chain;

/// How long a pod may wait for the labels of a namespace that the watch has not brought yet. The watch lags by
/// milliseconds; an apiserver that needs longer than this for one GET is in no state to be asked more.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
/// Lookups a second, and how many may come at once: whoever reaches the webhook can name a namespace that does not exist.
/// Namespaces are rarely made faster, and an apiserver does not notice as many GETs.
const LOOKUP_RATE: (u32, u32) = (20, 40);
/// Lookups at a time: each keeps its review waiting in memory.
const LOOKUPS: usize = 8;

/// Labels of a namespace.
pub type Labels = BTreeMap<String, String>;

/// Where the labels of namespaces come from.
pub trait Namespaces: Send + Sync {
    /// The labels as far as they are known without a call.
    fn known(&self, namespace: &str) -> Option<Arc<Labels>>;

    /// Asks for the labels, in one bounded call.
    fn look_up<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Arc<Labels>, LookupError>>;
}

/// The labels of a namespace are not to be had.
#[derive(Debug, Error)]
pub enum LookupError {
    /// The apiserver said no.
    #[error("could not read namespace {namespace}")]
    Failed {
        /// The namespace.
        namespace: String,
        /// What the apiserver said.
        source: Box<kube::Error>,
    },
    /// The apiserver said nothing.
    #[error("could not read namespace {0} within {LOOKUP_TIMEOUT:?}")]
    TimedOut(String),
    /// The apiserver was not asked: too many unknown namespaces come at a time.
    #[error("too many unknown namespaces at a time")]
    Limited,
}

/// All namespaces, kept by a watch.
pub struct NamespaceCache {
    api: Api<PartialObjectMeta<Namespace>>,
    store: Store,
    rate: Bucket,
    lookups: Semaphore,
}

/// What the watch has told.
#[derive(Default)]
struct Store {
    namespaces: RwLock<HashMap<String, Known>>,
    filled: AtomicBool,
    changed: watch::Sender<()>,
}

/// A namespace as the watch has told of it.
#[derive(Clone)]
struct Known {
    labels: Arc<Labels>,
    /// Since when they have been seen to be these, by our clock.
    since: Timestamp,
}

impl NamespaceCache {
    /// An empty cache; [`Self::run`] fills it.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let (rate, burst) = LOOKUP_RATE;
        Self {
            api: Api::all(client),
            store: Store::default(),
            rate: Bucket::new(rate, burst),
            lookups: Semaphore::new(LOOKUPS),
        }
    }

    /// Whether every namespace that there was at the start is known.
    #[must_use]
    pub fn filled(&self) -> bool {
        self.store.filled.load(Ordering::Acquire)
    }

    /// Tells whenever the labels of some namespace have changed, or may have.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.store.changed.subscribe()
    }

    /// The labels of `namespace` as far as they are known, and since when this process has seen it with them.
    #[must_use]
    pub fn known_since(&self, namespace: &str) -> Option<(Arc<Labels>, Timestamp)> {
        self.store.known(namespace).map(|Known { labels, since }| (labels, since))
    }

    /// Keeps the cache until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        let mut events = watcher(self.api.clone(), watcher::Config::default()).default_backoff().boxed();
        // A list replaces the cache only when it is complete.
        let mut listed = HashMap::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Cancelled only on the way out: nobody reads the cache any more.
                event = events.next() => event,
            };
            match event {
                Some(Ok(event)) => self.store.apply(event, &mut listed, Timestamp::now()),
                Some(Err(error)) => tracing::warn!("watch of the namespaces failed: {}", chain(&error)),
                None => return,
            }
        }
    }
}

impl Namespaces for NamespaceCache {
    fn known(&self, namespace: &str) -> Option<Arc<Labels>> {
        self.store.known(namespace).map(|known| known.labels)
    }

    fn look_up<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Arc<Labels>, LookupError>> {
        async move {
            let Ok(_permit) = self.lookups.try_acquire() else { return Err(LookupError::Limited) };
            if !self.rate.try_take() {
                return Err(LookupError::Limited);
            }
            let answer = tokio::time::timeout(LOOKUP_TIMEOUT, self.api.get(namespace)).await;
            match answer {
                Ok(Ok(found)) => Ok(Arc::new(found.metadata.labels.unwrap_or_default())),
                Ok(Err(error)) => Err(LookupError::Failed { namespace: namespace.to_owned(), source: Box::new(error) }),
                Err(_) => Err(LookupError::TimedOut(namespace.to_owned())),
            }
        }
        .boxed()
    }
}

impl Store {
    fn known(&self, namespace: &str) -> Option<Known> {
        self.namespaces.read().unwrap_or_else(PoisonError::into_inner).get(namespace).cloned()
    }

    fn apply(&self, event: Event<PartialObjectMeta<Namespace>>, listed: &mut HashMap<String, Known>, now: Timestamp) {
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(found) => {
                listed.insert(found.name_any(), self.seen(&found, now));
            }
            Event::InitDone => {
                *self.change() = std::mem::take(listed);
                self.filled.store(true, Ordering::Release);
                self.changed.send_replace(());
            }
            Event::Apply(found) => {
                let known = self.seen(&found, now);
                // Annotations and status change more often than labels.
                let changed = known.since == now;
                self.change().insert(found.name_any(), known);
                if changed {
                    self.changed.send_replace(());
                }
            }
            Event::Delete(gone) => {
                self.change().remove(&gone.name_any());
            }
        }
    }

    /// The namespace as it is known now that it was seen again.
    fn seen(&self, found: &PartialObjectMeta<Namespace>, now: Timestamp) -> Known {
        let before = self.known(&found.name_any());
        before.filter(|before| *before.labels == *found.labels()).unwrap_or_else(|| {
            let labels = Arc::new(found.labels().clone());
            Known { labels, since: now }
        })
    }

    fn change(&self) -> RwLockWriteGuard<'_, HashMap<String, Known>> {
        self.namespaces.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectMeta, PartialObjectMetaExt as _};

    use super::*;

    fn namespace(name: &str, inject: &str) -> PartialObjectMeta<Namespace> {
        let labels = BTreeMap::from([("trainmesh.dev/inject".to_owned(), inject.to_owned())]);
        ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() }
            .into_response_partial()
    }

    #[test]
    fn the_cache_follows_the_watch() {
        let store = Store::default();
        let mut listed = HashMap::new();
        let mut second = 0;
        let mut tell = |event| {
            second += 1;
            store.apply(event, &mut listed, Timestamp::from_second(second).unwrap());
        };
        let inject = |name| store.known(name).map(|known| known.labels["trainmesh.dev/inject"].clone());
        let since = |name| store.known(name).map(|known| known.since.as_second());

        tell(Event::Init);
        tell(Event::InitApply(namespace("a", "enabled")));
        assert_eq!(inject("a"), None, "a list counts when it is complete");
        assert!(!store.filled.load(Ordering::Acquire));
        tell(Event::InitDone);
        assert!(store.filled.load(Ordering::Acquire));
        assert_eq!(inject("a").as_deref(), Some("enabled"));

        let mut changed = store.changed.subscribe();
        tell(Event::Apply(namespace("a", "enabled")));
        assert!(!changed.has_changed().unwrap(), "the same labels");
        assert_eq!(since("a"), Some(2));
        tell(Event::Apply(namespace("a", "audit")));
        assert!(changed.has_changed().unwrap());
        assert_eq!(since("a"), Some(5));
        changed.mark_unchanged();
        tell(Event::Apply(namespace("b", "enabled")));
        assert!(changed.has_changed().unwrap(), "a new namespace");
        assert_eq!(inject("a").as_deref(), Some("audit"));
        tell(Event::Delete(namespace("a", "audit")));
        assert_eq!(inject("a"), None);

        tell(Event::Init);
        assert_eq!(inject("b").as_deref(), Some("enabled"), "the old list serves while the new one comes");
        tell(Event::InitApply(namespace("c", "enabled")));
        tell(Event::InitDone);
        assert_eq!(inject("b"), None, "deleted while the watch was down");
        assert_eq!(inject("c").as_deref(), Some("enabled"));
    }

    /// Whether a lookup is rejected before the apiserver, which never answers here, is asked.
    fn is_limited(cache: &NamespaceCache) -> bool {
        matches!(cache.look_up("a").now_or_never(), Some(Err(LookupError::Limited)))
    }

    #[tokio::test]
    async fn lookups_are_limited_in_number_and_rate() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", silent.local_addr().unwrap());
        let config = kube::Config::new(address.parse().unwrap());
        let cache = NamespaceCache::new(Client::try_from(config).unwrap());
        let mut waiting: Vec<_> = (0..LOOKUPS).map(|_| cache.look_up("a")).collect();
        assert!(waiting.iter_mut().all(|lookup| lookup.now_or_never().is_none()), "they wait for the apiserver");
        assert!(is_limited(&cache), "one more than {LOOKUPS}");
        drop(waiting);
        assert!(!is_limited(&cache), "there is a place again");
        assert!((0..1_000).any(|_| is_limited(&cache)), "a burst is over at some time");
    }
}
