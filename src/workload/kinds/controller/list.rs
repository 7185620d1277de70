//! Edits the lists and objects of a pod's spec. What is of the wrong type stays as it is: the apiserver will refuse it.

use serde_json::{Map, Value, json};

/// The list `key` of `object`, made when it is absent or `null`.
pub(in super::super) fn list_mut<'a>(object: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Vec<Value>> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut()
}

/// The object `key` of `object`, made when it is absent or `null`.
pub(in super::super) fn object_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Appends `item` to the list `key` of `object`.
pub(in super::super) fn push(object: &mut Map<String, Value>, key: &str, item: Value) {
    if let Some(list) = list_mut(object, key) {
        list.push(item);
    }
}

/// The objects in the list `key` of `object`: containers of a spec, for one. Makes no list.
pub(in super::super) fn objects_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Whether a container sets the environment variable `name`.
pub(in super::super) fn has_env(container: &Map<String, Value>, name: &str) -> bool {
    let entries = container.get("env").and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get("name")).any(|known| known == name)
}

/// An environment variable with a literal value.
pub(in super::super) fn env(name: &str, value: impl Into<Value>) -> Value {
    let value: Value = value.into();
    json!({"name": name, "value": value})
}

/// An environment variable that takes its value from a field of the pod.
pub(in super::super) fn env_from_field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}
