//! Objects in a manifest that are manifests themselves: the components of an `AppWrapper`.

use serde_json::Value;

use super::INDEPENDENT;

/// Returns `object`, and the objects in it, each with its path, which is empty for `object` itself.
pub(super) fn objects(object: &Value) -> Vec<(String, &Value)> {
    let is_wrapper = object.get("kind").and_then(Value::as_str) == Some(INDEPENDENT);
    let components = object.pointer("/spec/components").filter(|_| is_wrapper).and_then(Value::as_array);
    let templates = components.into_iter().flatten().enumerate().filter_map(|(index, component)| {
        Some((format!("spec.components[{index}].template"), component.get("template")?))
    });
    [(String::new(), object)].into_iter().chain(templates).collect()
}
