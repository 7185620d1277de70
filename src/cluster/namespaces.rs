//! The labels of all namespaces: a watched cache of labels alone, and one bounded call where it lacks one.

use std::collections::BTreeMap;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::index::{self, Index, Options};
use crate::bucket::Bucket;

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
    index: Arc<Index<Known>>,
    changed: watch::Sender<()>,
    rate: Bucket,
    lookups: Semaphore,
}

/// A namespace as the watch has delivered it.
#[derive(Clone, PartialEq)]
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
            index: Arc::default(),
            changed: watch::Sender::default(),
            rate: Bucket::new(rate, burst),
            lookups: Semaphore::new(LOOKUPS),
        }
    }

    /// Whether every namespace that there was at the start is known.
    #[must_use]
    pub fn filled(&self) -> bool {
        self.index.is_complete()
    }

    /// Reports whenever the labels of some namespace have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The labels of `namespace` as far as they are known, and since when this process has seen it with them.
    #[must_use]
    pub fn known_since(&self, namespace: &str) -> Option<(Arc<Labels>, Timestamp)> {
        self.index.get(namespace).map(|Known { labels, since }| (labels, since))
    }

    /// Keeps the cache until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        let known = |found: &PartialObjectMeta<Namespace>, before: Option<&Known>| {
            Some(Known::new(found.labels(), before, Timestamp::now()))
        };
        let (all, options) = (watcher::Config::default(), Options::required("the namespaces"));
        let changes = index::watch(self.api.clone(), all, Arc::clone(&self.index), options, known);
        let report = |()| {
            self.changed.send_replace(());
            future::ready(())
        };
        changes.take_until(stop.cancelled_owned()).for_each(report).await;
    }
}

impl Namespaces for NamespaceCache {
    fn known(&self, namespace: &str) -> Option<Arc<Labels>> {
        self.index.get(namespace).map(|known| known.labels)
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

impl Known {
    /// A namespace that has `labels` now. Annotations and status change more often than labels.
    fn new(labels: &Labels, before: Option<&Self>, now: Timestamp) -> Self {
        let unchanged = before.filter(|before| *before.labels == *labels).cloned();
        unchanged.unwrap_or_else(|| Self { labels: Arc::new(labels.clone()), since: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_dated_from_their_last_change() {
        let labels = |inject: &str| Labels::from([("trainmesh.dev/inject".to_owned(), inject.to_owned())]);
        let at = |second| Timestamp::from_second(second).unwrap();
        let new = Known::new(&labels("enabled"), None, at(1));
        assert_eq!((&*new.labels, new.since), (&labels("enabled"), at(1)));
        assert_eq!(Known::new(&labels("enabled"), Some(&new), at(2)).since, at(1), "the same labels");
        let changed = Known::new(&labels("audit"), Some(&new), at(3));
        assert_eq!((&*changed.labels, changed.since), (&labels("audit"), at(3)));
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
