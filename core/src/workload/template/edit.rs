//! Edits lists and objects in a pod's spec. A value of the wrong type is left unchanged, because the apiserver rejects
//! it.

use serde_json::{Map, Value};

/// Returns the list `key` of `object`, which is created if it is absent or `null`; `None` if it is not a list.
pub(in crate::workload) fn list_mut<'a>(object: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Vec<Value>> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut()
}

/// Returns the object `key` of `object`, which is created if it is absent or `null`; `None` if it is not an object.
pub(in crate::workload) fn object_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Appends `items` to a list without checking for duplicates.
pub(in crate::workload) fn append(object: &mut Map<String, Value>, list: &str, items: impl IntoIterator<Item = Value>) {
    if let Some(list) = list_mut(object, list) {
        list.extend(items);
    }
}

/// Replaces the entry that has the same `key` as `item`, or appends `item`.
pub(in crate::workload) fn upsert(object: &mut Map<String, Value>, list: &str, key: &str, item: Value) {
    let Some(entries) = list_mut(object, list) else { return };
    match entries.iter_mut().find(|entry| entry.get(key) == item.get(key)) {
        Some(entry) => *entry = item,
        None => entries.push(item),
    }
}

/// Returns true if an entry of a list has `value` at `key`.
pub(in crate::workload) fn has_entry<V: ?Sized>(object: &Map<String, Value>, list: &str, key: &str, value: &V) -> bool
where
    Value: PartialEq<V>,
{
    let entries = object.get(list).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get(key)).any(|found| found == value)
}

/// Returns true if a list is absent or empty, which Go does not distinguish.
pub(in crate::workload) fn is_list_empty(object: &Map<String, Value>, list: &str) -> bool {
    object.get(list).and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// Returns the string value of a field; empty if absent, as in Go.
pub(in crate::workload) fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the objects in the list `key` of `object`, without creating the list.
pub(in crate::workload) fn objects<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Returns the containers of a pod's spec, without init containers.
pub(in crate::workload) fn containers(spec: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    objects(spec, "containers")
}

/// Returns the init containers of a pod's spec.
pub(in crate::workload) fn init_containers(
    spec: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    objects(spec, "initContainers")
}

/// Returns the containers and init containers of a pod's spec.
pub(in crate::workload) fn all_containers(
    spec: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    let lists = spec.iter_mut().filter(|(key, _)| matches!(key.as_str(), "containers" | "initContainers"));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut)
}

/// Returns the container with this name; init containers are ignored.
pub(in crate::workload) fn container_named<'a>(
    spec: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    containers(spec).find(|container| text(container, "name") == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::env;
    use super::*;

    #[test]
    fn upsert_replaces_in_place_or_appends() {
        let mut container = json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]});
        let container = container.as_object_mut().unwrap();
        upsert(container, "env", "name", env("A", "3"));
        upsert(container, "env", "name", env("C", ""));
        upsert(container, "volumeMounts", "mountPath", json!({"name": "v", "mountPath": "/v"}));
        let expected = json!({
            "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}, {"name": "C"}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        });
        assert_eq!(Value::Object(container.clone()), expected);
    }
}
