//! Environment variables of a container.

use serde_json::{Map, Value, json};

use super::{append, has_entry};

/// Returns an environment variable with a literal value. An empty value is omitted, as by Go's encoder.
pub(in crate::workload) fn env(name: &str, value: impl Into<String>) -> Value {
    let value = value.into();
    if value.is_empty() { json!({"name": name}) } else { json!({"name": name, "value": value}) }
}

/// Returns an environment variable whose value comes from a field of the pod.
pub(in crate::workload) fn env_from_field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Adds `variable` to a container unless it already has a variable of that name.
pub(in crate::workload) fn ensure_env(container: &mut Map<String, Value>, variable: Value) {
    if !has_entry(container, "env", "name", &variable["name"]) {
        append(container, "env", [variable]);
    }
}
