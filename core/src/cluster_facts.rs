//! Facts of a cluster as one immutable value. [`ClusterView`] contains those that apply to one pod.
//!
//! Pure: no I/O, clock or client.

mod referenced;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

pub use referenced::ReferencedObjects;
pub use view::{ClusterView, NodeShape, Nodes, Quota};

use crate::dra::ClaimFacts;
use crate::gang::mode_pins::ModePins;
use crate::gang::pins::Pins;
use crate::gang::{GangId, GangView};
use crate::huge_pages::is_huge_pages;
use crate::keys;
use crate::mesh_objects::{MeshObjects, MeshView};
use crate::quantity::whole_units;

/// Label of Node Feature Discovery for Mellanox and NVIDIA adapters.
const ADAPTER_LABEL: &str = "feature.node.kubernetes.io/pci-15b3.present";
/// Prefix of all labels of Node Feature Discovery.
const NFD_PREFIX: &str = "feature.node.kubernetes.io/";
/// Prefixes of quota entries for extended resources.
const QUOTA_PREFIXES: [&str; 2] = ["requests.", "limits."];

/// Names of objects, by namespace.
pub type Names = HashMap<String, BTreeSet<String>>;

static NO_NAMES: BTreeSet<String> = BTreeSet::new();

/// Known facts of a cluster; `None` marks unknown ones. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// Shapes of the nodes.
    pub nodes: Option<Arc<Nodes>>,
    /// Quotas by namespace; namespaces without quotas are absent.
    pub quotas: Option<Arc<HashMap<String, Vec<Quota>>>>,
    /// Existing `ConfigMaps` that profiles refer to, by namespace.
    pub config_maps: Option<Arc<Names>>,
    /// Claims, templates and device classes.
    pub claims: ClaimFacts,
    /// True if the webhook of network-resources-injector is installed.
    pub network_resources_injector: bool,
    /// Profile revisions of the gangs with running pods.
    pub pins: Arc<Pins>,
    /// Gang modes of the jobs with running pods.
    pub gang_modes: Arc<ModePins>,
    /// Services and objects of Istio.
    pub mesh: Option<Arc<MeshObjects>>,
}

impl ClusterFacts {
    /// Returns the facts that apply to pods of `gang` in `namespace`.
    #[must_use]
    pub fn view<'a>(&'a self, namespace: &'a str, gang: Option<&GangId>) -> ClusterView<'a> {
        let quotas = self.quotas.as_deref().map(|known| known.get(namespace).map_or(&[][..], Vec::as_slice));
        ClusterView {
            nodes: self.nodes.as_deref(),
            quotas,
            network_resources_injector: self.network_resources_injector,
            config_maps: existing(self.config_maps.as_deref(), namespace),
            claims: self.claims.view(namespace),
            pin: gang.and_then(|gang| self.pins.find(gang)),
            gang: GangView::default(),
            mesh: MeshView { objects: self.mesh.as_deref(), namespace },
        }
    }
}

impl NodeShape {
    /// Determines the shape of a node from its labels and `status.allocatable`. Cordoned nodes count: they become
    /// schedulable again.
    #[must_use]
    pub fn new(labels: &BTreeMap<String, String>, allocatable: &BTreeMap<String, Value>) -> Self {
        let tracked = allocatable.iter().filter(|(name, _)| is_tracked(name));
        let has_nfd = labels.keys().any(|key| key.starts_with(NFD_PREFIX));
        Self {
            instance_type: labels.get(keys::INSTANCE_TYPE).cloned(),
            allocatable: tracked.filter_map(|(name, amount)| Some((name.clone(), whole_units(amount)?))).collect(),
            adapter_detected: has_nfd.then(|| labels.get(ADAPTER_LABEL).is_some_and(|value| value == "true")),
        }
    }
}

impl Quota {
    /// Creates a quota from the object's name and status. Returns `None` if it limits no resource that profiles add.
    #[must_use]
    pub fn from_status(name: &str, hard: &BTreeMap<String, Value>, used: &BTreeMap<String, Value>) -> Option<Self> {
        let limited = hard.iter().filter(|(entry, _)| {
            let resource = QUOTA_PREFIXES.iter().find_map(|prefix| entry.strip_prefix(prefix)).unwrap_or(entry);
            is_tracked(resource) && !entry.starts_with("count/")
        });
        let remaining = limited.filter_map(|(entry, hard)| {
            let used = used.get(entry).map_or(Some(0), whole_units)?;
            Some((entry.clone(), whole_units(hard)?.saturating_sub(used)))
        });
        let remaining: BTreeMap<String, u64> = remaining.collect();
        (!remaining.is_empty()).then(|| Self { name: name.to_owned(), remaining })
    }
}

