//! Objects that the pods of a snapshot depend on, for a caller that reads only those.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::node::NodeRecord;
use super::{ClusterSnapshot, ObjectKind, SnapshotError};
use crate::pod::Pod;

impl ClusterSnapshot {
    /// Returns the kinds of the objects that the pods name: `PodGroups` and `ResourceClaims`.
    #[must_use]
    pub fn named_kinds(&self) -> BTreeSet<ObjectKind> {
        let groups = self.pods.iter().filter_map(|pod| Some(pod.gang.as_ref()?.api.object_kind()));
        let has_claims = self.pods.iter().any(|pod| !pod.claims.is_empty());
        groups.chain(has_claims.then_some(ObjectKind::ResourceClaim)).collect()
    }

    /// Returns the kinds of the workloads of the pods.
    #[must_use]
    pub fn workload_kinds(&self) -> BTreeSet<&str> {
        self.pods.iter().map(|pod| pod.workload().0).collect()
    }

    /// Returns the nodes that pods name and the snapshot lacks: those that left, and those that it does not contain yet.
    #[must_use]
    pub fn unknown_nodes(&self) -> BTreeSet<&str> {
        let known: BTreeSet<&str> = self.nodes.iter().map(|node| &*node.name).collect();
        let named = self.pods.iter().flat_map(|pod| pod.node.iter().chain(&pod.pinned).map(|node| &**node));
        named.filter(|node| !known.contains(node)).collect()
    }

    /// Adds nodes that were read before.
    pub fn add_nodes(&mut self, nodes: impl IntoIterator<Item = Arc<NodeRecord>>) -> Result<(), SnapshotError> {
        for node in nodes {
            self.nodes.push(node);
            self.count_object()?;
        }
        Ok(())
    }

    /// Records that a pod exists that is not diagnosed.
    pub fn add_other_pod(&mut self, pod: Pod<'_>, namespace: &str) {
        self.other_pods.add(pod, namespace);
    }
}
