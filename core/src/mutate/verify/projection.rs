//! The part of a pod that a plan affects.

use serde_json::{Map, Value};

use super::plan_tree::PlanTree;

/// Returns `value` without the fields of objects that no write of `planned` affects. A patch built from the plan changes the
/// projection of a pod exactly as it changes the pod.
pub(super) fn project(value: &Value, planned: &PlanTree<'_>) -> Value {
    // Items of lists have no projection: the patches for which it is used change the metadata, which has few.
    let Value::Object(fields) = value else { return value.clone() };
    let affected = planned.children().filter_map(|(key, child)| Some((key, fields.get(key)?, child)));
    affected.map(|(key, value, child)| (key.to_owned(), project(value, child))).collect::<Map<_, _>>().into()
}
