//! Facts of a cluster that apply to one pod. Rules and checks conclude nothing from unknown facts.

use std::collections::{BTreeMap, BTreeSet};

use crate::dra::ClaimView;
use crate::gang::GangView;
use crate::gang::pins::Pin;
use crate::mesh_objects::MeshView;

/// Known facts of the cluster that apply to one pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterView<'a> {
    /// Shapes of the nodes; `None` if unknown.
    pub nodes: Option<&'a Nodes>,
    /// Quotas of the pod's namespace; `None` if unknown.
    pub quotas: Option<&'a [Quota]>,
    /// True if network-resources-injector adds the resources of networks to pods.
    pub network_resources_injector: bool,
    /// Names of the `ConfigMaps` in the pod's namespace that profiles refer to; `None` if unknown.
    pub config_maps: Option<&'a BTreeSet<String>>,
    /// Claims and templates in the pod's namespace, and device classes.
    pub claims: ClaimView<'a>,
    /// Profile revision of the pod's job; `None` if no running pod of the job has one.
    pub pin: Option<Pin<'a>>,
    /// Gang schedulers, their objects, and the pod's workload.
    pub gang: GangView<'a>,
    /// Services and objects of Istio that apply to the pod. Only manifests and the commands of the CLI provide them.
    pub mesh: MeshView<'a>,
}

/// Distinct shapes of the cluster's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// The shapes, without duplicates.
    pub shapes: Vec<NodeShape>,
}

/// Properties of a node that matter for RDMA. Many nodes share a shape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeShape {
    /// Value of the label `node.kubernetes.io/instance-type`.
    pub instance_type: Option<String>,
    /// Allocatable extended resources and huge pages, in whole units.
    pub allocatable: BTreeMap<String, u64>,
    /// True if Node Feature Discovery found a Mellanox or NVIDIA adapter
    /// (`feature.node.kubernetes.io/pci-15b3.present`); `None` if it does not run on the node.
    pub adapter_detected: Option<bool>,
}

/// A `ResourceQuota`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Name of the object.
    pub name: String,
    /// Unused amount of each `requests.…` and `limits.…` entry, in whole units.
    pub remaining: BTreeMap<String, u64>,
}

impl Nodes {
    /// Collects the distinct shapes of `nodes`.
    #[must_use]
    pub fn from_shapes<'a>(nodes: impl Iterator<Item = &'a NodeShape>) -> Self {
        let shapes: BTreeSet<&NodeShape> = nodes.collect();
        Self { shapes: shapes.into_iter().cloned().collect() }
    }

    /// Returns the largest allocatable amount of `resource` on a single node.
    #[must_use]
    pub fn max_allocatable(&self, resource: &str) -> u64 {
        self.shapes.iter().filter_map(|shape| shape.allocatable.get(resource)).copied().max().unwrap_or_default()
    }
}
