//! Task groups of `YuniKorn`.

use rstest::rstest;
use serde_json::{Value, json};

use super::{GANG, Scenario, check, empty, worker};

fn queued(spec: &Value) -> Value {
    worker(&json!({"labels": {"yunikorn.apache.org/queue": "root.research"}}), spec)
}

fn task_groups(pod: &Value) -> Vec<Value> {
    let text = pod["metadata"]["annotations"]["yunikorn.apache.org/task-groups"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

fn group(name: &str, members: u64, cpu: &str) -> Value {
    json!({
        "name": name, "minMember": members, "minResource": {"cpu": cpu, "nvidia.com/gpu": "8"},
        "labels": {"sidecar.istio.io/inject": "false", "trainmesh.dev/inject": "disabled"},
    })
}

#[test]
fn every_role_has_a_task_group() {
    let patched = check(&Scenario::new("yunikorn"), &queued(&empty()), "applied GangJoined", &[]);
    assert_eq!(patched["metadata"]["labels"]["yunikorn.apache.org/app-id"], GANG);
    assert_eq!(patched["metadata"]["annotations"]["yunikorn.apache.org/task-group-name"], "worker");
    assert_eq!(patched["spec"]["schedulerName"], "yunikorn");
    assert_eq!(task_groups(&patched), [group("master", 1, "2000m"), group("worker", 3, "2000m")]);
}

#[test]
fn requests_that_others_add_are_reserved_for_every_role() {
    let scenario = Scenario::new("yunikorn");
    let mut patched = check(&scenario, &queued(&empty()), "applied GangJoined", &[]);
    let proxy = json!({"name": "istio-proxy", "image": "p", "resources": {"requests": {"cpu": "100m"}}});
    patched["spec"]["containers"].as_array_mut().unwrap().push(proxy);
    let second = check(&scenario, &patched, "applied GangJoined", &[]);
    assert_eq!(task_groups(&second), [group("master", 1, "2100m"), group("worker", 3, "2100m")]);
}

#[test]
fn devices_are_reserved_only_for_roles_with_the_same_devices() {
    let mut scenario = Scenario::new("yunikorn");
    let launcher = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}}], "nodeSelector": {"pool": "cpu"}}});
    scenario.object["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = launcher;
    let mut pod = queued(&json!({"nodeSelector": {"pool": "gpu"}}));
    pod["spec"]["containers"][0]["resources"]["limits"]["example.com/nic"] = 8.into();
    let groups = task_groups(&check(&scenario, &pod, "applied GangJoined", &[]));
    assert_eq!(
        (&groups[0]["minResource"], &groups[0]["nodeSelector"]),
        (&json!({"cpu": "1000m"}), &json!({"pool": "cpu"}))
    );
    let devices = json!({"cpu": "2000m", "nvidia.com/gpu": "8", "example.com/nic": "8"});
    assert_eq!((&groups[1]["minResource"], &groups[1]["nodeSelector"]), (&devices, &json!({"pool": "gpu"})));
}

#[test]
fn an_elastic_job_reserves_its_minimum() {
    let mut scenario = Scenario::new("yunikorn");
    scenario.object["spec"]["elasticPolicy"] = json!({"minReplicas": 1});
    let groups = task_groups(&check(&scenario, &queued(&empty()), "applied GangJoined", &[]));
    assert_eq!(groups, [group("master", 1, "2000m"), group("worker", 1, "2000m")]);
}

#[rstest]
#[case::no_queue(json!({}), "refused GangQueueUnknown", &["the pod names no queue: set the label yunikorn.apache.org/queue"])]
#[case::former_label(json!({"queue": "root.a"}), "applied GangJoined", &[])]
#[case::application_of_the_user(
    json!({"queue": "root.a", "yunikorn.apache.org/app-id": "mine"}), "skipped GangKeyPresent", &[]
)]
#[case::former_application_label(json!({"queue": "root.a", "applicationId": "mine"}), "skipped GangKeyPresent", &[])]
fn queues_and_applications_are_those_of_the_user(
    #[case] labels: Value,
    #[case] expected: &str,
    #[case] warnings: &[&str],
) {
    check(&Scenario::new("yunikorn"), &worker(&json!({"labels": labels}), &empty()), expected, warnings);
}

#[test]
fn long_task_groups_are_refused() {
    let mut scenario = Scenario::new("yunikorn");
    let placement = |letter: &str| json!({"spec": {"nodeSelector": {"a": letter.repeat(7_900)}, "containers": []}});
    let mut roles = serde_json::Map::new();
    roles.insert("Worker".to_owned(), json!({"replicas": 2, "template": {"spec": {"containers": []}}}));
    for role in ["A", "B", "C", "D"] {
        roles.insert(role.to_owned(), json!({"replicas": 2, "template": placement("x")}));
    }
    scenario.object["spec"]["pytorchReplicaSpecs"] = Value::Object(roles);
    check(&scenario, &queued(&empty()), "applied GangJoined", &[]);
    scenario.object["spec"]["pytorchReplicaSpecs"]["E"] = json!({"replicas": 2, "template": placement("y")});
    check(&scenario, &queued(&empty()), "refused GangSizeUnknown", &["the task groups exceed 32 KiB"]);
}
