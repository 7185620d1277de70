//! Nodes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Capacity, CapacityGroup, Constraint, ConstraintKind, Scope};
use crate::accounting::{Counted, Demand};
use crate::json;

/// Maximum number of nodes that are compared. Those of a cluster have few different sizes.
const MAX_SIZES: usize = 64;

/// Returns the constraint of the nodes: each pod must fit into one that runs nothing else. `None` without nodes.
#[must_use]
pub fn largest_nodes<'a>(nodes: impl Iterator<Item = &'a Value>) -> Option<Constraint> {
    let mut group = CapacityGroup::default();
    for node in nodes {
        let Some(allocatable) = node.pointer("/status/allocatable").and_then(Value::as_object) else { continue };
        let amounts = Demand::from_list(allocatable);
        if group.offers.len() == MAX_SIZES || group.offers.iter().any(|offer| offer.amounts == amounts) {
            continue;
        }
        group.resources.extend(amounts.iter().map(|(name, _)| name.to_owned()));
        let name = node.get("metadata").and_then(|metadata| json::text(metadata, "name")).unwrap_or_default();
        group.offers.push(Capacity { name: name.to_owned(), amounts });
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
