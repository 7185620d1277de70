//! What the tests of the kinds share.

use serde_json::Value;

use super::super::{Manifest, Role, Runtimes, find};

/// Renders `manifest` in namespace `ml`, with `runtimes` of the same input.
pub(in crate::workload) fn render_with(manifest: &Value, runtimes: &Runtimes) -> Result<Vec<Role>, String> {
    let text = |key: &str| manifest[key].as_str().unwrap();
    let kind = find(text("apiVersion"), text("kind")).unwrap();
    (kind.render)(&Manifest { raw: manifest, namespace: "ml", runtimes }).map_err(|error| error.to_string())
}

/// Renders `manifest` in namespace `ml`.
pub(in crate::workload) fn render(manifest: &Value) -> Result<Vec<Role>, String> {
    render_with(manifest, &Runtimes::default())
}

/// The environment of a container of a role, one line a variable: `NAME=value`, or `NAME<path` for a field.
pub(in crate::workload) fn env_of(role: &Role, container: usize) -> Vec<String> {
    let line = |variable: &Value| {
        let name = variable["name"].as_str().unwrap();
        match &variable["valueFrom"]["fieldRef"]["fieldPath"] {
            Value::String(path) => format!("{name}<{path}"),
            _ => format!("{name}={}", variable.get("value").and_then(Value::as_str).unwrap_or_default()),
        }
    };
    role.pod["spec"]["containers"][container]["env"].as_array().into_iter().flatten().map(line).collect()
}
