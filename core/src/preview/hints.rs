//! Finds the pod templates of a workload.

use serde_json::Value;

/// Returns true if `manifest` contains a pod template.
pub(super) fn has_pod_template(manifest: &Value) -> bool {
    !templates(manifest).is_empty()
}

/// Returns the paths of the pod templates in `manifest`, as `kubectl explain` writes them.
pub(super) fn templates(manifest: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(spec) = manifest.get("spec") {
        collect(spec, ".spec", &mut found);
    }
    found
}

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let is_template = map.get("spec").and_then(|spec| spec.get("containers")).is_some();
            if is_template {
                found.push(path.to_owned());
                return;
            }
            for (key, item) in map {
                collect(item, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}
