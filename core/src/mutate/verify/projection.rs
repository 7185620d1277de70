//! The part of a pod that a plan affects.

use serde_json::{Map, Value};

use super::plan_tree::PlanTree;

/// Returns `value` without the fields that no write of `planned` affects. Lists keep their length: an item that no write
/// affects is replaced by an empty value of its type. A patch built from the plan changes the projection of a pod exactly
/// as it changes the pod.
pub(super) fn project(value: &Value, planned: &PlanTree<'_>) -> Value {
    if planned.is_set() {
        return value.clone();
    }
    match value {
        Value::Object(fields) => {
            let affected = planned.children().filter_map(|(key, child)| Some((key, fields.get(key)?, child)));
            affected.map(|(key, value, child)| (key.to_owned(), project(value, child))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| planned.item(index).map_or_else(|| empty(item), |child| project(item, child)))
                .collect()
        }
        scalar => scalar.clone(),
    }
}

/// Returns an empty value of the type of `value`.
fn empty(value: &Value) -> Value {
    match value {
        Value::Object(_) => Map::new().into(),
        Value::Array(_) => Vec::<Value>::new().into(),
        Value::String(_) => String::new().into(),
        scalar => scalar.clone(),
    }
}
