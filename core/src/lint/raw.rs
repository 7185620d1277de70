//! Accessors for raw objects.

use serde_json::Value;

use crate::pod::Container;

/// Returns the string at `key`.
pub(super) fn str_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// Returns the container's volume mounts with their indexes.
pub(super) fn mounts(container: Container<'_>) -> impl Iterator<Item = (usize, &Value)> {
    let mounts = container.raw().get("volumeMounts").and_then(Value::as_array);
    mounts.into_iter().flatten().enumerate()
}
