//! The last look at a patch before it leaves: a wrong one would block the pod, none at all merely leaves it as it was.

mod grammar;

use json_patch::jsonptr::{Pointer, Token};
use k8s_openapi::api::core::v1::Pod as TypedPod;
use serde::Deserialize as _;
use serde_json::{Map, Value};
use thiserror::Error;

use super::plan::{Manner, Write};
use super::{Patch, Plan};
use grammar::well_formed;

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
        "the annotations would be {0} bytes: over {ANNOTATIONS_LIMIT} there is no room left for those of other webhooks"
    )]
    AnnotationsTooLarge(usize),
    /// A field outside the plan changed.
    #[error("a field outside the plan would change")]
    OutsideThePlan,
}

impl VerifyError {
    /// Whether what came in is to blame, and not a patch of ours: the apiserver will tell the user, and nothing has gone
    /// wrong here.
    #[must_use]
    pub fn is_of_the_input(&self) -> bool {
        matches!(self, Self::Original(_))
    }
}

/// Checks that `patch`, built from `plan`, turns `pod` into a Pod that differs in nothing but the plan, and returns that
/// Pod.
pub fn verify(pod: &Value, patch: &Patch, plan: &Plan) -> Result<Value, VerifyError> {
    TypedPod::deserialize(pod).map_err(VerifyError::Original)?;
    let mut patched = pod.clone();
    patch.apply(&mut patched).map_err(VerifyError::Apply)?;
    TypedPod::deserialize(&patched).map_err(VerifyError::Patched)?;
    obeys_grammar(plan)?;
    size(&patched)?;
    let mut writes: Vec<&Write> = plan.writes().iter().collect();
    // The sort is stable: what comes to the end of one list stays in the order of the plan.
    writes.sort_by(|one, other| one.path.cmp(&other.path));
    let planned: Vec<Planned<'_>> =
        writes.chunk_by(|one, next| one.path == next.path).filter_map(Planned::at_one_place).collect();
    if same_outside(Some(pod), Some(&patched), &planned) { Ok(patched) } else { Err(VerifyError::OutsideThePlan) }
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

fn size(patched: &Value) -> Result<(), VerifyError> {
    let annotations = patched.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let total = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if total > ANNOTATIONS_LIMIT { Err(VerifyError::AnnotationsTooLarge(total)) } else { Ok(()) }
}

/// What is planned for one place, in the order of the plan. The path counts from what is looked at.
#[derive(Clone, Copy)]
struct Planned<'a> {
    path: &'a Pointer,
    writes: &'a [&'a Write],
}

impl<'a> Planned<'a> {
    fn at_one_place(writes: &'a [&'a Write]) -> Option<Self> {
        Some(Self { path: &writes.first()?.path, writes })
    }

    /// Whether it says what stands at the place that is looked at.
    fn sets_it(&self) -> bool {
        self.path.is_root() && self.writes.iter().any(|write| write.manner == Manner::Set)
    }
}

/// Whether `before` and `after` are equal but for what is `planned`.
fn same_outside(before: Option<&Value>, after: Option<&Value>, planned: &[Planned<'_>]) -> bool {
    if planned.is_empty() {
        return before == after;
    }
    if planned.iter().any(Planned::sets_it) {
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
    unplanned_kept && after.iter().all(|(key, value)| same_outside(before.get(key), Some(value), &below(planned, key)))
}

/// Whether the items of a list are the same but for what is `planned` below them, and those that were appended are the
/// ones that were to be.
fn same_items(before: &[Value], after: &[Value], planned: &[Planned<'_>]) -> bool {
    let (kept, appended) = after.split_at(before.len());
    let here = planned.iter().filter(|planned| planned.path.is_root());
    let wanted = here.flat_map(|planned| planned.writes).map(|write| &*write.value);
    let mut pairs = before.iter().zip(kept).enumerate();
    appended.iter().eq(wanted)
        && pairs.all(|(index, (before, after))| {
            same_outside(Some(before), Some(after), &below(planned, &index.to_string()))
        })
}

/// The items of a list; none where it is absent.
fn items(value: Option<&Value>) -> Option<&[Value]> {
    match value {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    }
}

/// What is planned for places that are reached through `key`, counted from there.
fn below<'a>(planned: &[Planned<'a>], key: &str) -> Vec<Planned<'a>> {
    let key = Token::from(key);
    let through = planned.iter().filter_map(|planned| {
        let (first, path) = planned.path.split_front()?;
        (first == key).then_some(Planned { path, ..*planned })
    });
    through.collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::patch::build;
    use super::*;

    fn pod() -> Value {
        json!({"metadata": {"name": "a", "future": {"kept": [1]}}, "spec": {"containers": [{"name": "a", "image": "i"}]}})
    }

    fn plan(value: Value) -> Plan {
        let mut plan = Plan::default();
        plan.set_annotation("a", value);
        plan
    }

    #[test]
    fn a_patch_of_the_plan_passes() {
        let plan = plan(json!("1"));
        assert!(verify(&pod(), &build(&pod(), &plan), &plan).is_ok());
    }

    #[rstest]
    #[case::no_pod(json!({"metadata": {"labels": ["a"]}}), plan(json!("1")), "does not decode as a Pod")]
    #[case::annotations_are_a_string(json!({"metadata": {"annotations": "a"}}), plan(json!("1")), "does not decode")]
    #[case::a_number_as_annotation(pod(), plan(json!(1)), "the patched object does not decode")]
    #[case::too_large(pod(), plan(json!("x".repeat(ANNOTATIONS_LIMIT))), "no room left")]
    fn what_would_block_the_pod_is_caught(#[case] pod: Value, #[case] plan: Plan, #[case] expected: &str) {
        let error = verify(&pod, &build(&pod, &plan), &plan).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn a_value_that_breaks_its_grammar_is_told_with_its_field() {
        let mut plan = Plan::default();
        plan.set_label("a.io/b", "c d");
        let error = verify(&pod(), &build(&pod(), &plan), &plan).unwrap_err();
        assert_eq!(error.to_string(), "/metadata/labels/a.io/b would hold a value that the apiserver refuses");
    }

    #[test]
    fn a_patch_for_another_pod_does_not_apply() {
        let plan = plan(json!("1"));
        let patch = build(&json!({"metadata": {"annotations": {"b": "2"}}}), &plan);
        assert!(matches!(verify(&pod(), &patch, &plan), Err(VerifyError::Apply(_))));
    }

    #[test]
    fn a_change_outside_the_plan_is_caught() {
        let mut wider = plan(json!("1"));
        wider.set_label("b", "2");
        let patch = build(&pod(), &wider);
        assert!(matches!(verify(&pod(), &patch, &plan(json!("1"))), Err(VerifyError::OutsideThePlan)));
    }
}
