use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::config::GangMode;
use crate::workload::find;

/// Returns an object with the UID `u1`.
fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "job", "uid": "u1"}});
    object["spec"] = spec;
    object
}

fn read(object: &Value) -> Result<GangWorkload, UnknownGang> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let kind = find(text("apiVersion"), text("kind")).unwrap();
    let key = WorkloadKey {
        namespace: "team-a".to_owned(),
        group: kind.group,
        version: kind.versions[0],
        kind: kind.kind,
        resource: kind.resource,
        name: "job".to_owned(),
        uid: None,
    };
    GangWorkload::from_object(&key, object)
}

fn replicas(roles: &[(&str, u64)]) -> Value {
    let entry = |(role, count): &(&str, u64)| {
        ((*role).to_owned(), json!({"replicas": count, "template": {"spec": {"containers": [{"name": "a"}]}}}))
    };
    Value::Object(roles.iter().map(entry).collect())
}

fn pytorch(mut spec: Value, roles: &[(&str, u64)]) -> Value {
    spec["pytorchReplicaSpecs"] = replicas(roles);
    object("kubeflow.org/v1", "PyTorchJob", spec)
}

fn mpi(mut spec: Value) -> Value {
    spec["mpiReplicaSpecs"] = replicas(&[("Launcher", 1), ("Worker", 4)]);
    object("kubeflow.org/v2beta1", "MPIJob", spec)
}

fn replicated(name: &str, replicas: u64, spec: Value, depends_on: &[&str]) -> Value {
    let depends_on: Vec<Value> = depends_on.iter().map(|name| json!({"name": name, "status": "Complete"})).collect();
    let mut job = json!({"name": name, "replicas": replicas, "dependsOn": depends_on});
    job["template"]["spec"] = spec;
    job
}

/// Returns `job`, which is created when its first dependency has this status.
fn with_status(mut job: Value, status: &str) -> Value {
    job["dependsOn"][0]["status"] = status.into();
    job
}

fn job_set(mut spec: Value, jobs: &[Value]) -> Value {
    spec["replicatedJobs"] = json!(jobs);
    object("jobset.x-k8s.io/v1alpha2", "JobSet", spec)
}

fn pods(count: u64) -> Value {
    json!({"parallelism": count, "completions": count})
}

fn lws(spec: Value) -> Value {
    object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)
}

fn ray(autoscaling: bool) -> Value {
    let group = |name: &str, replicas: u64, min: u64, hosts: u64| json!({"groupName": name, "replicas": replicas, "minReplicas": min, "maxReplicas": 8, "numOfHosts": hosts});
    let spec = json!({
        "enableInTreeAutoscaling": autoscaling, "headGroupSpec": {"template": {"spec": {}}},
        "workerGroupSpecs": [group("gpu", 2, 1, 4), group("cpu", 3, 0, 1)],
    });
    object("ray.io/v1", "RayCluster", spec)
}

