//! Parts of a manifest that contain fields of a pod.

use serde_json::Value;

use super::template::pod_spec;
use crate::yaml::Node;

/// A part of a manifest, and the part of a pod for which it sets fields.
pub(super) struct Part<'tree, 'pod> {
    node: Node<'tree>,
    pod: &'pod Value,
    /// Keys and indexes from `pod` to the field.
    path: Vec<String>,
}

/// The deepest node of a part on the path to a field.
pub(super) struct Deepest<'tree, 'pod> {
    pub(super) node: Node<'tree>,
    /// Value in the pod, if the part contains the field.
    value: Option<&'pod Value>,
    /// Number of keys and indexes from the node to the field.
    pub(super) missing: usize,
}

impl<'tree, 'pod> Part<'tree, 'pod> {
    /// Creates the part for the field at `path` in `pod`.
    pub(super) fn new(node: Node<'tree>, pod: &'pod Value, path: impl IntoIterator<Item = String>) -> Self {
        Self { node, pod, path: path.into_iter().collect() }
    }

    /// Follows the path as far as the part contains it. Items of lists are found by their name, because operators add items, or
    /// without one, by their other fields.
    pub(super) fn deepest(&self) -> Deepest<'tree, 'pod> {
        let (mut node, mut pod) = (self.node, self.pod);
        for (index, key) in self.path.iter().enumerate() {
            let absent = Deepest { node, value: None, missing: self.path.len() - index };
            let value = match pod {
                Value::Array(items) => key.parse().ok().and_then(|index: usize| items.get(index)),
                _ => pod.get(key),
            };
            let Some(value) = value else { return absent };
            let next = match pod {
                Value::Array(items) => same_item(node, items, value).or_else(|| extended_item(node, value)),
                _ if key == "spec" => pod_spec(node),
                _ => node.get(key),
            };
            let Some(next) = next else { return absent };
            (node, pod) = (next, value);
        }
        Deepest { node, value: Some(pod), missing: 0 }
    }
}

impl<'tree> Deepest<'tree, '_> {
    /// Returns the node if it sets the field: the field has the same value in the pod, or is a mapping or a list of mappings, to
    /// which operators add.
    pub(super) fn own(self) -> Option<Node<'tree>> {
        let value = self.value?;
        let has_mappings = value.is_object() || value.get(0).is_some_and(Value::is_object);
        (has_mappings || self.node.value == value).then_some(self.node)
    }

    /// Returns the node if it is that of the field.
    pub(super) fn present(self) -> Option<Node<'tree>> {
        (self.missing == 0).then_some(self.node)
    }

    /// Returns the node if the field has the same value in the pod.
    pub(super) fn equal(self) -> Option<Node<'tree>> {
        (self.value? == self.node.value).then_some(self.node)
    }
}

/// Returns the item of `list` that is `value`, one of the `items` of the pod. A name may occur several times: of as many items in both
/// lists, the positions correspond; otherwise it is an equal one, or the first.
fn same_item<'tree>(list: Node<'tree>, items: &[Value], value: &Value) -> Option<Node<'tree>> {
    let same: Vec<Node<'tree>> = list.items().filter(|item| is_same_item(item.value, value)).collect();
    if same.len() < 2 {
        return same.first().copied();
    }
    let of_pod: Vec<&Value> = items.iter().filter(|item| is_same_item(item, value)).collect();
    let position = of_pod.iter().position(|item| std::ptr::eq(*item, value)).filter(|_| of_pod.len() == same.len());
    let equal = || same.iter().find(|item| item.value == value);
    position.and_then(|position| same.get(position)).or_else(equal).or(same.first()).copied()
}

fn is_same_item(a: &Value, b: &Value) -> bool {
    match (a.get("name"), b.get("name")) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Returns the item of `list` to which an operator added fields, so that it became `value`: the one with the most fields that
/// `value` contains. Returns `None` if several have as many.
fn extended_item<'tree>(list: Node<'tree>, value: &Value) -> Option<Node<'tree>> {
    let found = list.items().filter_map(|item| Some((kept_fields(item.value, value)?, item)));
    let found: Vec<((usize, usize), Node<'_>)> = found.collect();
    let most = found.iter().map(|(kept, _)| *kept).max()?;
    let mut largest = found.into_iter().filter(|(kept, _)| *kept == most).map(|(_, item)| item);
    largest.next().filter(|_| largest.next().is_none())
}

/// Returns the number of fields of `item`, and of those that are the same in `value`, if both have no name, and `value` is
/// `item` with the fields that an operator adds: the name of a container may be misspelled.
fn kept_fields(item: &Value, value: &Value) -> Option<(usize, usize)> {
    let (item, value) = (item.as_object()?, value.as_object()?);
    // Operators add to mappings and lists.
    let is_same_type = |a: &Value, b: &Value| a.is_object() && b.is_object() || a.is_array() && b.is_array();
    let is_kept =
        |(key, field): (&String, &Value)| value.get(key).is_some_and(|kept| kept == field || is_same_type(kept, field));
    let has_name = item.contains_key("name") || value.contains_key("name");
    let is_extended = !has_name && !item.is_empty() && item.iter().all(is_kept);
    is_extended.then(|| (item.len(), item.iter().filter(|(key, field)| value.get(*key) == Some(*field)).count()))
}
