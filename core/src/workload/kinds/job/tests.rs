use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::workload::template::testing::{check, error};

fn job(spec: &Value) -> Value {
    let template = json!({"metadata": {"labels": {"app": "llama"}}, "spec": {"containers": [{"name": "train"}]}});
    let mut raw =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "llama"}, "spec": {"template": template}});
    raw["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    raw
}

#[rstest]
#[case::plain(json!({}), 1, json!({
    "/apiVersion": "v1", "/kind": "Pod",
    "/metadata": {
        "generateName": "llama-",
        "namespace": "team",
        "labels": {
            "app": "llama",
            "job-name": "llama",
            "batch.kubernetes.io/job-name": "llama",
            "controller-uid": "00000000-0000-0000-0000-000000000000",
            "batch.kubernetes.io/controller-uid": "00000000-0000-0000-0000-000000000000",
        },
        "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": "llama",
            "uid": "00000000-0000-0000-0000-000000000000", "controller": true, "blockOwnerDeletion": true,
        }],
        "finalizers": ["batch.kubernetes.io/job-tracking"],
    },
    "/spec": {"containers": [{"name": "train"}]},
}))]
#[case::indexed(json!({"completionMode": "Indexed", "completions": 8, "parallelism": 4, "backoffLimitPerIndex": 1}), 4, json!({
    "/metadata/generateName": "llama-0-",
    "/metadata/labels/batch.kubernetes.io~1job-completion-index": "0",
    "/metadata/annotations": {"batch.kubernetes.io/job-completion-index": "0", "batch.kubernetes.io/job-index-failure-count": "0"},
    "/spec/hostname": "llama-0",
    "/spec/containers/0/env": [{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}}],
}))]
#[case::own_index_variable(
    json!({"completionMode": "Indexed", "template": {"spec": {"initContainers": [{"env": null}], "containers": [{"env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]}]}}}), 1,
    json!({
        "/spec/containers/0/env": [{"name": "JOB_COMPLETION_INDEX", "value": "7"}],
        "/spec/initContainers/0/env/0/name": "JOB_COMPLETION_INDEX",
        "/spec/initContainers/0/env/0/valueFrom/fieldRef/fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']",
    })
)]
#[case::own_labels(
    json!({"template": {"metadata": {"labels": {"job-name": "mine"}}, "spec": {"initContainers": [{"name": "fetch"}], "containers": [{"name": "train"}]}}}), 1,
    json!({
        "/metadata/labels/job-name": "mine",
        "/metadata/labels/batch.kubernetes.io~1job-name": "llama",
        "/metadata/generateName": "llama-",
        "/metadata/finalizers": ["batch.kubernetes.io/job-tracking"],
        "/spec": {"initContainers": [{"name": "fetch"}], "containers": [{"name": "train"}]},
    })
)]
#[case::own_selector(json!({"manualSelector": true}), 1, json!({"/metadata/labels": {"app": "llama"}}))]
#[case::fewer_completions(json!({"completions": 2, "parallelism": 5}), 2, json!({}))]
#[case::work_queue(json!({"parallelism": 5}), 5, json!({"/metadata/generateName": "llama-"}))]
#[case::paused(json!({"parallelism": 0}), 0, json!({"/metadata/generateName": "llama-"}))]
#[case::null_containers(json!({"completionMode": "Indexed", "template": {"spec": {"containers": null}}}), 1, json!({"/spec": {"containers": null, "hostname": "llama-0"}}))]
#[case::malformed_containers(json!({"completionMode": "Indexed", "template": {"spec": {"containers": ["a", {"env": "x"}]}}}), 1, json!({"/spec/containers": ["a", {"env": "x"}]}))]
fn pods_are_as_the_job_controller_creates_them(#[case] spec: Value, #[case] replicas: u64, #[case] expected: Value) {
    check(&job(&spec), "Pod", replicas, &expected);
}

#[rstest]
#[case::short(40, format!("{}-0-", "j".repeat(40)))]
#[case::longest(55, format!("{}-0-", "j".repeat(55)))]
#[case::too_long(63, format!("{}-0-", "j".repeat(55)))]
fn a_long_name_keeps_its_index(#[case] length: usize, #[case] expected: String) {
    let mut raw = job(&json!({"completionMode": "Indexed"}));
    raw["metadata"]["name"] = "j".repeat(length).into();
    check(
        &raw,
        "Pod",
        1,
        &json!({"/metadata/generateName": expected, "/spec/hostname": format!("{}-0", "j".repeat(length))}),
    );
}

#[test]
fn a_generated_name_ends_in_zeros() {
    let mut raw = job(&json!({}));
    raw["metadata"] = json!({"generateName": "llama-", "uid": "u1"});
    check(
        &raw,
        "Pod",
        1,
        &json!({
            "/metadata/generateName": "llama-00000-",
            "/metadata/labels/job-name": "llama-00000",
            "/metadata/ownerReferences/0/uid": "u1",
        }),
    );
}

#[rstest]
#[case::negative(json!({"parallelism": -1}), "spec.parallelism is -1: expected a whole number from 0 to 2147483647")]
#[case::no_completions(json!({"completionMode": "Indexed", "parallelism": 2}), "spec.completions is missing")]
#[case::no_template(json!({"template": null}), "spec.template is missing")]
#[case::template_is_text(json!({"template": "x"}), "spec.template is \"x\": expected an object")]
#[case::no_spec(json!({"template": {}}), "spec.template.spec is missing")]
fn an_invalid_spec_is_rejected(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(error(&job(&spec)), expected);
}

#[rstest]
#[case::indexed(json!({"labels": {"batch.kubernetes.io/job-name": "a", "batch.kubernetes.io/job-completion-index": "3"}}), Some(("a", Some(3), true)))]
#[case::plain(json!({"labels": {"batch.kubernetes.io/job-name": "a"}}), Some(("a", None, false)))]
#[case::owner_alone(json!({"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "b", "controller": true}]}), Some(("b", None, false)))]
#[case::another_job(json!({"ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "b", "controller": true}]}), None)]
fn pods_are_identified_by_labels_or_owner(
    #[case] metadata: Value,
    #[case] expected: Option<(&str, Option<u64>, bool)>,
) {
    let raw = json!({"metadata": metadata});
    let found = identify(Pod::new(&raw));
    assert_eq!(found.map(|member| (member.workload, member.index, member.training)), expected);
}
