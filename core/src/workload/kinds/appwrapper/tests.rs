use rstest::rstest;
use serde_json::{Value, json};

use crate::workload::template::testing::{check, error, render, with};

fn wrapper(components: &Value) -> Value {
    json!({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "w"}, "spec": {"components": components}})
}

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "pytorch", "image": "i"}]}})
}

fn job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"parallelism": 2, "template": template()}})
}

fn pytorch_job() -> Value {
    let replica = json!({"template": template()});
    json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train"},
        "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": {"replicas": 3, "template": template()}}}})
}

fn unknown() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"tasks": [{"replicas": 2, "template": template()}]}})
}

#[rstest]
#[case::job(json!([{"template": job("j")}]), "Pod", 2, json!({
    "/metadata/labels/workload.codeflare.dev~1appwrapper": "w",
    "/metadata/labels/a": "b",
    "/metadata/ownerReferences/0/kind": "Job",
    "/metadata/generateName": "j-",
}))]
#[case::pytorch_job(json!([{"template": pytorch_job()}]), "Worker", 3, json!({
    "/metadata/name": "train-worker-0",
    "/metadata/labels/workload.codeflare.dev~1appwrapper": "w",
}))]
#[case::without_pods(
    json!([{"template": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}}, {"template": job("j")}]), "Pod", 2, json!({})
)]
#[case::several(json!([{"template": job("j")}, {"template": pytorch_job()}]), "train/Worker", 3, json!({}))]
#[case::several_of_one_role(json!([{"template": job("j")}, {"template": job("k")}]), "k", 2, json!({"/metadata/generateName": "k-"}))]
#[case::pod(
    json!([{"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}}]), "Pod", 1,
    json!({"/metadata/labels": {"workload.codeflare.dev/appwrapper": "w"}})
)]
#[case::inferred_only_for_known_kinds(
    json!([{"template": {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": {"template": template()}}}]), "Pod", 1,
    json!({"/metadata/labels/workload.codeflare.dev~1appwrapper": null})
)]
#[case::declared(
    json!([{"podSets": [{"path": "template.spec.tasks[0].template"}], "template": unknown()}]), "spec.tasks[0].template", 2,
    json!({"/metadata/labels": {"a": "b", "workload.codeflare.dev/appwrapper": "w"}})
)]
#[case::assigned_by_kueue(
    json!([{"template": job("j"), "podSetInfos": [{"labels": {"l": "1"}, "annotations": {"n": "2"}, "nodeSelector": {"s": "3"},
        "tolerations": [{"key": "t"}], "schedulingGates": [{"name": "g"}]}]}]),
    "Pod", 2,
    json!({
        "/metadata/labels/l": "1", "/metadata/annotations/n": "2", "/spec/nodeSelector": {"s": "3"},
        "/spec/tolerations": [{"key": "t"}], "/spec/schedulingGates": [{"name": "g"}],
    })
)]
fn components_are_rendered_as_by_their_operators(
    #[case] components: Value,
    #[case] role: &str,
    #[case] replicas: u64,
    #[case] expected: Value,
) {
    check(&wrapper(&components), role, replicas, &expected);
}

#[test]
fn components_of_other_kinds_are_generic() {
    let roles = render(&wrapper(&json!([{"template": job("j")}, {"template": unknown()}]))).unwrap();
    let found: Vec<_> = roles.iter().map(|role| (role.name.as_str(), role.generic)).collect();
    assert_eq!(found, [("j", false), ("x/spec.tasks[0].template", true)]);
}

#[test]
fn a_suspended_wrapper_has_a_note() {
    let roles = render(&with(wrapper(&json!([{"template": job("j")}])), "/spec/suspend", json!(true))).unwrap();
    assert!(roles[0].notes.iter().any(|note| note.starts_with("the AppWrapper is suspended")), "{:?}", roles[0].notes);
}

#[rstest]
#[case::misspelled_kind(
    json!([{"template": {"apiVersion": "v1", "kid": "Pod"}}]),
    "spec.components[0].template.kind is missing: the component has no field kid: did you mean kind?"
)]
#[case::no_components(json!(null), "spec.components is missing")]
#[case::no_template(json!([{}]), "spec.components[0].template is missing")]
#[case::no_kind(json!([{"template": {"apiVersion": "v1"}}]), "spec.components[0].template.kind is missing")]
#[case::nested(
    json!([{"template": wrapper(&json!([]))}]),
    "spec.components[0].template.kind is \"AppWrapper\": expected another kind: AppWrappers cannot contain AppWrappers"
)]
#[case::another_namespace(
    json!([{"template": with(job("j"), "/metadata/namespace", json!("other"))}]),
    "spec.components[0].template.metadata.namespace is \"other\": expected the namespace of the AppWrapper"
)]
#[case::in_the_component(
    json!([{"template": with(job("j"), "/spec/template", json!(null))}]), "spec.components[0].template.spec.template is missing"
)]
#[case::invalid_field(
    json!([{"template": with(job("j"), "/spec/parallelism", json!("x"))}]),
    "spec.components[0].template.spec.parallelism is \"x\": expected a whole number from 0 to 2147483647"
)]
#[case::another_version(
    json!([{"template": {"apiVersion": "batch/v2", "kind": "Job"}}]), "batch/v2 Job is not supported: use batch/v1 Job"
)]
#[case::no_such_path(
    json!([{"podSets": [{"path": "template.spec.x"}], "template": job("j")}]), "spec.components[0].template.spec.x is missing"
)]
#[case::invalid_path(
    json!([{"podSets": [{"path": "template.spec.a[b]"}], "template": job("j")}]),
    "spec.components[0].podSets[0].path is \"template.spec.a[b]\": expected a path to a pod template, such as template.spec.template"
)]
#[case::conflict(
    json!([{"template": job("j"), "podSetInfos": [{"labels": {"a": "c"}}]}]),
    "spec.components[0].template.spec.template.metadata.labels[a] is \"b\": expected the value that AppWrapper sets"
)]
fn errors_contain_the_path(#[case] components: Value, #[case] message: &str) {
    assert_eq!(error(&wrapper(&components)), message);
}
