//! Messages with which the apiserver rejects a pod because of its requests.

use serde_json::{Map, Value};

use super::constraints::by_resource;
use super::{Demand, LIMITS_PREFIX};

/// Maximum number of resources that are read. A quota can require requests and limits of CPU and memory.
const MAX_UNSPECIFIED: usize = 6;

/// Returns the amounts of a rejected pod that the message of the apiserver contains: those that exceed a quota or a limit, and
/// those that a container omits (kubernetes 1.37.2, plugins `ResourceQuota` and `LimitRanger`). They include the containers of all
/// webhooks, which the apiserver returns only for pods that it accepts.
pub(super) fn rejected_amounts(message: &str) -> Demand {
    let mut found = exceeded_quota(message).unwrap_or_default();
    for (resource, amount) in message.split("maximum ").skip(1).filter_map(exceeded_limit) {
        found.set(resource, amount);
    }
    found.omit(unspecified(message));
    found
}

/// Reads `exceeded quota: NAME, requested: RESOURCE=AMOUNT,…, used: …, limited: …`.
fn exceeded_quota(message: &str) -> Option<Demand> {
    let (_, quota) = message.split_once("exceeded quota: ")?;
    let (_, requested) = quota.split_once(", requested: ")?;
    let (requested, _) = requested.split_once(", used: ")?;
    let amounts = requested.split(',').filter_map(|amount| amount.split_once('='));
    let list: Map<String, Value> = amounts.map(|(name, amount)| (name.to_owned(), Value::from(amount))).collect();
    Some(by_resource(&list))
}

/// Reads `RESOURCE usage per Pod is AMOUNT, but limit is AMOUNT`, or `request` in place of `limit`.
fn exceeded_limit(part: &str) -> Option<(String, u64)> {
    let (resource, rest) = part.split_once(" usage per Pod is ")?;
    let (_, rest) = rest.split_once(", but ")?;
    let (list, amount) = rest.split_once(" is ")?;
    let end = amount.find(|character: char| !character.is_ascii_alphanumeric() && character != '.');
    let amount = amount.get(..end.unwrap_or(amount.len()))?;
    let amounts = Demand::from_list(&Map::from_iter([(resource.to_owned(), amount.into())]));
    let prefix = if list == "limit" { LIMITS_PREFIX } else { "" };
    amounts.contains(resource).then(|| (format!("{prefix}{resource}"), amounts.amount(resource)))
}

/// Reads `failed quota: NAME: must specify RESOURCE for: CONTAINER,…; RESOURCE for: …`.
fn unspecified(message: &str) -> impl Iterator<Item = String> {
    let list = message.split_once("failed quota: ").and_then(|(_, quota)| quota.split_once(": must specify "));
    let resources = list.into_iter().flat_map(|(_, list)| list.split("; ")).take(MAX_UNSPECIFIED);
    let names = resources.filter_map(|part| part.split_once(" for: ")).map(|(resource, _)| resource);
    names.map(|name| name.strip_prefix("requests.").unwrap_or(name).to_owned())
}
