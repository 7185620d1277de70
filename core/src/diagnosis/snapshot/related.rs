//! Objects that the pods of a snapshot depend on, for a caller that reads only those.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::node::NodeRecord;
use super::{ClusterSnapshot, ObjectKind, SnapshotError};
use crate::dns::is_subdomain;
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
        self.pods.iter().map(|pod| pod.workload().kind).collect()
    }

    /// Returns the nodes of pods that the snapshot lacks: those that left, and those that it does not contain yet.
    #[must_use]
    pub fn unknown_nodes(&self) -> BTreeSet<Box<str>> {
        self.lacking(self.pods.iter().filter_map(|pod| pod.node.as_deref())).map(Into::into).collect()
    }

    /// Records that the snapshot contains all nodes, except that others may exist that pods name and `absent` does not contain.
    pub fn mark_nodes_complete(&mut self, absent: &BTreeSet<Box<str>>) {
        let named = self.pods.iter().flat_map(|pod| pod.node.iter().chain(&pod.pinned).map(|name| &**name));
        // Any other text is not the name of a node.
        let unconfirmed = self.lacking(named).filter(|name| !absent.contains(*name) && is_subdomain(name));
        self.unconfirmed_nodes = unconfirmed.map(Into::into).collect();
        self.mark_complete(ObjectKind::Node, None);
    }

    /// Returns the nodes to which pods are limited, and which may exist although the list of nodes lacks them.
    #[must_use]
    pub fn unconfirmed_pinned_nodes(&self) -> BTreeSet<Box<str>> {
        let pinned = self.pods.iter().flat_map(|pod| &pod.pinned);
        pinned.filter(|name| self.unconfirmed_nodes.contains(*name)).cloned().collect()
    }

    /// Records that a node does not exist if the snapshot lacks it.
    pub fn confirm_node(&mut self, name: &str) {
        self.unconfirmed_nodes.remove(name);
    }

    /// Returns the names that no node of the snapshot has.
    fn lacking<'a>(&self, names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
        let known: BTreeSet<&str> = self.nodes.iter().map(|node| &*node.name).collect();
        let unknown: BTreeSet<&str> = names.filter(|name| !known.contains(name)).collect();
        unknown.into_iter()
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
