//! Quotas, ranges and groups of a namespace.

use serde_json::{Map, Value};

use super::super::demand::LIMITS_PREFIX;
use super::{Constraint, ConstraintKind, Counted, Scope};
use crate::accounting::Demand;
use crate::json;

/// Returns true if a `ResourceQuota` has a scope, and thus counts only some pods.
#[must_use]
pub fn has_scope(quota: &Value) -> bool {
    let has = |field: &str| quota.get("spec").and_then(|spec| spec.get(field)).is_some_and(|value| !value.is_null());
    has("scopes") || has("scopeSelector")
}

/// Returns the constraint of a `ResourceQuota`: what is left of it. `None` if it has a scope, or limits no resource of pods.
#[must_use]
pub fn resource_quota(quota: &Value) -> Option<Constraint> {
    if has_scope(quota) {
        return None;
    }
    let list = |field: &str| quota.pointer(field).and_then(Value::as_object);
    let hard = by_resource(list("/status/hard").or_else(|| list("/spec/hard"))?);
    let used = list("/status/used").map(by_resource).unwrap_or_default();
    let mut left = Demand::default();
    for (resource, amount) in hard.iter() {
        left.set(resource, amount.saturating_sub(used.amount(resource)));
    }
    let name = json::text(quota.get("metadata")?, "name")?;
    left.iter().next()?;
    Some(Constraint::open(ConstraintKind::ResourceQuota, name, Scope::Job, left))
}

/// Returns the amounts of a quota by the names of a [`Demand`]: `requests.cpu` is `cpu`, `count/pods` is `pods`.
pub(in crate::accounting) fn by_resource(list: &Map<String, Value>) -> Demand {
    let mut found = Demand::default();
    for (entry, amount) in list {
        let (prefix, name) = match (entry.strip_prefix("requests."), entry.strip_prefix(LIMITS_PREFIX)) {
            (Some(name), _) => ("", name),
            (_, Some(name)) => (LIMITS_PREFIX, name),
            _ if entry == "count/pods" => ("", "pods"),
            // Storage of volume claims.
            _ if entry.contains(".storageclass.") => continue,
            _ => ("", entry.as_str()),
        };
        if !is_of_pods(name) {
            continue;
        }
        let amounts = Demand::from_list(&Map::from_iter([(name.to_owned(), amount.clone())]));
        if let Some((_, amount)) = amounts.iter().next() {
            // Of two entries for one resource, the stricter one counts. Their usage is the same.
            let key = format!("{prefix}{name}");
            let amount = if found.contains(&key) { found.amount(&key).min(amount) } else { amount };
            found.set(key, amount);
        }
    }
    found
}

/// Returns true if pods request the resource, unlike numbers of other objects and storage of volume claims.
fn is_of_pods(name: &str) -> bool {
    let is_claim = name.starts_with("count/") || name.ends_with(".deviceclass.resource.k8s.io/devices");
    let is_extended = name.contains('/') && !is_claim;
    is_extended || name.starts_with("hugepages-") || matches!(name, "cpu" | "memory" | "ephemeral-storage" | "pods")
}

/// Returns the constraint of a `LimitRange`: the maximum of a pod. `None` if it has none.
#[must_use]
pub fn limit_range(range: &Value) -> Option<Constraint> {
    let limits = range.pointer("/spec/limits")?.as_array()?;
    let pod = limits.iter().find(|limit| json::text(limit, "type") == Some("Pod"))?;
    let mut amounts = Demand::default();
    for (resource, amount) in Demand::from_list(pod.get("max")?.as_object()?).iter() {
        amounts.set(format!("{LIMITS_PREFIX}{resource}"), amount);
        amounts.set(resource, amount);
    }
    amounts.iter().next()?;
    let name = json::text(range.get("metadata")?, "name")?;
    Some(Constraint::open(ConstraintKind::LimitRange, name, Scope::Pod, amounts))
}

/// Returns the constraint of a `PodGroup` of Volcano or the coscheduling plugin: its `minResources`, which its owner computed
/// from the templates. `None` if it has none.
#[must_use]
pub fn pod_group(group: &Value) -> Option<Constraint> {
    let amounts = Demand::from_list(group.pointer("/spec/minResources")?.as_object()?);
    amounts.iter().next()?;
    let name = json::text(group.get("metadata")?, "name")?;
    let open = Constraint::open(ConstraintKind::PodGroup, name, Scope::Job, amounts);
    Some(Constraint { counts: Counted::Templates, is_closed: true, ..open })
}
