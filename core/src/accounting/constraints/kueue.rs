//! Queues and workloads of Kueue (v1beta1 and v1beta2).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{CapacityGroup, Constraint, ConstraintKind, Scope};
use crate::accounting::{Counted, Demand};
use crate::json;

/// Returns the constraint of a `ClusterQueue`: for each flavor, the nominal quota that is not reserved. What it may borrow from its
/// cohort is not part of it.
#[must_use]
pub fn cluster_queue(queue: &Value, counts: Counted) -> Option<Constraint> {
    let name = json::text(queue.get("metadata")?, "name")?.to_owned();
    let groups = queue.pointer("/spec/resourceGroups").and_then(Value::as_array);
    let used = |flavor: &str, resource: &str| {
        // Includes Workloads that wait for admission checks.
        let flavors = queue.pointer("/status/flavorsReservation").and_then(Value::as_array).into_iter().flatten();
        let usage = flavors.filter(|usage| json::text(usage, "name") == Some(flavor));
        let resources = usage.filter_map(|usage| usage.get("resources")?.as_array()).flatten();
        let found = resources.filter(|usage| json::text(usage, "name") == Some(resource));
        found.filter_map(|usage| amount(resource, usage.get("total")?)).sum::<u64>()
    };
    let group = |group: &Value| {
        let covered = group.get("coveredResources").and_then(Value::as_array).into_iter().flatten();
        let resources: BTreeSet<String> = covered.filter_map(Value::as_str).map(str::to_owned).collect();
        let flavors = group.get("flavors").and_then(Value::as_array).into_iter().flatten();
        let offer = |flavor: &Value| {
            let name = json::text(flavor, "name")?;
            let mut amounts = Demand::default();
            for quota in flavor.get("resources").and_then(Value::as_array).into_iter().flatten() {
                let Some(resource) = json::text(quota, "name") else { continue };
                let nominal =
                    quota.get("nominalQuota").and_then(|nominal| amount(resource, nominal)).unwrap_or_default();
                amounts.set(resource, nominal.saturating_sub(used(name, resource)));
            }
            Some(amounts)
        };
        CapacityGroup { resources, offers: flavors.filter_map(offer).collect() }
    };
    let groups = groups.into_iter().flatten().map(group).collect();
    Some(Constraint { kind: ConstraintKind::ClusterQueue, name, counts, scope: Scope::Job, groups, is_closed: true })
}

/// Returns the constraint of a `Workload`: what Kueue counts for the job.
#[must_use]
pub fn reserved_workload(workload: &Value, counts: Counted) -> Option<Constraint> {
    let name = json::text(workload.get("metadata")?, "name")?;
    let sets = workload.pointer("/spec/podSets")?.as_array()?;
    let mut amounts = Demand::default();
    for set in sets {
        let count = set.get("count").and_then(Value::as_u64).unwrap_or(1);
        amounts.add(&Demand::of_pod(set.pointer("/template/spec").unwrap_or(&Value::Null)), count);
    }
    let open = Constraint::open(ConstraintKind::Workload, name, Scope::Job, amounts);
    Some(Constraint { counts, is_closed: true, ..open })
}

fn amount(resource: &str, quantity: &Value) -> Option<u64> {
    let list = Map::from_iter([(resource.to_owned(), quantity.clone())]);
    Demand::from_list(&list).iter().next().map(|(_, amount)| amount)
}