fn existing<'a>(known: Option<&'a Names>, namespace: &str) -> Option<&'a BTreeSet<String>> {
    known.map(|known| known.get(namespace).unwrap_or(&NO_NAMES))
}

/// Returns true for the resources that profiles can add: extended resources and huge pages.
fn is_tracked(resource: &str) -> bool {
    resource.contains('/') || is_huge_pages(resource)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn map<T: serde::de::DeserializeOwned>(value: Value) -> BTreeMap<String, T> {
        serde_json::from_value(value).unwrap()
    }

    #[rstest]
    #[case::gpu_node(
        json!({"node.kubernetes.io/instance-type": "p5.48xlarge"}),
        json!({"cpu": "96", "memory": "2Ti", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": "8",
               "vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "10Mi"}),
        Some("p5.48xlarge"), &[("hugepages-2Mi", 10 << 20), ("nvidia.com/gpu", 8), ("vpc.amazonaws.com/efa", 32)], None
    )]
    #[case::no_tracked_resource(json!({}), json!({"cpu": "2", "attachable-volumes-x": "9"}), None, &[], None)]
    #[case::adapter(json!({"feature.node.kubernetes.io/pci-15b3.present": "true"}), json!({}), None, &[], Some(true))]
    #[case::no_adapter(json!({"feature.node.kubernetes.io/cpu-model.id": "1"}), json!({}), None, &[], Some(false))]
    fn reads_the_shape_of_a_node(
        #[case] labels: Value,
        #[case] allocatable: Value,
        #[case] instance_type: Option<&str>,
        #[case] allocatable_units: &[(&str, u64)],
        #[case] adapter_detected: Option<bool>,
    ) {
        let shape = NodeShape::new(&map(labels), &map(allocatable));
        let expected = allocatable_units.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        assert_eq!(
            shape,
            NodeShape { instance_type: instance_type.map(str::to_owned), allocatable: expected, adapter_detected }
        );
    }

    #[rstest]
    #[case::devices(json!({"requests.rdma/hca": "8"}), json!({"requests.rdma/hca": "3"}), &[("requests.rdma/hca", 5)])]
    #[case::exceeded(json!({"requests.rdma/hca": "8"}), json!({"requests.rdma/hca": "9"}), &[("requests.rdma/hca", 0)])]
    #[case::unused(json!({"limits.rdma/hca": "8"}), json!({}), &[("limits.rdma/hca", 8)])]
    #[case::huge_pages(json!({"requests.hugepages-2Mi": "4Mi"}), json!({"requests.hugepages-2Mi": "2Mi"}),
        &[("requests.hugepages-2Mi", 2 << 20)])]
    #[case::other_resources(json!({"requests.cpu": "8", "pods": "3", "count/jobs.batch": "2", "count/a.b/c": "2"}), json!({}), &[])]
    #[case::invalid_quantity(json!({"requests.rdma/hca": "many"}), json!({}), &[])]
    fn computes_the_remaining_quota(#[case] hard: Value, #[case] used: Value, #[case] remaining: &[(&str, u64)]) {
        let remaining: BTreeMap<_, _> = remaining.iter().map(|(entry, units)| ((*entry).to_owned(), *units)).collect();
        let expected = (!remaining.is_empty()).then(|| Quota { name: "q".to_owned(), remaining });
        assert_eq!(Quota::from_status("q", &map(hard), &map(used)), expected);
    }

    #[test]
    fn known_absence_differs_from_unknown() {
        let unknown = ClusterFacts::default();
        let view = unknown.view("team-a", None);
        assert!(view.quotas.is_none() && view.config_maps.is_none() && !view.claims.is_missing_template("t"));
        let names = || Some(Arc::new(HashMap::from([("team-b".to_owned(), BTreeSet::from(["m".to_owned()]))])));
        let known = ClusterFacts { quotas: Some(Arc::default()), config_maps: names(), ..ClusterFacts::default() };
        let view = known.view("team-a", None);
        assert_eq!((view.quotas, view.config_maps.map(BTreeSet::len)), (Some(&[][..]), Some(0)));
        assert_eq!(known.view("team-b", None).config_maps.map(BTreeSet::len), Some(1));
    }
}
