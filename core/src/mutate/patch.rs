//! Builds RFC 6902 operations from a plan.
//!
//! The apiserver rejects a pod whose patch does not apply, even with `failurePolicy: Ignore`. The builder therefore
//! emits only operations that are certain to apply: `add` to parents that exist or that an earlier operation creates,
//! and `replace` of existing values. It never emits `test` or `remove`.

use std::collections::HashSet;

use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Plan;
use super::plan::{Write, WriteKind};

/// A JSON patch. Serializes as the array that is sent to the apiserver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Patch(json_patch::Patch);

impl Patch {
    /// Returns true if the patch has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the operations, in order.
    #[must_use]
    pub fn operations(&self) -> &[PatchOperation] {
        &self.0
    }

    /// Returns true if an operation changes the `spec` of the pod.
    #[must_use]
    pub fn changes_spec(&self) -> bool {
        self.0.iter().any(|operation| operation.path().as_str().starts_with("/spec"))
    }

    /// Applies the operations to `pod`. On error, earlier operations are not rolled back.
    pub fn apply(&self, pod: &mut Value) -> Result<(), json_patch::PatchError> {
        json_patch::patch_unsafe(pod, &self.0)
    }
}

/// Builds the operations that write `plan` to `pod`. A write that changes nothing yields no operation.
pub(super) fn build(pod: &Value, plan: &Plan) -> Patch {
    let mut builder = Builder { pod, created: HashSet::new(), operations: Vec::new() };
    for write in plan.writes() {
        builder.write(write);
    }
    Patch(json_patch::Patch(builder.operations))
}

struct Builder<'a> {
    pod: &'a Value,
    /// Parents that earlier operations created.
    created: HashSet<&'a Pointer>,
    operations: Vec<PatchOperation>,
}

impl<'a> Builder<'a> {
    fn write(&mut self, write: &'a Write) {
        match write.kind {
            WriteKind::Append => {
                self.ensure(&write.path, Value::Array(Vec::new()));
                self.add(write.path.with_trailing_token("-"), Value::clone(&write.value));
            }
            WriteKind::Set => {
                self.ensure_parent(&write.path);
                match write.path.resolve(self.pod) {
                    Ok(found) if *found == *write.value => {}
                    Ok(_) => self.operations.push(PatchOperation::Replace(ReplaceOperation {
                        path: write.path.clone(),
                        value: Value::clone(&write.value),
                    })),
                    Err(_) => self.add(write.path.clone(), Value::clone(&write.value)),
                }
            }
        }
    }

    /// Creates `empty` and its parents at `path` if absent. Like the apiserver, it treats `null` as absent.
    fn ensure(&mut self, path: &'a Pointer, empty: Value) {
        let exists = || path.resolve(self.pod).is_ok_and(|found| !found.is_null());
        if path.is_root() || self.created.contains(path) || exists() {
            return;
        }
        self.ensure_parent(path);
        self.created.insert(path);
        self.add(path.to_buf(), empty);
    }

    fn ensure_parent(&mut self, path: &'a Pointer) {
        if let Some(parent) = path.parent() {
            self.ensure(parent, Value::Object(Map::new()));
        }
    }

    fn add(&mut self, path: PointerBuf, value: Value) {
        self.operations.push(PatchOperation::Add(AddOperation { path, value }));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::plan::spec_path;
    use super::*;

    #[rstest]
    #[case::to_an_existing_list(
        json!({"spec": {"tolerations": [{"key": "a"}]}}),
        json!([
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "c"}},
        ])
    )]
    #[case::to_a_created_list(
        json!({"spec": {"tolerations": null}}),
        json!([
            {"op": "add", "path": "/spec/tolerations", "value": []},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}},
            {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "c"}},
        ])
    )]
    fn items_are_appended(#[case] pod: Value, #[case] expected: Value) {
        let mut plan = Plan::default();
        plan.append(spec_path(["tolerations"]), json!({"key": "b"}));
        plan.append(spec_path(["tolerations"]), json!({"key": "c"}));
        let patch = build(&pod, &plan);
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        let mut patched = pod.clone();
        patch.apply(&mut patched).unwrap();
        let keys: Vec<&Value> =
            patched["spec"]["tolerations"].as_array().unwrap().iter().map(|item| &item["key"]).collect();
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
    #[case::existing_value_is_replaced_and_equal_value_is_kept(
        json!({"metadata": {"annotations": {"a.io/x~y": "0", "b": "2"}, "labels": {"c": "3"}}}),
        json!([{"op": "replace", "path": "/metadata/annotations/a.io~1x~0y", "value": "1"}])
    )]
    fn writes_become_operations(#[case] pod: Value, #[case] expected: Value) {
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
