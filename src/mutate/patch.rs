//! From a plan to RFC 6902 operations that are certain to apply to the pod they were made for.
//!
//! The apiserver answers a patch that does not apply with an error even under `failurePolicy: Ignore`. So: `add` with
//! every parent made first, `replace` only where a value was seen, never `test`, never `remove`.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Plan;
use super::plan::{Manner, Write};

/// The operations of one answer; serialises as the JSON array that is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Patch(json_patch::Patch);

impl Patch {
    /// Whether nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The operations, in order.
    #[must_use]
    pub fn operations(&self) -> &[PatchOperation] {
        &self.0
    }

    /// Applies the operations to `pod`.
    pub fn apply(&self, pod: &mut Value) -> Result<(), json_patch::PatchError> {
        json_patch::patch(pod, &self.0)
    }
}

/// Builds the operations that write `plan` into `pod`. A write that changes nothing makes no operation.
pub(super) fn build(pod: &Value, plan: &Plan) -> Patch {
    let mut builder = Builder { pod, made: Vec::new(), operations: Vec::new() };
    for write in plan.writes() {
        builder.write(write);
    }
    Patch(json_patch::Patch(builder.operations))
}

struct Builder<'a> {
    pod: &'a Value,
    /// Parents that the operations so far have made.
    made: Vec<&'a [String]>,
    operations: Vec<PatchOperation>,
}

impl<'a> Builder<'a> {
    fn write<'plan: 'a>(&mut self, write: &'plan Write) {
        for depth in 1..write.path.len() {
            self.parent(&write.path[..depth], Value::Object(Map::new()));
        }
        let value = write.value.clone();
        if write.manner == Manner::Append {
            self.parent(&write.path, Value::Array(Vec::new()));
            let end = write.path.iter().map(String::as_str).chain(["-"]);
            self.operations.push(PatchOperation::Add(AddOperation { path: PointerBuf::from_tokens(end), value }));
            return;
        }
        let path = PointerBuf::from_tokens(&write.path);
        match lookup(self.pod, &write.path) {
            Some(found) if *found == write.value => {}
            Some(_) => self.operations.push(PatchOperation::Replace(ReplaceOperation { path, value })),
            None => self.operations.push(PatchOperation::Add(AddOperation { path, value })),
        }
    }

    /// Puts `empty` at `path` unless the pod has it. `null` counts as absent, as it does at the apiserver.
    fn parent(&mut self, path: &'a [String], empty: Value) {
        if lookup(self.pod, path).is_some_and(|found| !found.is_null()) || self.made.contains(&path) {
            return;
        }
        self.made.push(path);
        let path = PointerBuf::from_tokens(path);
        self.operations.push(PatchOperation::Add(AddOperation { path, value: empty }));
    }
}

fn lookup<'a>(pod: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(pod, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::to_what_is_there(
        json!({"spec": {"tolerations": [{"key": "a"}]}}),
        json!([
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "c"}},
        ])
    )]
    #[case::a_list_is_made_once(
        json!({"spec": {"tolerations": null}}),
        json!([
            {"op": "add", "path": "/spec/tolerations", "value": []},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "c"}},
        ])
    )]
    fn items_are_appended(#[case] pod: Value, #[case] expected: Value) {
        let mut plan = Plan::default();
        plan.append(&["spec", "tolerations"], json!({"key": "b"}));
        plan.append(&["spec", "tolerations"], json!({"key": "c"}));
        let patch = build(&pod, &plan);
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        let mut patched = pod.clone();
        patch.apply(&mut patched).unwrap();
        let keys: Vec<&Value> =
            patched["spec"]["tolerations"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
        assert!(keys.ends_with(&[&json!("b"), &json!("c")]));
    }

    #[rstest]
    #[case::parents_first(
        json!({"spec": {}}),
        json!([
            {"op": "add", "path": "/metadata", "value": {}},
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": "/metadata/annotations/a.io~1x~0y", "value": "1"},
            {"op": "add", "path": "/metadata/annotations/b", "value": "2"},
            {"op": "add", "path": "/metadata/labels", "value": {}},
            {"op": "add", "path": "/metadata/labels/c", "value": "3"},
        ])
    )]
    #[case::null_is_absent(
        json!({"metadata": {"annotations": null, "labels": {}}}),
        json!([
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": "/metadata/annotations/a.io~1x~0y", "value": "1"},
            {"op": "add", "path": "/metadata/annotations/b", "value": "2"},
            {"op": "add", "path": "/metadata/labels/c", "value": "3"},
        ])
    )]
    #[case::what_stands_is_replaced_what_is_equal_is_left(
        json!({"metadata": {"annotations": {"a.io/x~y": "0", "b": "2"}, "labels": {"c": "3"}}}),
        json!([{"op": "replace", "path": "/metadata/annotations/a.io~1x~0y", "value": "1"}])
    )]
    fn operations(#[case] pod: Value, #[case] expected: Value) {
        let mut plan = Plan::default();
        plan.set_annotation("a.io/x~y", "1");
        plan.set_annotation("b", "2");
        plan.set_label("c", "3");
        let patch = build(&pod, &plan);
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        let mut patched = pod.clone();
        patch.apply(&mut patched).unwrap();
        assert_eq!(patched["metadata"]["annotations"], json!({"a.io/x~y": "1", "b": "2"}));
        assert_eq!(patched["metadata"]["labels"], json!({"c": "3"}));
        assert!(build(&patched, &plan).is_empty());
    }
}
