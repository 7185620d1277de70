//! What the engine knows beside a pod, where a test is about the pod.

use std::collections::BTreeMap;

use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::scope::Mode;

/// A namespace that is served and has these labels, in a cluster of which nothing is known.
pub fn snapshot<'a>(labels: &'a BTreeMap<String, String>, config: &'a Configuration) -> Snapshot<'a> {
    Snapshot {
        mode: Mode::Enabled,
        namespace: "team-a",
        labels,
        config,
        config_hash: "0123456789ab",
        replicas: None,
        cluster: ClusterView::default(),
    }
}

/// The labels of a namespace whose pods are injected.
pub fn injected() -> BTreeMap<String, String> {
    BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())])
}
