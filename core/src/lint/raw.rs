//! Accessors for raw objects.

use serde_json::Value;

use crate::json;
use crate::pod::Container;

/// Returns the string at `key`.
pub(super) fn str_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    json::text(value, key)
}

/// Returns the container's volume mounts with their indexes.
pub(super) fn mounts(container: Container<'_>) -> impl Iterator<Item = (usize, &Value)> {
    json::items(container.raw(), "volumeMounts").enumerate()
}
