//! What of a cluster concerns one pod. Every part may be unknown: then nothing is concluded from it.

use std::collections::{BTreeMap, BTreeSet};

use crate::gang::pins::Pin;

/// What is known of the cluster that a pod is created in, as far as it concerns the pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterView<'a> {
    /// What nodes offer; `None`: unknown.
    pub nodes: Option<&'a Nodes>,
    /// The quotas of the pod's namespace; `None`: unknown.
    pub quotas: Option<&'a [Quota]>,
    /// Whether network-resources-injector adds resources for networks by itself.
    pub network_resources_injector: bool,
    /// Names of `ConfigMaps` that the pod's namespace is known to hold, of those that profiles name; `None`: unknown.
    pub config_maps: Option<&'a BTreeSet<String>>,
    /// The same of `ResourceClaimTemplates`.
    pub claim_templates: Option<&'a BTreeSet<String>>,
    /// The revision that living pods of the pod's job were given; `None`: there are none.
    pub pin: Option<Pin<'a>>,
}

/// What nodes offer, one entry for each kind of node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// The kinds.
    pub shapes: Vec<NodeShape>,
}

/// A kind of node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeShape {
    /// Its label `node.kubernetes.io/instance-type`.
    pub machine: Option<String>,
    /// What can be allocated of every extended resource, in whole units.
    pub allocatable: BTreeMap<String, u64>,
    /// Whether Node Feature Discovery saw an adapter of Mellanox or NVIDIA
    /// (`feature.node.kubernetes.io/pci-15b3.present`); `None`: it does not run there.
    pub adapter_seen: Option<bool>,
}

/// A `ResourceQuota`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// What is left of every `requests.…` and `limits.…` entry, in whole units.
    pub left: BTreeMap<String, u64>,
}

impl Nodes {
    /// The kinds among nodes of these shapes.
    #[must_use]
    pub fn of<'a>(nodes: impl Iterator<Item = &'a NodeShape>) -> Self {
        let kinds: BTreeSet<&NodeShape> = nodes.collect();
        Self { shapes: kinds.into_iter().cloned().collect() }
    }

    /// The most of `resource` that one node can allocate.
    #[must_use]
    pub fn most(&self, resource: &str) -> u64 {
        self.shapes.iter().filter_map(|shape| shape.allocatable.get(resource)).copied().max().unwrap_or_default()
    }
}
