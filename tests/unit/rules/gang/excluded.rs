//! Roles whose pods join no gang, in the modes whose pods contain the number of pods to wait for.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Scenario, check, decision, empty, worker};

const MIN: &str = "gang.scheduling.koordinator.sh/min-available";
const TOTAL: &str = "gang.scheduling.koordinator.sh/total-number";

/// Returns a scenario in which the template of the master has this `metadata` and `spec`.
fn scenario(mode: &str, metadata: &Value, spec: &Value) -> Scenario {
    let mut scenario = Scenario::new(mode);
    let template = &mut scenario.object["spec"]["pytorchReplicaSpecs"]["Master"]["template"];
    template["metadata"] = metadata.clone();
    json_patch::merge(&mut template["spec"], spec);
    scenario
}

fn labels(key: &str, value: &str) -> Value {
    json!({"labels": {key: value}})
}

/// Returns the minimum and the number of pods in the keys of a pod.
fn counts(pod: &Value) -> (&str, &str) {
    let annotation = |key: &str| pod["metadata"]["annotations"][key].as_str().unwrap();
    (annotation(MIN), annotation(TOTAL))
}

#[rstest]
#[case::same(json!({}), json!({}), "4")]
#[case::same_mode(labels("trainmesh.dev/gang", "koordinator"), json!({}), "4")]
#[case::no_mode(labels("trainmesh.dev/gang", "none"), json!({}), "3")]
#[case::another_mode(labels("trainmesh.dev/gang", "native"), json!({}), "3")]
#[case::unknown_mode(labels("trainmesh.dev/gang", "koord"), json!({}), "3")]
#[case::no_single_scheduler(labels("trainmesh.dev/gang", "auto"), json!({}), "3")]
#[case::opted_out(labels("trainmesh.dev/inject", "disabled"), json!({}), "3")]
#[case::other_key(json!({"annotations": {"scheduling.k8s.io/group-name": "g"}}), json!({}), "3")]
#[case::gates(json!({}), json!({"schedulingGates": [{"name": "a"}]}), "3")]
#[case::other_scheduler(json!({}), json!({"schedulerName": "mine"}), "3")]
#[case::default_scheduler(json!({}), json!({"schedulerName": "default-scheduler"}), "4")]
#[case::same_scheduler(json!({}), json!({"schedulerName": "koord-scheduler"}), "4")]
fn roles_outside_the_gang_do_not_count(#[case] metadata: Value, #[case] spec: Value, #[case] expected: &str) {
    let scenario = scenario("koordinator", &metadata, &spec);
    let pod = worker(&empty(), &empty());
    let patched = check(&scenario, &pod, "applied GangJoined", &[]);
    assert_eq!(counts(&patched), (expected, expected));
    let is_named = decision(&scenario.run(&pod)).message.ends_with(", not counting master");
    assert_eq!(is_named, expected == "3");
}

/// A role without a label of its own joins only if the namespace selects the mode.
#[rstest]
#[case::namespace("koordinator", "4")]
#[case::another_mode("native", "3")]
#[case::no_mode("none", "3")]
fn labels_of_templates_decide_about_their_role(#[case] namespace: &str, #[case] expected: &str) {
    let metadata = labels("trainmesh.dev/gang", "koordinator");
    let mut scenario = Scenario::new(namespace);
    let pod = worker(&metadata, &empty());
    let patched = check(&scenario, &pod, "applied GangJoined", &[]);
    assert_eq!(counts(&patched), ("4", "4"), "something else labels the pods");
    scenario.object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = metadata;
    let patched = check(&scenario, &pod, "applied GangJoined", &[]);
    assert_eq!(counts(&patched), (expected, expected));
}

#[test]
fn the_minimum_of_a_job_is_lowered_by_the_roles_outside() {
    let mut scenario = scenario("koordinator", &labels("trainmesh.dev/gang", "none"), &empty());
    scenario.object["spec"]["elasticPolicy"] = json!({"minReplicas": 2});
    let patched = check(&scenario, &worker(&empty(), &empty()), "applied GangJoined", &[]);
    assert_eq!(counts(&patched), ("2", "3"));
}

#[test]
fn the_only_other_pod_may_be_outside() {
    let mut scenario = scenario("koordinator", &labels("trainmesh.dev/gang", "none"), &empty());
    scenario.object["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 1.into();
    let pod = worker(&empty(), &empty());
    check(&scenario, &pod, "skipped StartsAlone", &[]);
    assert!(decision(&scenario.run(&pod)).message.ends_with(": not counting master"));
}

/// Their scheduler would reserve capacity for pods that it never gets.
#[test]
fn roles_outside_have_no_task_group() {
    let scenario = scenario("yunikorn", &labels("trainmesh.dev/inject", "disabled"), &empty());
    let pod = worker(&labels("yunikorn.apache.org/queue", "root.a"), &empty());
    let patched = check(&scenario, &pod, "applied GangJoined", &[]);
    let groups = patched["metadata"]["annotations"]["yunikorn.apache.org/task-groups"].as_str().unwrap();
    let groups: Vec<Value> = serde_json::from_str(groups).unwrap();
    let found: Vec<_> = groups.iter().map(|group| (&group["name"], &group["minMember"])).collect();
    assert_eq!(found, [(&json!("worker"), &json!(3))]);
}
