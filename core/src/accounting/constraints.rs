//! Constraints, and the objects that contain them.

mod kueue;
mod namespace;
mod node;

use std::collections::BTreeSet;

use serde::Serialize;

pub use kueue::{cluster_queue, reserved_workload};
pub(super) use namespace::by_resource;
pub use namespace::{has_scope, limit_range, pod_group, resource_quota};
pub use node::largest_nodes;

use super::{Counted, Demand, LIMITS_PREFIX, PODS};

/// Kind of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ConstraintKind {
    /// A quota of the namespace.
    ResourceQuota,
    /// Limits of each pod or container of the namespace.
    LimitRange,
    /// A queue of Kueue.
    ClusterQueue,
    /// Requests that Kueue has counted for the job.
    Workload,
    /// Requests that a gang scheduler reserves for the job.
    PodGroup,
    /// The nodes of the cluster.
    Node,
}

/// Pods that must fit at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All pods of the job.
    Job,
    /// Each pod.
    Pod,
}

/// A limit on the requests of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Kind of the object.
    pub kind: ConstraintKind,
    /// Name of the object.
    pub name: String,
    /// Requests that its controller counts.
    pub counts: Counted,
    /// Pods that must fit at once.
    pub scope: Scope,
    /// Resources that are offered together.
    pub groups: Vec<CapacityGroup>,
    /// True if requests for other resources than those of the groups do not fit. Otherwise they are not limited.
    pub is_closed: bool,
}

/// Resources that are offered together, each time in another place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityGroup {
    /// Names of the resources.
    pub resources: BTreeSet<String>,
    /// Amounts that are left in each place, such as a node or a flavor of Kueue. A pod or role uses one of them.
    pub offers: Vec<Demand>,
}

impl Constraint {
    /// Creates a constraint with one place that limits only the resources that it names.
    fn open(kind: ConstraintKind, name: &str, scope: Scope, amounts: Demand) -> Self {
        let resources = amounts.iter().map(|(name, _)| name.to_owned()).collect();
        let groups = vec![CapacityGroup { resources, offers: vec![amounts] }];
        Self { kind, name: name.to_owned(), counts: Counted::Pods, scope, groups, is_closed: false }
    }

    /// Returns true if requests for `resource` may fit: a group contains it, or it is not limited.
    pub(super) fn covers(&self, resource: &str) -> bool {
        !self.is_closed || resource == PODS || resource.starts_with(LIMITS_PREFIX) || self.limits(resource)
    }

    /// Returns true if a group contains `resource`.
    pub(super) fn limits(&self, resource: &str) -> bool {
        self.groups.iter().any(|group| group.resources.contains(resource))
    }

    /// Returns the resources that must be specified, but are not: in each container for a `ResourceQuota`, in one of the pod for a
    /// `LimitRange`.
    pub(super) fn missing(&self, need: &Demand) -> BTreeSet<String> {
        let is_missing = |resource: &str| match self.kind {
            ConstraintKind::ResourceQuota => need.omits(resource),
            ConstraintKind::LimitRange => {
                resource.starts_with(LIMITS_PREFIX) && need.contains(PODS) && !need.contains(resource)
            }
            _ => false,
        };
        let resources = self.groups.iter().flat_map(|group| &group.resources);
        resources.filter(|resource| is_missing(resource.as_str())).cloned().collect()
    }
}
