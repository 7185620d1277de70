//! The marks of a refusal: the annotation with the refused rules, and the label for the controller.

use json_patch::PatchOperation;
use trainmesh_core::mutate::Patch;

/// Paths of the marks.
const MARKS: [&str; 2] = ["/metadata/annotations/trainmesh.dev~1refused", "/metadata/labels/trainmesh.dev~1managed"];

/// Returns true if `patch` changes more than the marks of a refusal.
pub fn changes_more_than_marks(patch: &Patch) -> bool {
    let operations = serde_json::to_value(patch).expect("serialize the patch");
    let operations: Vec<PatchOperation> = serde_json::from_value(operations).expect("the patch is a list");
    let is_mark = |operation: &PatchOperation| match operation {
        PatchOperation::Add(add) if add.value.as_object().is_some_and(serde_json::Map::is_empty) => true,
        other => MARKS.contains(&other.path().as_str()),
    };
    !operations.iter().all(is_mark)
}