/// Compares the gangs with `expected`: for each stage, the roles with their sizes, and the minimum.
#[rstest]
#[case::pytorchjob(pytorch(json!({}), &[("Master", 1), ("Worker", 3)]), &["master=1 worker=3 min 4"])]
#[case::min_available(
    pytorch(json!({"runPolicy": {"schedulingPolicy": {"minAvailable": 3}}}), &[("Worker", 4)]), &["worker=4 min 3"]
)]
#[case::min_available_above_the_size(
    pytorch(json!({"runPolicy": {"schedulingPolicy": {"minAvailable": 9}}}), &[("Worker", 4)]), &["worker=4 min 4"]
)]
#[case::elastic(pytorch(json!({"elasticPolicy": {"minReplicas": 2}}), &[("Worker", 4)]), &["worker=4 min 2"])]
#[case::min_available_of_an_elastic_job(
    pytorch(json!({"elasticPolicy": {"minReplicas": 2}, "runPolicy": {"schedulingPolicy": {"minAvailable": 3}}}), &[("Worker", 4)]),
    &["worker=4 min 3"]
)]
#[case::role_without_replicas(pytorch(json!({}), &[("Master", 1), ("Worker", 0)]), &["master=1 min 1"])]
#[case::tfjob(
    object("kubeflow.org/v1", "TFJob", json!({"tfReplicaSpecs": replicas(&[("Chief", 1), ("PS", 2), ("Worker", 4)])})),
    &["chief=1 ps=2 worker=4 min 7"]
)]
#[case::xgboostjob(
    object("kubeflow.org/v1", "XGBoostJob", json!({"xgbReplicaSpecs": replicas(&[("Master", 1), ("Worker", 2)])})),
    &["master=1 worker=2 min 3"]
)]
#[case::paddlejob(
    object("kubeflow.org/v1", "PaddleJob", json!({"paddleReplicaSpecs": replicas(&[("Worker", 2)])})), &["worker=2 min 2"]
)]
#[case::jaxjob(object("kubeflow.org/v1", "JAXJob", json!({"jaxReplicaSpecs": replicas(&[("Worker", 2)])})), &["worker=2 min 2"])]
#[case::mpijob_v1(
    object("kubeflow.org/v1", "MPIJob", json!({"mpiReplicaSpecs": replicas(&[("Launcher", 1), ("Worker", 2)])})),
    &["launcher=1 worker=2 min 3"]
)]
#[case::mpijob(mpi(json!({})), &["launcher=1 worker=4 min 5"])]
#[case::launcher_that_waits(
    mpi(json!({"launcherCreationPolicy": "WaitForWorkersReady"})), &["worker=4 min 4", "launcher=1 min 1"]
)]
#[case::min_available_with_a_launcher_that_waits(
    mpi(json!({"launcherCreationPolicy": "WaitForWorkersReady", "runPolicy": {"schedulingPolicy": {"minAvailable": 5}}})),
    &["worker=4 min 4", "launcher=1 min 1"]
)]
#[case::min_available_without_the_launcher_that_waits(
    mpi(json!({"launcherCreationPolicy": "WaitForWorkersReady", "runPolicy": {"schedulingPolicy": {"minAvailable": 3}}})),
    &["worker=4 min 3", "launcher=1 min 1"]
)]
#[case::indexed_job(
    object("batch/v1", "Job", json!({"completionMode": "Indexed", "parallelism": 4, "completions": 4})), &["Pod=4 min 4"]
)]
#[case::fewer_completions(
    object("batch/v1", "Job", json!({"completionMode": "Indexed", "parallelism": 8, "completions": 3})), &["Pod=3 min 3"]
)]
#[case::job_set(
    job_set(json!({}), &[replicated("driver", 1, json!({}), &[]), replicated("worker", 2, pods(4), &[])]),
    &["driver=1 worker=8 min 9"]
)]
#[case::job_set_in_order(
    job_set(json!({"startupPolicy": {"startupPolicyOrder": "InOrder"}}), &[
        replicated("driver", 1, json!({}), &[]), replicated("worker", 2, pods(4), &[]),
    ]),
    &["driver=1 min 1", "worker=8 min 8"]
)]
#[case::dependencies(
    job_set(json!({}), &[
        replicated("initializer", 1, json!({}), &[]), replicated("node", 1, pods(4), &["initializer"]),
        replicated("evaluator", 1, pods(2), &["initializer"]), replicated("export", 1, pods(1), &["node"]),
    ]),
    &["initializer=1 min 1", "node=4 evaluator=2 min 6", "export=1 min 1"]
)]
#[case::different_status_of_a_dependency(
    job_set(json!({}), &[
        replicated("driver", 1, json!({}), &[]), with_status(replicated("worker", 1, pods(4), &["driver"]), "Ready"),
        replicated("report", 1, json!({}), &["driver"]),
    ]),
    &["driver=1 min 1", "worker=4 min 4", "report=1 min 1"]
)]
#[case::dependencies_in_another_order(
    job_set(json!({}), &[
        replicated("a", 1, json!({}), &[]), replicated("b", 1, json!({}), &[]),
        replicated("c", 1, json!({}), &["a", "b"]), replicated("d", 1, json!({}), &["b", "a"]),
    ]),
    &["a=1 b=1 min 2", "c=1 d=1 min 2"]
)]
#[case::lws(lws(json!({"replicas": 3, "leaderWorkerTemplate": {"size": 4}})), &["leader=1 worker=3 min 4"])]
#[case::lws_leader_first(
    lws(json!({"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 4}})), &["leader=1 min 1", "worker=3 min 3"]
)]
#[case::ray_cluster(ray(false), &["head=1 gpu=8 cpu=3 min 12"])]
#[case::ray_autoscaler(ray(true), &["head=1 gpu=8 cpu=3 min 5"])]
#[case::volcano_job(
    object("batch.volcano.sh/v1alpha1", "Job", json!({"minAvailable": 3, "tasks": [
        {"name": "master", "replicas": 1, "template": {}}, {"name": "worker", "replicas": 3, "template": {}},
    ]})),
    &["master=1 worker=3 min 3"]
)]
fn gangs_contain_the_pods_that_start_together(#[case] object: Value, #[case] expected: &[&str]) {
    let workload = read(&object).unwrap();
    let mut stages: Vec<usize> = workload.shape.roles.iter().map(|role| role.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let found = stages.into_iter().map(|stage| {
        let gang = workload.gang(GangPosition { stage, ..GangPosition::default() });
        assert_eq!(gang.size, gang.roles.iter().map(|role| role.size).sum::<u64>());
        let roles: Vec<String> = gang.roles.iter().map(|role| format!("{}={}", role.name, role.size)).collect();
        format!("{} min {}", roles.join(" "), gang.min_members)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[rstest]
#[case::exclusive_placement(
    {
        let mut set = job_set(json!({}), &[replicated("worker", 2, pods(4), &[])]);
        set["metadata"]["annotations"] = json!({"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"});
        set
    },
    "with exclusive placement, the pods of a Job are created only after its first pod has a node"
)]
#[case::invalid(
    pytorch(json!({"runPolicy": {"suspend": "no"}}), &[("Worker", 2)]),
    "the workload cannot be read: spec.runPolicy.suspend is \"no\": expected true or false"
)]
#[case::many_roles(
    job_set(json!({}), &(0..65).map(|index| replicated(&format!("r{index}"), 1, pods(1), &[])).collect::<Vec<_>>()),
    "the workload cannot be read: it has more than 64 roles"
)]
#[case::long_placement(
    object("batch/v1", "Job", json!({"completionMode": "Indexed", "parallelism": 2, "completions": 2, "template": {
        "spec": {"nodeSelector": {"a": "x".repeat(8 * 1024)}},
    }})),
    "the workload cannot be read: the fields of a role that select nodes exceed 8192 bytes"
)]
#[case::kind(object("apps/v1", "StatefulSet", json!({})), "the gang size of a StatefulSet is unknown")]
fn unknown_gangs_have_a_reason(#[case] object: Value, #[case] expected: &str) {
    assert_eq!(read(&object).unwrap_err().to_string(), expected);
}

