//! What is known of a cluster, as one immutable value; [`ClusterView`] is what of it concerns one pod.
//!
//! Pure: no I/O, no clock, no client.

mod referenced;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

pub use referenced::ReferencedObjects;
pub use view::{ClusterView, NodeShape, Nodes, Quota};

use crate::gang::GangId;
use crate::gang::pins::Pins;
use crate::keys;
use crate::quantity::whole_units;

/// Label by which Node Feature Discovery says that it saw an adapter of Mellanox or NVIDIA.
const ADAPTER: &str = "feature.node.kubernetes.io/pci-15b3.present";
/// Prefix of every label of Node Feature Discovery.
const DISCOVERY: &str = "feature.node.kubernetes.io/";
/// Prefix of the resources of huge pages, which are quantities of memory.
const HUGE_PAGES: &str = "hugepages-";
/// What a quota counts of resources that are not native.
const COUNTED: [&str; 2] = ["requests.", "limits."];

/// Names of objects, by namespace.
pub type Names = HashMap<String, BTreeSet<String>>;

static NO_NAMES: BTreeSet<String> = BTreeSet::new();

/// What is known of a cluster. A part that is `None` is unknown. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// What nodes offer.
    pub nodes: Option<Arc<Nodes>>,
    /// Quotas by namespace; a namespace that is not there has none.
    pub quotas: Option<Arc<HashMap<String, Vec<Quota>>>>,
    /// Of the `ConfigMaps` that profiles name, those that there are, by namespace.
    pub config_maps: Option<Arc<Names>>,
    /// The same of `ResourceClaimTemplates`.
    pub claim_templates: Option<Arc<Names>>,
    /// Whether network-resources-injector is registered.
    pub network_resources_injector: bool,
    /// The revisions that living gangs were given.
    pub pins: Arc<Pins>,
}

impl ClusterFacts {
    /// What concerns the pods of `gang` in `namespace`.
    #[must_use]
    pub fn view(&self, namespace: &str, gang: Option<&GangId>) -> ClusterView<'_> {
        let quotas = self.quotas.as_deref().map(|known| known.get(namespace).map_or(&[][..], Vec::as_slice));
        ClusterView {
            nodes: self.nodes.as_deref(),
            quotas,
            network_resources_injector: self.network_resources_injector,
            config_maps: present(self.config_maps.as_deref(), namespace),
            claim_templates: present(self.claim_templates.as_deref(), namespace),
            pin: gang.and_then(|gang| self.pins.find(gang)),
        }
    }
}

impl NodeShape {
    /// The shape of a node with these labels and this `status.allocatable`. A node that takes no new pods counts: it
    /// offers what it has, and will again.
    #[must_use]
    pub fn read(labels: &BTreeMap<String, String>, allocatable: &BTreeMap<String, Value>) -> Self {
        let offered = allocatable.iter().filter(|(name, _)| counts(name));
        let discovered = labels.keys().any(|key| key.starts_with(DISCOVERY));
        Self {
            machine: labels.get(keys::INSTANCE_TYPE).cloned(),
            allocatable: offered.filter_map(|(name, amount)| Some((name.clone(), whole_units(amount)?))).collect(),
            adapter_seen: discovered.then(|| labels.get(ADAPTER).is_some_and(|seen| seen == "true")),
        }
    }
}

impl Quota {
    /// The quota called `name` with this `status`; `None` where it limits nothing that profiles add.
    #[must_use]
    pub fn read(name: &str, hard: &BTreeMap<String, Value>, used: &BTreeMap<String, Value>) -> Option<Self> {
        let limited = hard.iter().filter(|(entry, _)| {
            let resource = COUNTED.iter().find_map(|prefix| entry.strip_prefix(prefix)).unwrap_or(entry);
            counts(resource) && !entry.starts_with("count/")
        });
        let left = limited.filter_map(|(entry, hard)| {
            let used = used.get(entry).map_or(Some(0), whole_units)?;
            Some((entry.clone(), whole_units(hard)?.saturating_sub(used)))
        });
        let left: BTreeMap<String, u64> = left.collect();
        (!left.is_empty()).then(|| Self { name: name.to_owned(), left })
    }
}

