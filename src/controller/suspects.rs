//! Pods that may have a problem, from the watches of pods, and namespaces with mixed gangs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::runtime::watcher::Event;

use super::pod::WatchedPod;
use super::selection::Selection;
use crate::cluster::index::{Index, Objects};
use crate::cluster::namespaces::{NamespaceCache, Namespaces as _};
use trainmesh_core::diagnosis::{PodWorkload, Suspicion};
use trainmesh_core::scope::{Installation, Mode};

/// Suspicious pods of all namespaces. Pods without a problem are not in it.
pub(super) struct Suspects {
    /// Pods that the configured selector matches.
    configured: Index<Suspicion>,
    /// Pods that the webhook has labeled.
    managed: Index<Suspicion>,
    /// Namespaces with gangs whose pods have different fabric profiles.
    mixed: Mutex<BTreeSet<String>>,
    namespaces: Arc<NamespaceCache>,
    installation: Installation,
}

/// Suspicious pods of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SuspectPods {
    /// The pods by name.
    pods: BTreeMap<String, Suspicion>,
    /// True if a gang of the namespace is mixed.
    is_mixed: bool,
}

impl Suspects {
    pub(super) fn new(namespaces: Arc<NamespaceCache>, installation: Installation) -> Self {
        let (configured, managed, mixed) = (Index::default(), Index::default(), Mutex::default());
        Self { configured, managed, mixed, namespaces, installation }
    }

    /// Applies an event of the watch of `selection`.
    pub(super) fn apply(&self, selection: &Selection, event: &Event<WatchedPod>) {
        self.index(selection).apply(event, |pod, _| pod.suspicion.as_deref().cloned());
    }

    /// Removes the pods of a watch that has ended.
    pub(super) fn clear(&self, selection: &Selection) {
        self.index(selection).clear();
    }

    /// Sets the namespaces with mixed gangs.
    pub(super) fn set_mixed(&self, namespaces: BTreeSet<String>) {
        *self.mixed() = namespaces;
    }

    /// Returns the pods that are suspicious at `now`, by namespace. Namespaces that have not opted in are omitted.
    pub(super) fn by_namespace(&self, now: Timestamp) -> BTreeMap<String, SuspectPods> {
        let mut namespaces: BTreeMap<String, SuspectPods> = BTreeMap::new();
        for index in [&self.configured, &self.managed] {
            index.read(|pods| add(&mut namespaces, pods, now));
        }
        for namespace in self.mixed().iter() {
            namespaces.entry(namespace.clone()).or_default().is_mixed = true;
        }
        namespaces.retain(|namespace, _| self.is_diagnosed(namespace));
        namespaces
    }

    /// Returns true if a namespace has opted in. Audit mode includes findings, which change nothing.
    fn is_diagnosed(&self, namespace: &str) -> bool {
        let labels = self.namespaces.cached(namespace);
        let mode = labels.and_then(|labels| self.installation.namespace_mode(namespace, &labels).ok());
        matches!(mode, Some(Mode::Enabled | Mode::Audit))
    }

    fn index(&self, selection: &Selection) -> &Index<Suspicion> {
        match selection {
            Selection::Configured(_) => &self.configured,
            Selection::Managed => &self.managed,
        }
    }

    fn mixed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.mixed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SuspectPods {
    /// Returns the workloads to diagnose; `None` for all.
    pub(super) fn workloads(&self) -> Option<BTreeSet<&PodWorkload>> {
        (!self.is_mixed).then(|| self.pods.values().map(|suspicion| &suspicion.workload).collect())
    }
}

/// Adds the pods that are suspicious at `now`.
fn add(namespaces: &mut BTreeMap<String, SuspectPods>, pods: Option<&Objects<Suspicion>>, now: Timestamp) {
    for (key, suspicion) in pods.into_iter().flatten().filter(|(_, suspicion)| suspicion.from <= now) {
        if let Some((namespace, name)) = key.split_once('/') {
            let suspects = namespaces.entry(namespace.to_owned()).or_default();
            suspects.pods.insert(name.to_owned(), suspicion.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(namespace: &str, name: &str, created: &str) -> WatchedPod {
        let raw = json!({"metadata": {"namespace": namespace, "name": name, "creationTimestamp": created}, "status": {"phase": "Pending"}});
        serde_json::from_value(raw).unwrap()
    }

    #[tokio::test]
    async fn both_watches_are_merged() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let namespaces = Arc::new(NamespaceCache::new(kube::Client::try_from(config).unwrap()));
        let suspects = Suspects::new(namespaces, Installation::default());
        let (configured, managed) = (Selection::Configured("a".to_owned()), Selection::Managed);
        for selection in [&configured, &managed] {
            suspects.apply(selection, &Event::Init);
            suspects.apply(selection, &Event::InitApply(pod("team-a", "both", "2026-01-01T00:00:00Z")));
            suspects.apply(selection, &Event::InitDone);
        }
        suspects.apply(&managed, &Event::Apply(pod("team-a", "new", "2026-01-01T00:09:30Z")));
        suspects.apply(&configured, &Event::Apply(pod("team-b", "other", "2026-01-01T00:00:00Z")));
        let found = |at: &str| {
            let mut namespaces = BTreeMap::new();
            for index in [&suspects.configured, &suspects.managed] {
                index.read(|pods| add(&mut namespaces, pods, at.parse().unwrap()));
            }
            let names = |(namespace, suspects): (String, SuspectPods)| {
                format!("{namespace}: {}", suspects.pods.into_keys().collect::<Vec<_>>().join(" "))
            };
            namespaces.into_iter().map(names).collect::<Vec<_>>()
        };
        assert_eq!(found("2026-01-01T00:10:00Z"), ["team-a: both", "team-b: other"], "the new pod may still start");
        assert_eq!(found("2026-01-01T00:11:00Z"), ["team-a: both new", "team-b: other"]);
        suspects.clear(&configured);
        assert_eq!(found("2026-01-01T00:11:00Z"), ["team-a: both new"]);
        suspects.set_mixed(["team-c".to_owned()].into());
        assert!(suspects.by_namespace(Timestamp::now()).is_empty(), "no namespace is known to have opted in");
    }
}