#[rstest]
#[case::exclusive_by_node_selector(
    {
        let mut set = job_set(json!({}), &[replicated("worker", 2, pods(4), &[])]);
        set["metadata"]["annotations"] = json!({
            "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack", "alpha.jobset.sigs.k8s.io/node-selector": "true",
        });
        set
    }
)]
#[case::largest(job_set(json!({}), &(0..64).map(|index| replicated(&format!("r{index}"), 1, pods(1), &[])).collect::<Vec<_>>()))]
fn known_gangs(#[case] object: Value) {
    assert!(read(&object).is_ok());
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"conditions": [{"type": "Running", "status": "True"}, {"type": kind, "status": status}]})
}

#[rstest]
#[case::active(json!({}), json!({}), json!({}), WorkloadState::Active)]
#[case::not_yet(json!({}), json!({}), condition("Succeeded", "False"), WorkloadState::Active)]
#[case::succeeded(json!({}), json!({}), condition("Succeeded", "True"), WorkloadState::Finished)]
#[case::failed(json!({}), json!({}), condition("Failed", "True"), WorkloadState::Finished)]
#[case::complete(json!({}), json!({}), condition("Complete", "True"), WorkloadState::Finished)]
#[case::deleted(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), json!({}), json!({}), WorkloadState::Finished)]
#[case::suspended(json!({}), json!({"runPolicy": {"suspend": true}}), json!({}), WorkloadState::Suspended)]
#[case::failed_and_suspended(
    json!({}), json!({"runPolicy": {"suspend": true}}), condition("Failed", "True"), WorkloadState::Finished
)]
fn states(#[case] metadata: Value, #[case] spec: Value, #[case] status: Value, #[case] expected: WorkloadState) {
    let mut job = pytorch(spec, &[("Worker", 2)]);
    job["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    job["status"] = status;
    assert_eq!(read(&job).unwrap().state, expected);
}

/// Returns a pod with this controller and these labels.
fn pod(owner: (&str, &str, &str), name: &str, labels: Value) -> Value {
    let (api_version, kind, owner) = owner;
    let owner = json!({"apiVersion": api_version, "kind": kind, "name": owner, "uid": "u1", "controller": true});
    let mut pod = json!({"metadata": {"name": name, "ownerReferences": [owner]}});
    pod["metadata"]["labels"] = labels;
    pod
}

#[rstest]
#[case::pytorchjob(
    pod(("kubeflow.org/v1", "PyTorchJob", "job"), "job-worker-0", json!({
        "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": "job"})),
    "kubeflow.org/v1 PyTorchJob job u1"
)]
#[case::mpi_launcher(
    pod(("batch/v1", "Job", "job-launcher"), "job-launcher-x", json!({
        "training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "job"})),
    "kubeflow.org/v2beta1 MPIJob job -"
)]
#[case::job_set(
    pod(("batch/v1", "Job", "job-w-0"), "job-w-0-0-x", json!({
        "jobset.sigs.k8s.io/jobset-name": "job", "jobset.sigs.k8s.io/jobset-uid": "s1"})),
    "jobset.x-k8s.io/v1alpha2 JobSet job s1"
)]
#[case::train_job(
    pod(("batch/v1", "Job", "job-node-0"), "job-node-0-0-x", json!({
        "trainer.kubeflow.org/trainjob-ancestor-step": "trainer", "jobset.sigs.k8s.io/jobset-name": "job",
        "jobset.sigs.k8s.io/jobset-uid": "s1"})),
    "jobset.x-k8s.io/v1alpha2 JobSet job s1"
)]
#[case::lws(
    pod(("apps/v1", "StatefulSet", "job-0"), "job-0-1", json!({"leaderworkerset.sigs.k8s.io/name": "job",
        "leaderworkerset.sigs.k8s.io/group-index": "0"})),
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet job -"
)]
#[case::indexed_job(
    pod(("batch/v1", "Job", "job"), "job-0-x", json!({"batch.kubernetes.io/job-completion-index": "0"})),
    "batch/v1 Job job u1"
)]
#[case::job_without_indexes(pod(("batch/v1", "Job", "job"), "job-x", json!({})), "")]
#[case::ray_submitter(
    pod(("batch/v1", "Job", "job"), "job-x", json!({
        "ray.io/originated-from-cr-name": "job", "ray.io/originated-from-crd": "RayJob"})), ""
)]
#[case::pod_clique(pod(("grove.io/v1alpha1", "PodClique", "job"), "job-0", json!({
    "app.kubernetes.io/part-of": "job", "grove.io/podgang": "g"})), "")]
