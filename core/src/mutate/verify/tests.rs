//! Verification of patches.

use json_patch::jsonptr::PointerBuf;
use rstest::rstest;
use serde_json::json;

use super::super::patch::build;
use super::super::plan::spec_path;
use super::*;

/// Verifies the complete pod and the affected part of it, with the same result.
fn verify(pod: &Value, patch: &Patch, plan: &Plan) -> Result<Value, VerifyError> {
    let complete = super::verify(pod, patch, plan);
    let affected = verify_affected(pod, patch, plan);
    assert_eq!(complete.is_ok(), affected.is_ok(), "{complete:?} {affected:?}");
    complete
}

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
#[case::too_large(pod(), plan(json!("x".repeat(ANNOTATIONS_LIMIT))), "no space is left")]
fn a_patch_that_would_block_the_pod_is_rejected(#[case] pod: Value, #[case] plan: Plan, #[case] expected: &str) {
    let error = verify(&pod, &build(&pod, &plan), &plan).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn a_value_that_violates_its_grammar_is_reported_with_its_field() {
    let mut plan = Plan::default();
    plan.set_label("a.io/b", "c d");
    let error = verify(&pod(), &build(&pod(), &plan), &plan).unwrap_err();
    assert_eq!(error.to_string(), "/metadata/labels/a.io/b would have a value that the apiserver rejects");
}

#[test]
fn a_patch_for_another_pod_does_not_apply() {
    let plan = plan(json!("1"));
    let patch = build(&json!({"metadata": {"annotations": {"b": "2"}}}), &plan);
    assert!(matches!(verify(&pod(), &patch, &plan), Err(VerifyError::Apply(_))));
}

#[rstest]
#[case::of_the_pod(ANNOTATIONS_LIMIT, 1, true)]
#[case::of_the_patch(1, ANNOTATIONS_LIMIT, false)]
fn too_large_annotations_are_attributed_to_the_pod_or_the_patch(
    #[case] own: usize,
    #[case] added: usize,
    #[case] is_invalid_input: bool,
) {
    let pod = json!({"metadata": {"annotations": {"b": "x".repeat(own)}}, "spec": {"containers": [{"name": "a"}]}});
    let plan = plan(json!("x".repeat(added)));
    let error = verify(&pod, &build(&pod, &plan), &plan).unwrap_err();
    assert_eq!(error.is_invalid_input(), is_invalid_input, "{error}");
    assert_eq!(error.is_annotation_overflow(), is_invalid_input, "{error}");
}

/// Finishes in time only if verification is linear in the number of writes.
#[test]
fn a_plan_with_a_write_for_each_of_many_containers_is_verified() {
    const CONTAINERS: usize = 30_000;
    let pod = json!({"spec": {"containers": vec![json!({"name": "a"}); CONTAINERS]}});
    let mut plan = Plan::default();
    for index in 0..CONTAINERS {
        let env = spec_path(["containers", &index.to_string(), "env"]);
        plan.append(env, json!({"name": "A", "value": "1"}));
    }
    let patched = verify(&pod, &build(&pod, &plan), &plan).unwrap();
    assert_eq!(patched["spec"]["containers"][CONTAINERS - 1]["env"][0]["name"], "A");
}

#[rstest]
#[case::elsewhere(&["metadata", "labels", "b"])]
#[case::next_to_a_planned_field(&["spec", "containers", "0", "image"])]
#[case::in_another_item(&["spec", "containers", "1", "image"])]
fn a_change_outside_the_plan_is_rejected(#[case] outside: &[&str]) {
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}});
    let mut plan = Plan::default();
    plan.append(spec_path(["containers", "0", "env"]), json!({"name": "A", "value": "1"}));
    let mut wider = plan.clone();
    wider.set(PointerBuf::from_tokens(outside.iter().copied()), "x");
    assert!(matches!(verify(&pod, &build(&pod, &wider), &plan), Err(VerifyError::OutsideThePlan)));
}

/// Patches whose operations lie on the path of the planned field.
#[rstest]
#[case::replaces_the_annotations(&json!({"metadata": {}}), &["metadata", "annotations", "a"], json!("1"))]
#[case::replaces_the_metadata(&json!({}), &["metadata", "annotations", "a"], json!("1"))]
#[case::another_value(&json!({"metadata": {"annotations": {}}}), &["metadata", "annotations", "a"], json!("2"))]
#[case::replaces_the_pod(&json!({}), &[], json!({"metadata": {"annotations": {"a": "1", "b": "2"}, "labels": {"c": "3"}}}))]
fn a_patch_that_writes_more_or_other_than_the_plan_is_rejected(
    #[case] other: &Value,
    #[case] path: &[&str],
    #[case] value: Value,
) {
    let pod =
        json!({"metadata": {"annotations": {"b": "2"}, "labels": {"c": "3"}}, "spec": {"containers": [{"name": "a"}]}});
    let mut written = Plan::default();
    written.set(PointerBuf::from_tokens(path.iter().copied()), value);
    let verified = verify(&pod, &build(other, &written), &plan(json!("1")));
    assert!(matches!(verified, Err(VerifyError::OutsideThePlan)), "{verified:?}");
}

/// 256 KiB less the reserve for other webhooks.
#[rstest]
#[case::at_the_limit(240 * 1024, true)]
#[case::larger(240 * 1024 + 1, false)]
fn the_annotations_leave_space_for_other_webhooks(#[case] bytes: usize, #[case] fits: bool) {
    let pod = json!({"metadata": {"annotations": {"before": "x".repeat(bytes - "before".len() - 2)}}});
    let plan = plan(json!("1"));
    let verified = verify(&pod, &build(&pod, &plan), &plan);
    assert_eq!(verified.is_ok(), fits, "{:?}", verified.err());
}

#[rstest]
#[case::at_the_limit_of_the_apiserver(256 * 1024, false)]
#[case::larger(256 * 1024 + 1, true)]
fn annotations_that_the_apiserver_rejects(#[case] bytes: usize, #[case] too_large: bool) {
    let pod = json!({"metadata": {"annotations": {"before": "x".repeat(bytes - "before".len())}}});
    assert_eq!(exceeds_annotation_limit(&pod), too_large);
}

/// Cases that a patch built from the plan cannot produce.
#[rstest]
#[case::planned(json!({"labels": {"b": "2"}, "annotations": {"a": "1"}}), true)]
#[case::removed_field(json!({"annotations": {"a": "1"}}), false)]
#[case::another_type_of_a_parent(json!({"labels": {"b": "2"}, "annotations": "1"}), false)]
fn a_difference_from_the_plan_is_detected(#[case] after: Value, #[case] equal: bool) {
    let (before, after) = (json!({"metadata": {"labels": {"b": "2"}}}), json!({"metadata": after}));
    let plan = plan(json!("1"));
    assert_eq!(equal_outside_plan(Some(&before), Some(&after), Some(&PlanTree::new(&plan))), equal);
}
