//! Pod, patch and plan → whether the patch is sent.

use json_patch::jsonptr::PointerBuf;
use rstest::rstest;
use serde_json::json;

use super::super::patch::build;
use super::super::plan::spec;
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

#[rstest]
#[case::of_the_pod(ANNOTATIONS_LIMIT, 1, true)]
#[case::of_the_patch(1, ANNOTATIONS_LIMIT, false)]
fn whose_annotations_are_too_large(#[case] own: usize, #[case] ours: usize, #[case] of_the_input: bool) {
    let pod = json!({"metadata": {"annotations": {"b": "x".repeat(own)}}, "spec": {"containers": [{"name": "a"}]}});
    let plan = plan(json!("x".repeat(ours)));
    let error = verify(&pod, &build(&pod, &plan), &plan).unwrap_err();
    assert_eq!(error.is_of_the_input(), of_the_input, "{error}");
    assert_eq!(error.is_lack_of_room(), of_the_input, "{error}");
}

/// Each write is looked up by its place: a search through all of them for every item is quadratic.
#[test]
fn a_plan_with_a_write_for_each_of_many_containers() {
    const CONTAINERS: usize = 30_000;
    let pod = json!({"spec": {"containers": vec![json!({"name": "a"}); CONTAINERS]}});
    let mut plan = Plan::default();
    for index in 0..CONTAINERS {
        let env = spec(["containers", &index.to_string(), "env"]);
        plan.append(env, json!({"name": "A", "value": "1"}));
    }
    let patched = verify(&pod, &build(&pod, &plan), &plan).unwrap();
    assert_eq!(patched["spec"]["containers"][CONTAINERS - 1]["env"][0]["name"], "A");
}

#[rstest]
#[case::elsewhere(&["metadata", "labels", "b"])]
#[case::beside_a_planned_field(&["spec", "containers", "0", "image"])]
#[case::in_another_item(&["spec", "containers", "1", "image"])]
fn a_change_outside_the_plan_is_caught(#[case] outside: &[&str]) {
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}});
    let mut plan = Plan::default();
    plan.append(spec(["containers", "0", "env"]), json!({"name": "A", "value": "1"}));
    let mut wider = plan.clone();
    wider.set(PointerBuf::from_tokens(outside.iter().copied()), "x");
    assert!(matches!(verify(&pod, &build(&pod, &wider), &plan), Err(VerifyError::OutsideThePlan)));
}

/// 256 KiB less the room for others.
#[rstest]
#[case::as_large_as_allowed(240 * 1024, true)]
#[case::larger(240 * 1024 + 1, false)]
fn the_annotations_leave_room_for_others(#[case] bytes: usize, #[case] fits: bool) {
    let pod = json!({"metadata": {"annotations": {"before": "x".repeat(bytes - "before".len() - 2)}}});
    let plan = plan(json!("1"));
    let verified = verify(&pod, &build(&pod, &plan), &plan);
    assert_eq!(verified.is_ok(), fits, "{:?}", verified.err());
}

#[rstest]
#[case::as_large_as_the_apiserver_allows(256 * 1024, false)]
#[case::larger(256 * 1024 + 1, true)]
fn annotations_that_the_apiserver_rejects(#[case] bytes: usize, #[case] too_large: bool) {
    let pod = json!({"metadata": {"annotations": {"before": "x".repeat(bytes - "before".len())}}});
    assert_eq!(has_too_large_annotations(&pod), too_large);
}

/// What no patch of ours does, because it is built from the plan.
#[rstest]
#[case::planned(json!({"labels": {"b": "2"}, "annotations": {"a": "1"}}), true)]
#[case::a_field_is_removed(json!({"annotations": {"a": "1"}}), false)]
#[case::another_type_above_the_place(json!({"labels": {"b": "2"}, "annotations": "1"}), false)]
fn an_object_beside_the_plan(#[case] after: Value, #[case] same: bool) {
    let (before, after) = (json!({"metadata": {"labels": {"b": "2"}}}), json!({"metadata": after}));
    let plan = plan(json!("1"));
    assert_eq!(same_outside(Some(&before), Some(&after), Some(&Planned::new(&plan))), same);
}