#[case::name_is_no_name(
    pod(("batch/v1", "Job", "../secrets/a"), "job-0-x", json!({"batch.kubernetes.io/job-completion-index": "0"})), ""
)]
fn the_object_of_a_pod_is_identified(#[case] pod: Value, #[case] expected: &str) {
    let key = WorkloadKey::of(Pod::new(&pod), "team-a");
    let text = |key: WorkloadKey| {
        assert_eq!(key.namespace, "team-a");
        format!("{} {} {} {}", key.api_version(), key.kind, key.name, key.uid.as_deref().unwrap_or("-"))
    };
    assert_eq!(key.map(text).unwrap_or_default(), expected);
}

#[test]
fn another_object_of_the_same_name_is_not_the_owner() {
    let pod = pod(("batch/v1", "Job", "job"), "job-0-x", json!({"batch.kubernetes.io/job-completion-index": "0"}));
    let key = WorkloadKey::of(Pod::new(&pod), "team-a").unwrap();
    let mut job = object("batch/v1", "Job", json!({"completionMode": "Indexed", "parallelism": 2, "completions": 2}));
    assert!(GangWorkload::from_object(&key, &job).is_ok());
    job["metadata"]["uid"] = "u2".into();
    assert!(matches!(GangWorkload::from_object(&key, &job), Err(UnknownGang::Object(_))));
}

