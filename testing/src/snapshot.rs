//! Default inputs of the engine for tests that only vary the pod.

use std::collections::BTreeMap;

use trainmesh_core::cluster_facts::ClusterView;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::scope::Mode;

/// Returns the snapshot of an opted-in namespace with these labels, without facts about the cluster.
pub fn snapshot<'a>(labels: &'a BTreeMap<String, String>, config: &'a Configuration) -> Snapshot<'a> {
    Snapshot {
        mode: Mode::Enabled,
        namespace: "team-a",
        namespace_labels: labels,
        labels_assumed: false,
        config,
        config_hash: "0123456789ab",
        replicas: None,
        cluster: ClusterView::default(),
    }
}

/// Returns the labels of a namespace with Istio injection.
pub fn injection_labels() -> BTreeMap<String, String> {
    BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())])
}
