//! Extended resources, which device plugins offer.

use std::collections::BTreeSet;

use serde_json::Value;

use super::read::truncate;
use crate::pod::Pod;

/// Maximum number of resources that are kept of a pod.
const MAX_DEVICES: usize = 16;
/// Maximum length of a name in bytes: a domain, a slash and a name.
const MAX_NAME: usize = 253 + 1 + 63;
/// Domain of the resources of Kubernetes itself.
const KUBERNETES: &str = "kubernetes.io";

/// Returns true for a resource with a domain that is not one of Kubernetes.
pub(super) fn is_extended(resource: &str) -> bool {
    let domain = resource.split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| domain != KUBERNETES && !domain.ends_with(".kubernetes.io"))
}

/// Returns the extended resources that the containers of a pod request.
pub(super) fn requested_devices(pod: Pod<'_>) -> Vec<Box<str>> {
    let lists = pod.containers().flat_map(|container| {
        let resources = container.raw().get("resources");
        ["limits", "requests"].map(|list| resources.and_then(|resources| resources.get(list)?.as_object()))
    });
    let requests = lists.flatten().flatten().filter(|(name, count)| is_extended(name) && !is_zero(count));
    let names: BTreeSet<&str> = requests.map(|(name, _)| name.as_str()).collect();
    names.into_iter().take(MAX_DEVICES).map(|name| truncate(name, MAX_NAME)).collect()
}

fn is_zero(count: &Value) -> bool {
    crate::quantity::whole_units(count) == Some(0)
}
