//! Edits the lists and objects of a pod's spec. What is of the wrong type stays as it is: the apiserver will refuse it.

use serde_json::{Map, Value};

/// The list `key` of `object`, made when it is absent or `null`.
pub(in crate::workload) fn list_mut<'a>(object: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Vec<Value>> {
    let value = object.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut()
}

/// The object `key` of `object`, made when it is absent or `null`.
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

/// Adds `items` at the end of a list, whatever stands there already.
pub(in crate::workload) fn append(object: &mut Map<String, Value>, list: &str, items: impl IntoIterator<Item = Value>) {
    if let Some(list) = list_mut(object, list) {
        list.extend(items);
    }
}

/// Puts `item` in the place of the entry with the same `key`, or at the end of the list.
pub(in crate::workload) fn upsert(object: &mut Map<String, Value>, list: &str, key: &str, item: Value) {
    let Some(entries) = list_mut(object, list) else { return };
    match entries.iter_mut().find(|entry| entry.get(key) == item.get(key)) {
        Some(entry) => *entry = item,
        None => entries.push(item),
    }
}

/// Whether an entry of a list has `value` at `key`.
pub(in crate::workload) fn has_entry<V: ?Sized>(object: &Map<String, Value>, list: &str, key: &str, value: &V) -> bool
where
    Value: PartialEq<V>,
{
    let entries = object.get(list).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get(key)).any(|found| found == value)
}

/// Whether a list is absent or empty, which Go does not tell apart.
pub(in crate::workload) fn is_empty(object: &Map<String, Value>, list: &str) -> bool {
    object.get(list).and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// The text of a field; an absent one is empty, as in Go.
pub(in crate::workload) fn text<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The objects in the list `key` of `object`. Makes no list.
pub(in crate::workload) fn objects<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The containers of a pod's spec, without the init containers.
pub(in crate::workload) fn containers(spec: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    objects(spec, "containers")
}

/// The init containers of a pod's spec.
pub(in crate::workload) fn init_containers(
    spec: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    objects(spec, "initContainers")
}

/// The containers and the init containers of a pod's spec.
pub(in crate::workload) fn every_container(
    spec: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    let lists = spec.iter_mut().filter(|(key, _)| matches!(key.as_str(), "containers" | "initContainers"));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut)
}

/// The container of this name, which is no init container.
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
    fn an_entry_is_replaced_in_its_place_or_added_at_the_end() {
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
