//! Task groups of `YuniKorn`.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::pod::Requests;
use trainmesh_core::workload::{Manifest, Runtimes, find};

use super::{GANG, Scenario, check, empty, job, worker};

fn queued(spec: &Value) -> Value {
    worker(&json!({"labels": {"yunikorn.apache.org/queue": "root.research"}}), spec)
}

fn task_groups(pod: &Value) -> Vec<Value> {
    let text = pod["metadata"]["annotations"]["yunikorn.apache.org/task-groups"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

fn group(name: &str, members: u64, cpu: &str) -> Value {
    let mut group = json!({
        "name": name, "minMember": members, "minResource": {"cpu": cpu, "nvidia.com/gpu": "8"},
        "labels": {"sidecar.istio.io/inject": "false", "trainmesh.dev/inject": "disabled"},
    });
    if name == "worker" {
        // Of the operator's init container.
        group["minResource"]["memory"] = "10485760".into();
    }
    group
}

#[test]
fn the_queue_can_be_an_annotation() {
    let annotations = json!({"annotations": {"yunikorn.apache.org/queue": "root.a"}});
    check(&Scenario::new("yunikorn"), &worker(&annotations, &empty()), "applied GangJoined", &[]);
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
    let devices = json!({"cpu": "2000m", "memory": "10485760", "nvidia.com/gpu": "8", "example.com/nic": "8"});
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

/// Returns the template of a pod that requests these devices.
fn template(gpus: u64) -> Value {
    let resources = if gpus > 0 { json!({"limits": {"nvidia.com/gpu": gpus}}) } else { json!({}) };
    let containers = json!([{"name": "pytorch", "image": "i", "resources": resources}]);
    json!({"metadata": {"labels": {"yunikorn.apache.org/queue": "root.a"}}, "spec": {"containers": containers}})
}

fn pytorch_job() -> Value {
    let mut job = job();
    job["metadata"] = json!({"name": "job"});
    job["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = template(8);
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = template(8);
    job
}

fn mpi_job() -> Value {
    let roles = json!({"Launcher": {"template": template(0)}, "Worker": {"replicas": 2, "template": template(8)}});
    json!({"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "job"}, "spec": {"mpiReplicaSpecs": roles}})
}

fn ray_cluster() -> Value {
    let group = |name: &str| json!({"groupName": name, "replicas": 2, "minReplicas": 2, "rayStartParams": {}, "template": template(8)});
    json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "job"}, "spec": {
        "enableInTreeAutoscaling": true, "headGroupSpec": {"rayStartParams": {}, "template": template(0)},
        "workerGroupSpecs": [group("a"), group("b")],
    }})
}

fn requesting(cpu: &str) -> Value {
    json!({"name": "added", "image": "i", "resources": {"requests": {"cpu": cpu}}})
}

/// Runs the pods of all roles as their operator creates them, with an additional first container in `list`, and checks the
/// resources of their task groups.
fn check_all_roles(object: &Value, added: Option<(&str, &Value)>, expected: &Value) {
    let text = |key: &str| object[key].as_str().unwrap();
    let kind = find(text("apiVersion"), text("kind")).unwrap();
    let runtimes = Runtimes::default();
    let roles = (kind.render)(&Manifest { raw: object, namespace: "team-a", runtimes: &runtimes }).unwrap();
    let scenario = Scenario { object: object.clone(), ..Scenario::new("yunikorn") };
    for mut role in roles {
        let spec = &mut role.pod["spec"];
        if let Some((list, container)) = added {
            let mut containers = spec[list].as_array().cloned().unwrap_or_default();
            containers.insert(0, container.clone());
            spec[list] = Value::Array(containers);
        }
        let requests = Requests::from_pod_spec(spec);
        let patched = check(&scenario, &role.pod, "applied GangJoined", &[]);
        let own = &patched["metadata"]["annotations"]["yunikorn.apache.org/task-group-name"];
        let groups = task_groups(&patched);
        let resources: Value = groups.iter().map(|group| json!([group["name"], group["minResource"]])).collect();
        assert_eq!(&resources, expected, "of the pod of {}", role.name);
        let reserved = groups.iter().find(|group| &group["name"] == own).unwrap()["minResource"].as_object().unwrap();
        assert_eq!(requests.excess_over(&Requests::from_list(reserved)), Requests::default(), "{}", role.name);
    }
}

#[rstest]
#[case::pytorch_job(pytorch_job(), json!([
    ["master", {"nvidia.com/gpu": "8"}],
    ["worker", {"cpu": "50m", "memory": "10485760", "nvidia.com/gpu": "8"}],
]))]
#[case::mpi_job(mpi_job(), json!([
    ["launcher", {"cpu": "100m", "ephemeral-storage": "5368709120", "memory": "536870912"}],
    ["worker", {"nvidia.com/gpu": "8"}],
]))]
#[case::ray_cluster(ray_cluster(), json!([
    ["head", {"cpu": "500m", "memory": "536870912"}],
    ["a", {"cpu": "200m", "memory": "268435456", "nvidia.com/gpu": "8"}],
    ["b", {"cpu": "200m", "memory": "268435456", "nvidia.com/gpu": "8"}],
]))]
fn containers_of_the_operator_are_reserved_for_their_role(#[case] object: Value, #[case] expected: Value) {
    check_all_roles(&object, None, &expected);
}

#[rstest]
#[case::sidecar("containers", requesting("100m"), "100m", "150m")]
#[case::init_container("initContainers", requesting("10m"), "10m", "60m")]
#[case::native_sidecar(
    "initContainers",
    json!({"name": "added", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}),
    "100m",
    "150m"
)]
fn pods_of_all_roles_have_the_same_task_groups(
    #[case] list: &str,
    #[case] container: Value,
    #[case] master: &str,
    #[case] worker: &str,
) {
    let expected = json!([
        ["master", {"cpu": master, "nvidia.com/gpu": "8"}],
        ["worker", {"cpu": worker, "memory": "10485760", "nvidia.com/gpu": "8"}],
    ]);
    check_all_roles(&pytorch_job(), Some((list, &container)), &expected);
}
