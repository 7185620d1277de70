//! Requests that admission adds to those of a pod's containers.

use serde::Serialize;

use super::Demand;
use crate::pod::{Container, Pod, Requests};

/// Name of the overhead of a `RuntimeClass`, which belongs to no container.
const OVERHEAD: &str = "RuntimeClass";

/// Name of the containers of other webhooks in a pod that the apiserver rejected.
pub(super) const UNKNOWN_CONTAINER: &str = "unknown";

/// Requests of a container that its template does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Addition {
    /// Name of the container; `RuntimeClass` for the overhead of the pod, `unknown` for containers of other webhooks that the
    /// message of the apiserver does not name.
    pub container: String,
    /// Amounts in addition to those of the template.
    pub requests: Demand,
}

/// Returns what the containers of `pod` request in addition to those of `template`, in the order of the containers. A new
/// container is added completely.
#[must_use]
pub fn additions(template: Pod<'_>, pod: Pod<'_>) -> Vec<Addition> {
    let before: Vec<Container<'_>> = template.containers().collect();
    let of_container = |container: Container<'_>| {
        let added = added_requests(&before, container);
        addition(container.name(), &added)
    };
    let overhead = |pod: Pod<'_>| pod.raw().get("spec").map(Requests::overhead).unwrap_or_default();
    let overhead = addition(OVERHEAD, &overhead(pod).excess_over(&overhead(template)));
    pod.containers().filter_map(of_container).chain(overhead).collect()
}

/// Returns what `container` requests in addition to the container of its name in `before`.
pub(crate) fn added_requests(before: &[Container<'_>], container: Container<'_>) -> Requests {
    let is_same = |other: &&Container<'_>| (other.kind, other.name()) == (container.kind, container.name());
    let requests = Requests::from_container(container.raw());
    match before.iter().find(is_same) {
        Some(template) => requests.excess_over(&Requests::from_container(template.raw())),
        None => requests,
    }
}

fn addition(container: &str, requests: &Requests) -> Option<Addition> {
    let is_empty = requests.iter().next().is_none();
    (!is_empty).then(|| Addition { container: container.to_owned(), requests: requests.clone().into() })
}
