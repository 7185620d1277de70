//! References of containers to claims.

use serde_json::Value;

use super::MAX_CLAIMS;
use crate::pod::Container;

/// Name of a claim within the pod, and of one of its requests if the container refers only to that.
pub(super) type Reference<'a> = (&'a str, Option<&'a str>);

/// Returns the claims that a container refers to, each with a request if it refers to only one.
pub(super) fn references(container: Container<'_>) -> impl Iterator<Item = Reference<'_>> {
    listed_references(container).take(MAX_CLAIMS).filter_map(|claim| {
        let request = claim.get("request").and_then(Value::as_str).filter(|request| !request.is_empty());
        Some((claim.get("name")?.as_str()?, request))
    })
}

/// Returns true if the container has more references than are read.
pub(super) fn exceeds_limit(container: Container<'_>) -> bool {
    listed_references(container).nth(MAX_CLAIMS).is_some()
}

fn listed_references(container: Container<'_>) -> impl Iterator<Item = &Value> {
    let claims = container.raw().get("resources").and_then(|resources| resources.get("claims")?.as_array());
    claims.into_iter().flatten()
}
