//! Strategic merge patch for the lists in the template of a `JobSet`.

use serde_json::{Map, Value};

/// Lists that are merged by a key, according to the API types; all other lists are replaced.
const MERGED_LISTS: [(&str, &str); 9] = [
    ("replicatedJobs", "name"),
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("volumeMounts", "mountPath"),
    ("imagePullSecrets", "name"),
    ("schedulingGates", "name"),
    ("claims", "name"),
];

/// Merges `patch` into `target`. `null` deletes a field.
pub(super) fn strategic_merge(target: &mut Value, patch: &Value) {
    let (Value::Object(present), Value::Object(changes)) = (&mut *target, patch) else {
        *target = patch.clone();
        return;
    };
    for (key, change) in changes {
        if change.is_null() {
            present.shift_remove(key);
            continue;
        }
        let merge_key = MERGED_LISTS.iter().find(|(list, _)| list == key).map(|(_, merge_key)| *merge_key);
        match (present.get_mut(key), merge_key, change) {
            (Some(Value::Array(items)), Some(merge_key), Value::Array(changes)) => {
                *items = merged_list(items, changes, merge_key);
            }
            (Some(value @ Value::Object(_)), _, change) => strategic_merge(value, change),
            _ => {
                present.insert(key.clone(), without_nulls(change));
            }
        }
    }
}

/// Merges `changes` into `items`, in the order of `changes`. An item that is only in `items` stays before the next item
/// of `items` that is also in `changes`. New items therefore come first.
fn merged_list(items: &[Value], changes: &[Value], merge_key: &str) -> Vec<Value> {
    let position =
        |list: &[Value], item: &Value| list.iter().position(|other| other.get(merge_key) == item.get(merge_key));
    let mut unchanged = items.iter().enumerate().filter(|(_, item)| position(changes, item).is_none()).peekable();
    let mut merged = Vec::with_capacity(items.len() + changes.len());
    for change in changes {
        let at = position(items, change);
        while let Some((_, item)) = unchanged.next_if(|(index, _)| at.is_some_and(|at| *index < at)) {
            merged.push(item.clone());
        }
        let present = at.and_then(|at| items.get(at));
        merged.push(present.map_or_else(
            || without_nulls(change),
            |present| {
                let mut item = present.clone();
                strategic_merge(&mut item, change);
                item
            },
        ));
    }
    merged.extend(unchanged.map(|(_, item)| item.clone()));
    merged
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let present = object.iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(key, value)| (key.clone(), without_nulls(value))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::maps(json!({"a": {"b": 1}}), json!({"a": {"c": null, "d": 2}}), json!({"a": {"b": 1, "d": 2}}))]
    #[case::null_deletes(json!({"a": 1, "b": 2}), json!({"a": null}), json!({"b": 2}))]
    #[case::atomic_list(json!({"tolerations": [{"key": "a"}]}), json!({"tolerations": [{"key": "b"}]}), json!({"tolerations": [{"key": "b"}]}))]
    #[case::by_key(
        json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
        json!({"env": [{"name": "B", "value": "3"}]}),
        json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]})
    )]
    #[case::a_new_item_comes_first(
        json!({"volumes": [{"name": "a"}, {"name": "b"}]}),
        json!({"volumes": [{"name": "new"}]}),
        json!({"volumes": [{"name": "new"}, {"name": "a"}, {"name": "b"}]})
    )]
    #[case::order_of_the_patch(
        json!({"env": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}),
        json!({"env": [{"name": "N"}, {"name": "B", "value": "1"}]}),
        json!({"env": [{"name": "N"}, {"name": "A"}, {"name": "B", "value": "1"}, {"name": "C"}]})
    )]
    fn patches_are_merged_as_by_the_apiserver(#[case] target: Value, #[case] patch: Value, #[case] expected: Value) {
        let mut target = target;
        strategic_merge(&mut target, &patch);
        assert_eq!(target, expected);
    }
}
