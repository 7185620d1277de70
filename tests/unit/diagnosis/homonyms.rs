//! Jobs of Kubernetes and of Volcano with the same name.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, Diagnosis, Selection, Target, diagnose};

use super::objects::{NOW, START, event, main_container, rank, with};
use super::report;

const BATCH: &str = "batch/v1";
const VOLCANO: &str = "batch.volcano.sh/v1alpha1";

/// Returns the Job `llama` of an API.
fn job(api_version: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "llama", "creationTimestamp": START}, "spec": spec})
}

/// Returns a running pod of the Job `llama`.
fn pod(api_version: &str, name: &str, labels: Value) -> Value {
    let owner = json!([{"apiVersion": api_version, "kind": "Job", "name": "llama", "controller": true}]);
    let metadata = json!({"name": name, "uid": name, "labels": null, "ownerReferences": owner});
    with(with(rank(0), json!({"metadata": metadata})), json!({"metadata": {"labels": labels}}))
}

/// Returns both Jobs: that of Kubernetes has one of three pods, that of Volcano both of its pods.
fn jobs() -> Vec<Value> {
    let template = json!({"spec": {"containers": [main_container()]}});
    let task = json!({"name": "worker", "replicas": 2, "template": template});
    let worker = |index: usize| {
        let labels = json!({"volcano.sh/job-name": "llama", "volcano.sh/task-spec": "worker",
            "volcano.sh/task-index": index.to_string()});
        pod(VOLCANO, &format!("llama-worker-{index}"), labels)
    };
    vec![
        job(BATCH, json!({"parallelism": 3, "completions": 3, "template": template})),
        pod(BATCH, "llama-x2b4c", json!({"batch.kubernetes.io/job-name": "llama"})),
        job(VOLCANO, json!({"minAvailable": 2, "tasks": [task]})),
        worker(0),
        worker(1),
    ]
}

#[rstest]
#[case::event_of_kubernetes(BATCH, &["Job team-a/llama: only 1 of 3 pods could be created: the quota is used up"])]
#[case::event_of_volcano(VOLCANO, &[])]
fn jobs_of_two_groups_are_two_workloads(#[case] api_version: &str, #[case] expected: &[&str]) {
    let about = json!({"involvedObject": {"apiVersion": api_version}});
    let failure = with(event("Job", "llama", "FailedCreate", "exceeded quota: gpus", 60), about);
    let report = report(&[jobs(), vec![failure]].concat());
    let message = |found: &Diagnosis| format!("{}: {}", found.workload, found.finding.message);
    let messages: Vec<String> = report.diagnoses.iter().map(message).collect();
    assert_eq!((report.workloads, report.pods), (2, 3));
    assert_eq!(messages, expected);
}

#[rstest]
#[case::both("job/llama", 3)]
#[case::of_kubernetes("jobs.batch/llama", 1)]
#[case::with_a_version("jobs.v1.batch/llama", 1)]
#[case::of_volcano("jobs.batch.volcano.sh/llama", 2)]
#[case::short_name("vcjob/llama", 2)]
#[case::another_group("jobs.example.com/llama", 3)]
fn the_group_of_a_target_selects_one_of_them(#[case] target: &str, #[case] pods: usize) {
    let mut snapshot = ClusterSnapshot::default();
    for object in jobs() {
        snapshot.add(&object, "default").unwrap();
    }
    let selection = Selection { target: Some(Target::parse(target).unwrap()), namespace: None };
    assert_eq!(diagnose(&snapshot, &selection, NOW.parse().unwrap()).pods, pods);
}

/// The Workload of Kueue names its owner with the API group.
#[rstest]
#[case::of_kubernetes(BATCH, "W JobSuspended no")]
#[case::of_volcano(VOLCANO, "I JobSuspended unknown")]
fn a_workload_of_kueue_belongs_to_one_of_them(#[case] api_version: &str, #[case] expected: &str) {
    let owner = json!([{"apiVersion": api_version, "kind": "Job", "name": "llama", "controller": true}]);
    let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"namespace": "team-a", "name": "job-llama", "ownerReferences": owner}, "spec": {}, "status": {}});
    let mut volcano = job(VOLCANO, json!({"tasks": []}));
    volcano["status"] = json!({"state": {"phase": "Aborted"}});
    let mut found = super::findings(&[job(BATCH, json!({})), volcano, queue]);
    found.retain(|finding| finding.contains("JobSuspended"));
    assert_eq!(found, [expected]);
}

/// The hint names the group, without which both Jobs have one name.
#[test]
fn a_target_of_another_group_is_named_with_its_group() {
    let mut snapshot = ClusterSnapshot::default();
    for object in jobs().split_off(2) {
        snapshot.add(&object, "default").unwrap();
    }
    let selection = Selection { target: Some(Target::parse("jobs.batch/llama").unwrap()), namespace: None };
    let report = diagnose(&snapshot, &selection, NOW.parse().unwrap());
    assert_eq!(report.hint.as_deref(), Some("Job team-a/llama of batch.volcano.sh exists"));
}

#[test]
fn json_contains_the_group_of_a_workload() {
    let crash = json!({"status": {"containerStatuses": [{"name": "pytorch", "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}});
    let mut objects = jobs();
    for index in [1, 3] {
        objects[index] = with(objects[index].take(), crash.clone());
    }
    let json = report(&objects).to_json("0", &[]);
    let mut groups: Vec<Option<&str>> =
        json["findings"].as_array().unwrap().iter().map(|found| found["workload"]["apiGroup"].as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    assert_eq!(groups, [None, Some("batch.volcano.sh")]);
}
