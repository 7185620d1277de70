//! The namespace labels that a preview or lint assumes.

use std::collections::BTreeMap;

use trainmesh_core::preview::ManifestContext;

/// Labels by namespace.
pub(super) type AssumedLabels = BTreeMap<String, BTreeMap<String, String>>;

/// Describes where the labels of namespaces are from, and which labels are assumed for the others.
pub(super) fn premise(context: &ManifestContext, from_cluster: bool) -> String {
    if let Some(labels) = context.override_labels() {
        return format!("namespace labels: {} (--namespace-labels)", list(labels));
    }
    let (from, missing) = if from_cluster {
        ("the cluster's", "namespaces that do not exist")
    } else {
        ("those of the input's Namespaces", "other namespaces")
    };
    format!("namespace labels: {from}; assumed for {missing}: {}", list(context.assumed_labels()))
}

/// Records the labels of `namespace` if they are assumed.
pub(super) fn record(context: &ManifestContext, namespace: &str, assumed: &mut AssumedLabels) {
    if context.is_assumed(namespace) && !assumed.contains_key(namespace) {
        assumed.insert(namespace.to_owned(), context.assumed_labels().clone());
    }
}

/// Lists labels as `--namespace-labels` takes them.
fn list(labels: &BTreeMap<String, String>) -> String {
    if labels.is_empty() {
        return "none".to_owned();
    }
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}
