//! Labels of all namespaces: a watched cache of metadata, with one bounded GET on a miss.

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

/// Time limit of a lookup for a namespace that the watch has not delivered yet. The watch lags by milliseconds; an
/// apiserver that needs longer than this for one GET is overloaded.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
/// Lookups per second and burst: any client that reaches the webhook can name namespaces that do not exist. Namespaces
/// are rarely created faster than this, and the load on the apiserver is negligible.
const LOOKUP_RATE: (u32, u32) = (20, 40);
/// Maximum number of concurrent lookups: the admission review that waits for one stays in memory.
const LOOKUPS: usize = 8;

/// Labels of a namespace.
pub type Labels = BTreeMap<String, String>;

/// Source of namespace labels.
pub trait Namespaces: Send + Sync {
    /// Returns the labels if they are cached.
    fn cached(&self, namespace: &str) -> Option<Arc<Labels>>;

    /// Reads the labels with one bounded call.
    fn look_up<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Arc<Labels>, LookupError>>;
}

/// Reason why the labels of a namespace could not be read.
#[derive(Debug, Error)]
pub enum LookupError {
    /// The apiserver returned an error.
    #[error("could not read namespace {namespace}")]
    Failed {
        /// Name of the namespace.
        namespace: String,
        /// Cause.
        source: Box<kube::Error>,
    },
    /// The apiserver did not respond in time.
    #[error("could not read namespace {0} within {LOOKUP_TIMEOUT:?}")]
    TimedOut(String),
    /// No request was sent: too many lookups at a time.
    #[error("too many lookups of unknown namespaces")]
    Limited,
}

/// Cache of all namespaces, maintained by a watch.
pub struct NamespaceCache {
    api: Api<PartialObjectMeta<Namespace>>,
    index: Arc<Index<CachedLabels>>,
    changed: watch::Sender<()>,
    rate: Bucket,
    lookups: Semaphore,
}

/// A namespace as delivered by the watch.
#[derive(Clone, PartialEq)]
struct CachedLabels {
    labels: Arc<Labels>,
    /// Time at which these labels were first observed, by the local clock.
    since: Timestamp,
}

impl NamespaceCache {
    /// Creates an empty cache; [`Self::run`] fills it.
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

    /// Returns true once the initial list has completed.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.index.is_complete()
    }

    /// Returns true if the labels of a namespace have the property; false until the initial list has completed.
    pub fn any(&self, property: impl Fn(&Labels) -> bool) -> bool {
        self.index.read(|namespaces| namespaces.into_iter().flatten().any(|(_, cached)| property(&cached.labels)))
    }

    /// Returns a receiver that is notified when the labels of a namespace change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns the cached labels of `namespace`, and the time at which this process first observed them.
    #[must_use]
    pub fn cached_since(&self, namespace: &str) -> Option<(Arc<Labels>, Timestamp)> {
        self.index.get(namespace).map(|CachedLabels { labels, since }| (labels, since))
    }

    /// Maintains the cache until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        let reduce = |found: &PartialObjectMeta<Namespace>, before: Option<&CachedLabels>| {
            Some(CachedLabels::new(found.labels(), before, Timestamp::now()))
        };
        let (all, options) = (watcher::Config::default(), Options::required("namespaces"));
        let changes = index::watch(self.api.clone(), all, Arc::clone(&self.index), options, reduce);
        let report = |()| {
            self.changed.send_replace(());
            future::ready(())
        };
        changes.take_until(stop.cancelled_owned()).for_each(report).await;
    }
}

impl Namespaces for NamespaceCache {
    fn cached(&self, namespace: &str) -> Option<Arc<Labels>> {
        self.index.get(namespace).map(|cached| cached.labels)
    }

    fn look_up<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Arc<Labels>, LookupError>> {
        async move {
            let Ok(_permit) = self.lookups.try_acquire() else { return Err(LookupError::Limited) };
            if !self.rate.try_take() {
                return Err(LookupError::Limited);
            }
            let response = tokio::time::timeout(LOOKUP_TIMEOUT, self.api.get(namespace)).await;
            match response {
                Ok(Ok(found)) => Ok(Arc::new(found.metadata.labels.unwrap_or_default())),
                Ok(Err(error)) => Err(LookupError::Failed { namespace: namespace.to_owned(), source: Box::new(error) }),
                Err(_) => Err(LookupError::TimedOut(namespace.to_owned())),
            }
        }
        .boxed()
    }
}

impl CachedLabels {
    /// Keeps `before` if the labels are the same: annotations and status change more often.
    fn new(labels: &Labels, before: Option<&Self>, now: Timestamp) -> Self {
        let unchanged = before.filter(|before| *before.labels == *labels).cloned();
        unchanged.unwrap_or_else(|| Self { labels: Arc::new(labels.clone()), since: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_the_time_of_their_last_change() {
        let labels = |inject: &str| Labels::from([("trainmesh.dev/inject".to_owned(), inject.to_owned())]);
        let at = |second| Timestamp::from_second(second).unwrap();
        let new = CachedLabels::new(&labels("enabled"), None, at(1));
        assert_eq!((&*new.labels, new.since), (&labels("enabled"), at(1)));
        assert_eq!(CachedLabels::new(&labels("enabled"), Some(&new), at(2)).since, at(1), "the same labels");
        let changed = CachedLabels::new(&labels("audit"), Some(&new), at(3));
        assert_eq!((&*changed.labels, changed.since), (&labels("audit"), at(3)));
    }

    /// Returns true if the lookup is rejected without a request; the apiserver of these tests never responds.
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
        assert!(waiting.iter_mut().all(|lookup| lookup.now_or_never().is_none()), "pending at the apiserver");
        assert!(is_limited(&cache), "one more than {LOOKUPS}");
        drop(waiting);
        assert!(!is_limited(&cache), "a permit is free again");
        assert!((0..1_000).any(|_| is_limited(&cache)), "the burst is limited");
    }
}
