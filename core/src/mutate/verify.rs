//! The last look at a patch before it leaves: a wrong one would block the pod, none at all merely leaves it as it was.

mod decode;
mod grammar;
mod planned;

use json_patch::jsonptr::Pointer;
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Patch, Plan};
use grammar::well_formed;
use planned::Planned;

/// The apiserver's limit on the sum of all annotation keys and values, in bytes.
const APISERVER_ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// Room for what other webhooks write after us: Istio's injector adds some hundred bytes, and a pod that passed without
/// our annotation must pass with it.
const OTHERS_ROOM: usize = 16 * 1024;
/// How large the annotations may be after us.
const ANNOTATIONS_LIMIT: usize = APISERVER_ANNOTATIONS_LIMIT - OTHERS_ROOM;

/// Why a patch is not sent.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// What came in is no Pod; the apiserver will say so.
    #[error("the object does not decode as a Pod")]
    Original(#[source] serde_json::Error),
    /// An operation does not apply.
    #[error("the patch does not apply")]
    Apply(#[source] json_patch::PatchError),
    /// What comes out is no Pod.
    #[error("the patched object does not decode as a Pod")]
    Patched(#[source] serde_json::Error),
    /// A value that we wrote breaks the grammar of its field.
    #[error("{pointer} would hold a value that the apiserver refuses")]
    Grammar {
        /// The field.
        pointer: String,
    },
    /// The annotations would be larger than the apiserver allows.
    #[error(
        "the annotations would be {total} bytes: over {ANNOTATIONS_LIMIT} there is no room left for those of other webhooks"
    )]
    AnnotationsTooLarge {
        /// How large they are without the patch.
        own: usize,
        /// How large they would be with it.
        total: usize,
    },
    /// A field outside the plan changed.
    #[error("a field outside the plan would change")]
    OutsideThePlan,
}

impl VerifyError {
    /// Whether what came in is to blame, and not a patch of ours: the apiserver will tell the user, and nothing has gone
    /// wrong here.
    #[must_use]
    pub fn is_of_the_input(&self) -> bool {
        matches!(self, Self::Original(_)) || self.is_lack_of_room()
    }

    /// Whether the annotations that came in leave no room for ours.
    #[must_use]
    pub fn is_lack_of_room(&self) -> bool {
        // Where ours are the larger part, a profile of the configuration is to blame.
        matches!(self, Self::AnnotationsTooLarge { own, total } if *own > total / 2)
    }
}

/// Checks that `patch`, built from `plan`, turns `pod` into a Pod that differs in nothing but the plan, and returns that
/// Pod.
pub fn verify(pod: &Value, patch: &Patch, plan: &Plan) -> Result<Value, VerifyError> {
    decode::pod(pod).map_err(VerifyError::Original)?;
    let mut patched = pod.clone();
    patch.apply(&mut patched).map_err(VerifyError::Apply)?;
    decode::pod(&patched).map_err(VerifyError::Patched)?;
    obeys_grammar(plan)?;
    room_for_annotations(pod, &patched)?;
    let planned = Planned::new(plan);
    if same_outside(Some(pod), Some(&patched), Some(&planned)) { Ok(patched) } else { Err(VerifyError::OutsideThePlan) }
}

fn obeys_grammar(plan: &Plan) -> Result<(), VerifyError> {
    let broken = plan.writes().iter().find(|write| !well_formed(write));
    match broken {
        None => Ok(()),
        Some(write) => Err(VerifyError::Grammar { pointer: unescaped(&write.path) }),
    }
}

/// The place as people read it.
fn unescaped(path: &Pointer) -> String {
    path.as_str().replace("~1", "/").replace("~0", "~")
}

fn room_for_annotations(pod: &Value, patched: &Value) -> Result<(), VerifyError> {
    let (own, total) = (annotation_bytes(pod), annotation_bytes(patched));
    if total > ANNOTATIONS_LIMIT { Err(VerifyError::AnnotationsTooLarge { own, total }) } else { Ok(()) }
}

/// The bytes of all annotations, as the apiserver counts them.
fn annotation_bytes(pod: &Value) -> usize {
    let annotations = pod.get("metadata").and_then(|metadata| metadata.get("annotations")).and_then(Value::as_object);
    let sizes = annotations.into_iter().flatten();
    sizes.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

/// Whether the annotations of `pod` are larger than the apiserver allows: it will reject the pod.
pub(super) fn has_too_large_annotations(pod: &Value) -> bool {
    annotation_bytes(pod) > APISERVER_ANNOTATIONS_LIMIT
}

/// Whether `before` and `after` are equal but for what is `planned`.
fn same_outside(before: Option<&Value>, after: Option<&Value>, planned: Option<&Planned<'_>>) -> bool {
    let Some(planned) = planned else { return before == after };
    if planned.sets() {
        return true;
    }
    let empty = Map::new();
    let (before, after) = match (before, after) {
        (before, Some(Value::Array(after))) => {
            let Some(before) = items(before) else { return false };
            return before.len() <= after.len() && same_items(before, after, planned);
        }
        (Some(Value::Object(before)), Some(Value::Object(after))) => (before, after),
        // A parent that was absent has been made to hold what was planned, and nothing else.
        (None | Some(Value::Null), Some(Value::Object(after))) => (&empty, after),
        _ => return before == after,
    };
    let unplanned_kept = before.keys().all(|key| after.contains_key(key));
    unplanned_kept && after.iter().all(|(key, value)| same_outside(before.get(key), Some(value), planned.below(key)))
}

/// Whether the items of a list are the same but for what is `planned` below them, and those that were appended are the
/// ones that were to be.
fn same_items(before: &[Value], after: &[Value], planned: &Planned<'_>) -> bool {
    let (kept, appended) = after.split_at(before.len());
    let mut pairs = before.iter().zip(kept).enumerate();
    appended.iter().eq(planned.appended())
        && pairs.all(|(index, (before, after))| same_outside(Some(before), Some(after), planned.item(index)))
}

/// The items of a list; none where it is absent.
fn items(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