#[test]
fn gangs_of_different_objects_attempts_and_groups_have_different_names() {
    let workload = read(&pytorch(json!({}), &[("Worker", 2)])).unwrap();
    let other =
        GangWorkload { owner: GangOwner { uid: "u2".to_owned(), ..workload.owner.clone() }, ..workload.clone() };
    let position = GangPosition::default();
    let names = [
        workload.gang(position).name,
        workload.gang(GangPosition { attempt: 1, ..position }).name,
        workload.gang(GangPosition { group: 1, ..position }).name,
        workload.gang(GangPosition { stage: 1, ..position }).name,
        other.gang(position).name,
    ];
    let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert_eq!(names[0], workload.gang(position).name, "the same input gives the same name");
}

#[rstest]
#[case::short("job")]
#[case::longest(&"j".repeat(253))]
#[case::cut_after_a_dot(&format!("{}.{}", "j".repeat(49), "j".repeat(20)))]
fn names_are_label_values_and_object_names(#[case] name: &str) {
    let mut workload = read(&pytorch(json!({}), &[("Worker", 2)])).unwrap();
    name.clone_into(&mut workload.owner.name);
    let name = workload.gang(GangPosition::default()).name;
    assert!(crate::labels::is_value(&name) && crate::dns::is_subdomain(&name), "{name}");
}

#[rstest]
#[case::first(json!({}), (0, 0))]
#[case::restarted(json!({"jobset.sigs.k8s.io/restart-attempt": "2"}), (2, 0))]
fn the_position_is_read_from_labels(#[case] labels: Value, #[case] expected: (u64, u64)) {
    let set = job_set(json!({}), &[replicated("worker", 1, pods(4), &[])]);
    let workload = read(&set).unwrap();
    let mut labels = labels;
    labels["jobset.sigs.k8s.io/jobset-name"] = "job".into();
    labels["jobset.sigs.k8s.io/replicatedjob-name"] = "worker".into();
    let raw = pod(("batch/v1", "Job", "job-worker-0"), "job-worker-0-0-x", labels);
    let position = workload.gang_of(Pod::new(&raw)).unwrap().position;
    assert_eq!((position.attempt, position.group), expected);
}

#[test]
fn every_group_of_a_leader_worker_set_is_a_gang() {
    let workload = read(&lws(json!({"replicas": 2, "leaderWorkerTemplate": {"size": 3}}))).unwrap();
    let gang = |name: &str, labels: Value| {
        let raw = pod(("apps/v1", "StatefulSet", "job"), name, labels);
        workload.gang_of(Pod::new(&raw)).map(|gang| gang.name)
    };
    let leader = json!({"leaderworkerset.sigs.k8s.io/name": "job", "leaderworkerset.sigs.k8s.io/worker-index": "0"});
    let worker = json!({"leaderworkerset.sigs.k8s.io/name": "job", "leaderworkerset.sigs.k8s.io/group-index": "1"});
    assert_eq!(workload.shape.groups, 2);
    assert_eq!(gang("job-1", leader.clone()), gang("job-1-2", worker));
    assert_ne!(gang("job-0", leader.clone()), gang("job-1", leader));
}

#[test]
fn the_operator_of_ray_adds_the_labels_of_a_group() {
    let mut cluster = ray(false);
    cluster["spec"]["workerGroupSpecs"][0]["labels"] = json!({"trainmesh.dev/gang": "none"});
    let workload = read(&cluster).unwrap();
    let labels: Vec<Option<GangMode>> = workload.shape.roles.iter().map(|role| role.template.label).collect();
    assert_eq!(labels, [None, Some(GangMode::None), None]);
}

#[test]
fn a_pod_of_an_unknown_role_has_no_gang() {
    let workload = read(&pytorch(json!({}), &[("Worker", 2)])).unwrap();
    let labels = json!({"training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "job", "training.kubeflow.org/replica-type": "master"});
    let raw = pod(("kubeflow.org/v1", "PyTorchJob", "job"), "job-master-0", labels);
    assert_eq!(workload.gang_of(Pod::new(&raw)), Err(UnknownGang::Role("master".to_owned())));
}