fn present<'a>(known: Option<&'a Names>, namespace: &str) -> Option<&'a BTreeSet<String>> {
    known.map(|known| known.get(namespace).unwrap_or(&NO_NAMES))
}

/// Whether profiles add such a resource: an extended one, or huge pages.
fn counts(resource: &str) -> bool {
    resource.contains('/') || resource.starts_with(HUGE_PAGES)
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
    #[case::of_gpus(
        json!({"node.kubernetes.io/instance-type": "p5.48xlarge"}),
        json!({"cpu": "96", "memory": "2Ti", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": "8",
               "vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "10Mi"}),
        Some("p5.48xlarge"), &[("hugepages-2Mi", 10 << 20), ("nvidia.com/gpu", 8), ("vpc.amazonaws.com/efa", 32)], None
    )]
    #[case::plain(json!({}), json!({"cpu": "2", "attachable-volumes-x": "9"}), None, &[], None)]
    #[case::adapter(json!({"feature.node.kubernetes.io/pci-15b3.present": "true"}), json!({}), None, &[], Some(true))]
    #[case::no_adapter(json!({"feature.node.kubernetes.io/cpu-model.id": "1"}), json!({}), None, &[], Some(false))]
    fn shapes(
        #[case] labels: Value,
        #[case] allocatable: Value,
        #[case] machine: Option<&str>,
        #[case] offered: &[(&str, u64)],
        #[case] adapter_seen: Option<bool>,
    ) {
        let shape = NodeShape::read(&map(labels), &map(allocatable));
        let offered = offered.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        assert_eq!(shape, NodeShape { machine: machine.map(str::to_owned), allocatable: offered, adapter_seen });
    }

    #[rstest]
    #[case::devices(json!({"requests.rdma/hca": "8"}), json!({"requests.rdma/hca": "3"}), &[("requests.rdma/hca", 5)])]
    #[case::over(json!({"requests.rdma/hca": "8"}), json!({"requests.rdma/hca": "9"}), &[("requests.rdma/hca", 0)])]
    #[case::not_counted_yet(json!({"limits.rdma/hca": "8"}), json!({}), &[("limits.rdma/hca", 8)])]
    #[case::huge_pages(json!({"requests.hugepages-2Mi": "4Mi"}), json!({"requests.hugepages-2Mi": "2Mi"}),
        &[("requests.hugepages-2Mi", 2 << 20)])]
    #[case::others(json!({"requests.cpu": "8", "pods": "3", "count/jobs.batch": "2", "count/a.b/c": "2"}), json!({}), &[])]
    #[case::unreadable(json!({"requests.rdma/hca": "many"}), json!({}), &[])]
    fn quotas(#[case] hard: Value, #[case] used: Value, #[case] left: &[(&str, u64)]) {
        let left: BTreeMap<_, _> = left.iter().map(|(entry, left)| ((*entry).to_owned(), *left)).collect();
        let expected = (!left.is_empty()).then(|| Quota { name: "q".to_owned(), left });
        assert_eq!(Quota::read("q", &map(hard), &map(used)), expected);
    }

    #[test]
    fn what_is_known_to_be_absent_is_not_unknown() {
        let unknown = ClusterFacts::default();
        let view = unknown.view("team-a", None);
        assert!(view.quotas.is_none() && view.config_maps.is_none() && view.claim_templates.is_none());
        let names = || Some(Arc::new(HashMap::from([("team-b".to_owned(), BTreeSet::from(["m".to_owned()]))])));
        let known = ClusterFacts { quotas: Some(Arc::default()), config_maps: names(), ..ClusterFacts::default() };
        let view = known.view("team-a", None);
        assert_eq!((view.quotas, view.config_maps.map(BTreeSet::len)), (Some(&[][..]), Some(0)));
        assert_eq!(known.view("team-b", None).config_maps.map(BTreeSet::len), Some(1));
    }
}
