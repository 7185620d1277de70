use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use rstest::rstest;
use serde_json::json;

use super::*;

fn paths(pod: &Value) -> Vec<String> {
    unknown_fields::<Pod>(pod).iter().map(|(path, _)| path_text(path)).collect()
}

fn path_text(path: &[Step<'_>]) -> String {
    path.iter().map(Step::to_string).collect()
}

#[rstest]
#[case::all_known(
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"any": "x"}, "managedFields": [{"fieldsV1": {"f:x": {}}}]},
        "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": "http"}}}], "nodeSelector": {"any": "x"}, "overhead": {"cpu": 0.5}}}),
    &[]
)]
#[case::root(json!({"sepc": {}}), &[".sepc"])]
#[case::nested(
    json!({"spec": {"containers": [{"name": "a"}, {"imgae": "i", "resources": {"limit": {"cpu": 1}}}], "contaners": []}}),
    &[".spec.contaners", ".spec.containers[1].imgae", ".spec.containers[1].resources.limit"]
)]
#[case::values(
    json!({"spec": {"restartPolicy": "Nevr", "containers": [{"imagePullPolicy": "always"}], "tolerations": [{"effect": ""}]}}),
    &[".spec.restartPolicy", ".spec.containers[0].imagePullPolicy"]
)]
#[case::no_blank_after_the_colon(json!({"spec": {"containers": [{"env": [{"name:A": null}]}]}}), &[".spec.containers[0].env[0].name:A"])]
#[case::null(json!({"spec": {"creationTimestamp": null}}), &[])]
#[case::names_with_dots(json!({"spec": {"a.b/c": 1}}), &[".spec[a.b/c]"])]
#[case::wrong_type_ends_the_search(json!({"spec": {"containers": 5}, "statuss": {}}), &[".statuss"])]
#[case::no_object(json!([5]), &[])]
fn unknown_fields_and_values_have_their_paths(#[case] pod: Value, #[case] expected: &[&str]) {
    assert_eq!(paths(&pod), expected);
}

#[test]
fn an_excluded_type_is_not_decoded() {
    let template = json!({"spec": {"containers": 5, "a": 1}, "metdata": {}});
    let job = json!({"spec": {"template": template, "selector": {"matchLabel": {}}}});
    let found = unknown_fields_except::<Job>(&job, "PodSpec");
    assert_eq!(
        found.iter().map(|(path, _)| path_text(path)).collect::<Vec<_>>(),
        [".spec.template.metdata", ".spec.selector.matchLabel"]
    );
}

#[test]
fn number_and_length_are_limited() {
    let fields: Map<String, Value> = (0..100).map(|index| ("x".repeat(99) + &index.to_string(), json!(1))).collect();
    let pod = json!({"spec": fields});
    let found = unknown_fields::<Pod>(&pod);
    assert_eq!(found.len(), MAX_FOUND);
    assert!(matches!(found[0].1, Problem::Field { name, .. } if name.len() == MAX_QUOTED), "{found:?}");
}
