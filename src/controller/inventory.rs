//! Counts the workloads that use accelerators among the watched pods of opted-in namespaces.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::runtime::reflector::Store;
use tokio::time::{MissedTickBehavior, interval};

use super::pod::WatchedPod;
use super::selection::Selection;
use crate::cluster::namespaces::{NamespaceCache, Namespaces as _};
use crate::telemetry::Metrics;
use trainmesh_core::diagnosis::InventoryCounts;
use trainmesh_core::scope::Installation;

/// Interval at which pods are counted: that at which Prometheus usually scrapes.
const INTERVAL: Duration = Duration::from_secs(15);

/// The workloads of each watch of pods.
pub(super) struct WatchedInventory {
    /// Counts by the watch: true for that of managed pods.
    by_watch: Mutex<BTreeMap<bool, InventoryCounts>>,
    namespaces: Arc<NamespaceCache>,
    installation: Installation,
    metrics: Arc<Metrics>,
}

impl WatchedInventory {
    pub(super) fn new(namespaces: Arc<NamespaceCache>, installation: Installation, metrics: Arc<Metrics>) -> Self {
        Self { by_watch: Mutex::default(), namespaces, installation, metrics }
    }

    /// Counts the pods of the watch of `selection` at each interval, and never returns.
    pub(super) async fn count(&self, selection: &Selection, pods: &Store<WatchedPod>) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let _ = ticks.tick().await;
            self.set(selection, Some(count(selection, &pods.state(), |namespace| self.is_opted_in(namespace))));
        }
    }

    /// Removes the pods of a watch that has ended.
    pub(super) fn clear(&self, selection: &Selection) {
        self.set(selection, None);
    }

    fn set(&self, selection: &Selection, counts: Option<InventoryCounts>) {
        let mut by_watch = self.by_watch.lock().unwrap_or_else(PoisonError::into_inner);
        by_watch.remove(&is_managed(selection));
        by_watch.extend(counts.map(|counts| (is_managed(selection), counts)));
        let mut all = InventoryCounts::default();
        by_watch.values().for_each(|counts| all.merge(counts));
        self.metrics.diagnosis.set_inventory(&all);
    }

    fn is_opted_in(&self, namespace: &str) -> bool {
        let labels = self.namespaces.cached(namespace);
        labels.is_some_and(|labels| self.installation.namespace_mode(namespace, &labels).is_ok())
    }
}

/// Counts pods in the namespaces that are opted in. A pod that both watches select counts for that of managed pods.
fn count(selection: &Selection, pods: &[Arc<WatchedPod>], is_opted_in: impl Fn(&str) -> bool) -> InventoryCounts {
    let mut namespaces: HashMap<&str, bool> = HashMap::new();
    let mut counts = InventoryCounts::default();
    for pod in pods {
        let Some(accelerators) = pod.accelerators.filter(|found| found.is_managed == is_managed(selection)) else {
            continue;
        };
        if *namespaces.entry(&pod.facts.namespace).or_insert_with_key(|namespace| is_opted_in(namespace)) {
            counts.add(accelerators);
        }
    }
    counts
}

fn is_managed(selection: &Selection) -> bool {
    *selection == Selection::Managed
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainmesh_core::diagnosis::WorkloadClass;

    use super::*;

    fn pod(namespace: &str, name: &str, managed: &str) -> Arc<WatchedPod> {
        let raw = json!({
            "metadata": {"namespace": namespace, "name": name, "labels": {"trainmesh.dev/managed": managed},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "llama", "controller": true}]},
            "spec": {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
        });
        Arc::new(serde_json::from_value(raw).unwrap())
    }

    #[tokio::test]
    async fn pods_of_both_watches_count_once() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
        let namespaces = Arc::new(NamespaceCache::new(kube::Client::try_from(config).unwrap()));
        let metrics = Arc::new(Metrics::default());
        let inventory = WatchedInventory::new(namespaces, Installation::default(), Arc::clone(&metrics));
        let pods = [
            pod("team-a", "1", "true"),
            pod("team-a", "2", "true"),
            pod("team-a", "3", ""),
            pod("team-b", "4", "true"),
        ];
        let (configured, managed) = (Selection::Configured("a".to_owned()), Selection::Managed);
        for selection in [&configured, &managed] {
            inventory.set(selection, Some(count(selection, &pods, |namespace| namespace == "team-a")));
        }
        let series = |name: &str| {
            let series = format!("trainmesh_inventory_{name}{{class=\"training\"}}");
            metrics.encode().lines().find_map(|line| line.strip_prefix(&series)?.trim().parse::<u64>().ok())
        };
        assert_eq!((series("workloads"), series("accelerators")), (Some(1), Some(24)));
        inventory.clear(&managed);
        assert_eq!((series("workloads"), series("accelerators")), (Some(1), Some(8)));
        assert_eq!(count(&managed, &pods, |_| false).of(WorkloadClass::Training), (0, 0));
    }
}
