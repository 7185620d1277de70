//! The nodes of the cluster, which the controller watches for its diagnosis.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Node;
use kube::core::ObjectMeta;
use kube::{Api, Client};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::cluster::index::{self, Index, Options};
use crate::cluster::partial::{PartialMeta, served_as};
use trainmesh_core::diagnosis::NodeRecord;

/// Nodes by name, of some 2 KB each.
#[derive(Default)]
pub(crate) struct WatchedNodes {
    index: Arc<Index<Arc<NodeRecord>>>,
}

/// A node of which only the fields of a diagnosis are decoded.
#[derive(Clone, Debug)]
pub(super) struct PartialNode {
    metadata: ObjectMeta,
    record: Arc<NodeRecord>,
}

#[derive(Deserialize)]
struct Raw {
    metadata: PartialMeta,
    #[serde(default)]
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawSpec {
    taints: Value,
    unschedulable: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawStatus {
    allocatable: Value,
    conditions: Value,
}

impl WatchedNodes {
    /// Maintains the nodes and yields when they have changed.
    pub(crate) fn watch(&self, client: &Client) -> BoxStream<'static, ()> {
        let (index, options) = (Arc::clone(&self.index), Options::optional("nodes, for the diagnosis,"));
        index::watch(Api::<PartialNode>::all(client.clone()), index::all(), index, options, record).boxed()
    }

    /// Applies an event of the watch.
    #[cfg(test)]
    pub(super) fn apply(&self, event: &kube::runtime::watcher::Event<PartialNode>) {
        self.index.apply(event, record);
    }

    /// Returns all nodes; `None` until they are known, or if they cannot be read.
    pub(crate) fn all(&self) -> Option<Vec<Arc<NodeRecord>>> {
        self.index.read(|nodes| Some(nodes?.values().cloned().collect()))
    }
}

/// Returns the record of a node. Status updates repeat what is known: the memory is shared.
fn record(node: &PartialNode, before: Option<&Arc<NodeRecord>>) -> Option<Arc<NodeRecord>> {
    Some(before.filter(|before| **before == node.record).unwrap_or(&node.record)).cloned()
}

impl<'de> Deserialize<'de> for PartialNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw { metadata, spec, status } = Raw::deserialize(deserializer)?;
        let metadata = ObjectMeta::from(metadata);
        let raw = json!({"metadata": {"name": &metadata.name}, "spec": {"taints": spec.taints, "unschedulable": spec.unschedulable},
            "status": {"allocatable": status.allocatable, "conditions": status.conditions}});
        Ok(Self { metadata, record: Arc::new(NodeRecord::read(&raw)) })
    }
}

served_as!(PartialNode, Node);
