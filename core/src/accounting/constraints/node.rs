//! Nodes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CapacityGroup, Constraint, ConstraintKind, Scope};
use crate::accounting::{Counted, Demand};

/// Maximum number of nodes of which none is larger than another. Those of a cluster have a few such sizes.
const MAX_SIZES: usize = 64;

/// Returns the constraint of the nodes: each pod must fit into one that runs nothing else. `None` without nodes, and if
/// their sizes are too many to compare.
#[must_use]
pub fn largest_nodes<'a>(nodes: impl Iterator<Item = &'a Value>) -> Option<Constraint> {
    let mut group = CapacityGroup::default();
    for node in nodes {
        let Some(allocatable) = node.pointer("/status/allocatable").and_then(Value::as_object) else { continue };
        let amounts = Demand::from_list(allocatable);
        // Nodes of one kind differ by some bytes of memory: what fits into the smaller one fits into the larger one.
        if group.offers.iter().any(|offer| offer.contains_all(&amounts)) {
            continue;
        }
        group.offers.retain(|offer| !amounts.contains_all(offer));
        if group.offers.len() == MAX_SIZES {
            return None;
        }
        group.resources.extend(amounts.iter().map(|(name, _)| name.to_owned()));
        group.offers.push(amounts);
    }
    let resources: BTreeSet<String> = group.resources;
    let groups = vec![CapacityGroup { resources, offers: group.offers }];
    let is_empty = groups.iter().all(|group| group.offers.is_empty());
    (!is_empty).then(|| Constraint {
        kind: ConstraintKind::Node,
        name: "largest node".to_owned(),
        counts: Counted::Pods,
        scope: Scope::Pod,
        groups,
        is_closed: true,
    })
}
