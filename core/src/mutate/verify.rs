//! Verification of a patch before it is sent. A faulty patch would block the pod, whereas without a patch the pod is
//! merely unchanged.

mod decode;
mod grammar;
mod plan_tree;

use json_patch::jsonptr::Pointer;
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Patch, Plan};
use crate::json;
use grammar::is_well_formed;
use plan_tree::PlanTree;

/// The apiserver's limit on the sum of all annotation keys and values, in bytes.
const APISERVER_ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// Space reserved for webhooks that are called later: Istio's injector adds some hundred bytes, and a pod that is valid
/// without the patch must be valid with it.
const OTHER_WEBHOOKS_RESERVE: usize = 16 * 1024;
/// Maximum size of the annotations of the patched pod, in bytes.
const ANNOTATIONS_LIMIT: usize = APISERVER_ANNOTATIONS_LIMIT - OTHER_WEBHOOKS_RESERVE;

/// Reason why a patch is not sent.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The original object is not a Pod. The apiserver rejects it.
    #[error("the object does not decode as a Pod")]
    Original(#[source] serde_json::Error),
    /// The apiserver rejects the original object, although it decodes as a Pod.
    #[error("{0}")]
    Rejected(String),
    /// An operation does not apply.
    #[error("the patch does not apply")]
    Apply(#[source] json_patch::PatchError),
    /// The patched object is not a Pod.
    #[error("the patched object does not decode as a Pod")]
    Patched(#[source] serde_json::Error),
    /// A planned value violates the grammar of its field.
    #[error("{pointer} would have a value that the apiserver rejects")]
    Grammar {
        /// JSON pointer of the field.
        pointer: String,
    },
    /// The annotations would exceed the limit.
    #[error("the annotations would have {total} bytes, above {ANNOTATIONS_LIMIT}: no space is left for other webhooks")]
    AnnotationsTooLarge {
        /// Size of the annotations without the patch, in bytes.
        original: usize,
        /// Size of the annotations with the patch, in bytes.
        total: usize,
    },
    /// A field outside the plan changed, or a planned field has another value.
    #[error("the pod would differ from the plan")]
    OutsideThePlan,
}

impl VerifyError {
    /// Returns true if the original object, not the patch, caused the error.
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        matches!(self, Self::Original(_) | Self::Rejected(_)) || self.is_annotation_overflow()
    }

    /// Returns true if the original annotations leave no space for those of the patch.
    #[must_use]
    pub fn is_annotation_overflow(&self) -> bool {
        // If the patch contributes the larger part, a profile in the configuration is the cause.
        matches!(self, Self::AnnotationsTooLarge { original, total } if *original > total / 2)
    }
}

/// Applies `patch`, built from `plan`, to `pod`. Returns the result if it is a valid Pod that differs only by the plan.
pub fn verify(pod: &Value, patch: &Patch, plan: &Plan) -> Result<Value, VerifyError> {
    decode::pod(pod).map_err(VerifyError::Original)?;
    verify_change(pod, patch, plan, &PlanTree::new(plan))
}

/// Like [`verify`], but applies the patch only to the fields of the pod that the plan affects: usually the metadata, the
/// smaller part.
///
/// The result is the same: an operation on another field does not apply or adds that field, the fields of a Pod decode
/// independently of each other, and operations on the pod as a whole are rejected.
pub fn verify_affected(pod: &Value, patch: &Patch, plan: &Plan) -> Result<(), VerifyError> {
    decode::pod(pod).map_err(VerifyError::Original)?;
    if patch.operations().iter().any(|operation| operation.path().is_root()) {
        return Err(VerifyError::OutsideThePlan);
    }
    let tree = PlanTree::new(plan);
    verify_change(&affected_fields(pod, &tree), patch, plan, &tree).map(drop)
}

/// Returns the fields of `pod` that the plan affects, each of them complete, and the metadata for the size of the
/// annotations.
fn affected_fields(pod: &Value, planned: &PlanTree<'_>) -> Value {
    let fields = pod.as_object().into_iter().flatten();
    let affected = fields.filter(|(key, _)| *key == "metadata" || planned.child(key).is_some());
    affected.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// Applies `patch` to `pod`, which decodes as a Pod, and checks the result.
fn verify_change(pod: &Value, patch: &Patch, plan: &Plan, tree: &PlanTree<'_>) -> Result<Value, VerifyError> {
    let mut patched = pod.clone();
    patch.apply(&mut patched).map_err(VerifyError::Apply)?;
    decode::pod(&patched).map_err(VerifyError::Patched)?;
    check_grammar(plan)?;
    let [original, total] = [pod, &patched].map(annotation_bytes);
    if total > ANNOTATIONS_LIMIT {
        return Err(VerifyError::AnnotationsTooLarge { original, total });
    }
    if equal_outside_plan(Some(pod), Some(&patched), Some(tree)) {
        Ok(patched)
    } else {
        Err(VerifyError::OutsideThePlan)
    }
}

fn check_grammar(plan: &Plan) -> Result<(), VerifyError> {
    let invalid = plan.writes().iter().find(|write| !is_well_formed(write));
    match invalid {
        None => Ok(()),
        Some(write) => Err(VerifyError::Grammar { pointer: unescaped(&write.path) }),
    }
}

/// Returns a JSON pointer without escapes.
fn unescaped(path: &Pointer) -> String {
    path.as_str().replace("~1", "/").replace("~0", "~")
}

/// Returns the size of all annotations in bytes, as the apiserver counts it.
fn annotation_bytes(pod: &Value) -> usize {
    let annotations = json::get(pod, "metadata").and_then(|metadata| json::get(metadata, "annotations")?.as_object());
    let sizes = annotations.into_iter().flatten();
    sizes.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

/// Returns true if the annotations of `pod` exceed the apiserver's limit, so that it will reject the pod.
pub(super) fn exceeds_annotation_limit(pod: &Value) -> bool {
    annotation_bytes(pod) > APISERVER_ANNOTATIONS_LIMIT
}

/// Returns true if `before` and `after` differ only by the planned writes.
fn equal_outside_plan(before: Option<&Value>, after: Option<&Value>, planned: Option<&PlanTree<'_>>) -> bool {
    let Some(planned) = planned else { return before == after };
    if let Some(value) = planned.set_value() {
        return after == Some(value);
    }
    let empty = Map::new();
    let (before, after) = match (before, after) {
        (before, Some(Value::Array(after))) => {
            let Some(before) = items(before) else { return false };
            return before.len() <= after.len() && equal_items_outside_plan(before, after, planned);
        }
        (Some(Value::Object(before)), Some(Value::Object(after))) => (before, after),
        // An absent parent was created. It must contain only planned fields.
        (None | Some(Value::Null), Some(Value::Object(after))) => (&empty, after),
        _ => return before == after,
    };
    let is_complete = before.keys().all(|key| after.contains_key(key));
    is_complete && after.iter().all(|(key, value)| equal_outside_plan(before.get(key), Some(value), planned.child(key)))
}

/// Returns true if the items of a list differ only by the planned writes, and the appended items are the planned ones.
fn equal_items_outside_plan(before: &[Value], after: &[Value], planned: &PlanTree<'_>) -> bool {
    let (unchanged, appended) = after.split_at(before.len());
    let mut pairs = before.iter().zip(unchanged).enumerate();
    appended.iter().eq(planned.appended())
        && pairs.all(|(index, (before, after))| equal_outside_plan(Some(before), Some(after), planned.item(index)))
}

/// Returns the items of a list. An absent list has none.
fn items(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
