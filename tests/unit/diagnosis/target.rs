//! Selection of a workload.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, Selection, Target, diagnose};

use super::objects::{NOW, job_with, rank_of, waiting};
use super::report;

#[rstest]
#[case::kind("PyTorchJob/llama", Some(4))]
#[case::lower_case("pytorchjob/llama", Some(4))]
#[case::plural("pytorchjobs/llama", Some(4))]
#[case::with_group("pytorchjobs.kubeflow.org/llama", Some(4))]
#[case::pod("llama-worker-2", Some(4))]
#[case::pod_kind("pod/llama-worker-2", Some(4))]
#[case::short_pod_kind("po/llama-worker-2", Some(4))]
#[case::short_kind("sts/llama", Some(0))]
#[case::another_job("pytorchjob/gpt", Some(1))]
#[case::missing("pytorchjob/bert", Some(0))]
#[case::another_kind("tfjob/llama", Some(0))]
#[case::unknown_kind("trainings/llama", Some(0))]
#[case::similar_kind("pytorchjb/llama", None)]
#[case::no_name("pytorchjob/", None)]
#[case::no_kind("/llama", None)]
#[case::too_many_parts("a/b/c", None)]
#[case::empty("", None)]
#[case::long(&"a".repeat(254), None)]
fn targets(#[case] text: &str, #[case] pods: Option<usize>) {
    let mut snapshot = ClusterSnapshot::default();
    for object in job_with(4, waiting("ImagePullBackOff", "")).iter().chain([&rank_of("gpt", 0)]) {
        snapshot.add(object, "default").unwrap();
    }
    let found = |target: Target, namespace: Option<&str>| {
        let selection = Selection { target: Some(target), namespace: namespace.map(str::to_owned) };
        diagnose(&snapshot, &selection, NOW.parse().unwrap())
    };
    let selected = Target::parse(text).map(|target| found(target, None).pods);
    assert_eq!(selected.ok(), pods);
    if let Ok(target) = Target::parse(text) {
        // Another namespace.
        let report = found(target, Some("team-b"));
        assert_eq!((report.pods, report.diagnoses.len()), (0, 0));
    }
}

#[rstest]
#[case::near("pytorchjb/a", "unknown kind \"pytorchjb\": did you mean pytorchjob?")]
#[case::start("pytorch/a", "unknown kind \"pytorch\": did you mean pytorchjob?")]
fn unknown_kinds(#[case] text: &str, #[case] expected: &str) {
    let message = Target::parse(text).unwrap_err().to_string();
    assert_eq!(message, expected);
}

/// The tables print such owners, too.
#[rstest]
#[case::as_printed("AcmeTrain/acme", Some(2))]
#[case::lower_case("acmetrain/acme", Some(2))]
#[case::plural_with_group("acmetrains.example.com/acme", Some(2))]
#[case::another_name("acmetrain/other", Some(0))]
#[case::another_kind("service/db", Some(0))]
fn owners_of_any_kind(#[case] text: &str, #[case] pods: Option<usize>) {
    let owner = json!([{"apiVersion": "example.com/v1", "kind": "AcmeTrain", "name": "acme", "controller": true}]);
    let mut snapshot = ClusterSnapshot::default();
    for mut pod in job_with(2, json!({})) {
        pod["metadata"]["labels"] = json!({});
        pod["metadata"]["ownerReferences"] = owner.clone();
        snapshot.add(&pod, "default").unwrap();
    }
    let selection = Selection { target: Some(Target::parse(text).unwrap()), namespace: None };
    let report = diagnose(&snapshot, &selection, NOW.parse().unwrap());
    assert_eq!(Some(report.pods), pods);
    let names_kinds = report.hint.is_some_and(|hint| hint.contains("use one of appwrapper, cronjob, "));
    assert_eq!(names_kinds, text.starts_with("service"));
}

/// An alert names the Job, and its owner is the workload.
#[rstest]
#[case::owner("cronjob/nightly", 2)]
#[case::job("job/nightly-1", 2)]
#[case::another_job("job/nightly-2", 0)]
#[case::another_group("vcjob/nightly-1", 0)]
fn owners_that_belong_to_a_workload(#[case] text: &str, #[case] pods: usize) {
    let owner =
        |kind: &str, name: &str| json!([{"apiVersion": "batch/v1", "kind": kind, "name": name, "controller": true}]);
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "nightly-1", "ownerReferences": owner("CronJob", "nightly")}});
    let mut snapshot = ClusterSnapshot::default();
    snapshot.add(&job, "default").unwrap();
    for mut pod in job_with(2, json!({})) {
        pod["metadata"]["labels"] = json!({});
        pod["metadata"]["ownerReferences"] = owner("Job", "nightly-1");
        snapshot.add(&pod, "default").unwrap();
    }
    let selection = Selection { target: Some(Target::parse(text).unwrap()), namespace: None };
    assert_eq!(diagnose(&snapshot, &selection, NOW.parse().unwrap()).pods, pods);
}

#[rstest]
#[case::another_kind(Some("mpijob/llama"), None, Some("PyTorchJob team-a/llama exists"))]
#[case::another_namespace(Some("llama-worker-2"), Some("team-b"), Some("PyTorchJob team-a/llama exists"))]
#[case::similar(Some("pytorchjob/lama"), None, Some("did you mean llama (PyTorchJob team-a/llama)?"))]
#[case::unrelated(Some("pytorchjob/mistral"), None, None)]
#[case::kind_without_a_name(Some("pytorchjob"), None, Some("a kind needs a name: pytorchjob/NAME"))]
#[case::resource_without_a_name(Some("jobsets"), None, Some("a kind needs a name: jobsets/NAME"))]
#[case::short_kind_without_a_name(Some("vcjob"), None, Some("a kind needs a name: vcjob/NAME"))]
#[case::namespace(None, Some("team-b"), Some("there are workloads in team-a"))]
#[case::found(Some("llama-worker-2"), None, None)]
#[case::pod_of_a_service(Some("db-0"), None, Some("it belongs to no training job and requests no accelerators"))]
#[case::service(Some("sts/db"), Some("team-a"), Some("it belongs to no training job and requests no accelerators"))]
#[case::part_of_a_workload(Some("job/child"), None, Some("it belongs to PyTorchJob team-a/llama"))]
#[case::service_elsewhere(Some("sts/db"), Some("team-b"), None)]
fn hints(#[case] target: Option<&str>, #[case] namespace: Option<&str>, #[case] expected: Option<&str>) {
    let owner = json!([{"kind": "PyTorchJob", "name": "llama", "controller": true}]);
    let child = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "team-a", "name": "child", "ownerReferences": owner}});
    let mut snapshot = ClusterSnapshot::default();
    for object in job_with(4, waiting("ImagePullBackOff", "")).iter().chain([&server(), &child]) {
        snapshot.add(object, "default").unwrap();
    }
    let target = target.map(|text| Target::parse(text).unwrap());
    let selection = Selection { target, namespace: namespace.map(str::to_owned) };
    assert_eq!(diagnose(&snapshot, &selection, NOW.parse().unwrap()).hint.as_deref(), expected);
}

/// Returns a pod of a `StatefulSet` without accelerators.
fn server() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team-a", "name": "db-0",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": true}]}})
}

#[rstest]
#[case::workload("mpijobs/llama", "MPIJob llama")]
#[case::pod("llama-0", "pod llama-0")]
#[case::volcano("vcjob/llama", "Job llama of batch.volcano.sh")]
fn titles(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Target::parse(text).unwrap().title(), expected);
}

#[test]
fn pods_that_are_not_diagnosed_are_counted() {
    let counts = |objects: &[Value]| {
        let report = report(objects);
        (report.workloads, report.pods, report.excluded_pods)
    };
    assert_eq!(counts(&[server()]), (0, 0, 1));
    assert_eq!(counts(&[server(), rank_of("gpt", 0)]), (1, 1, 0));
}

/// The leader of a group owns the `StatefulSet` of its workers.
#[test]
fn a_leader_worker_set_is_one_workload() {
    let owned = |mut object: Value, kind: &str, name: &str| {
        object["metadata"]["ownerReferences"] = json!([{"kind": kind, "name": name, "controller": true}]);
        object
    };
    let metadata = |name: &str| json!({"namespace": "team-a", "name": name});
    let set = |name: &str| json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata(name)});
    let pod = |name: &str| {
        let mut metadata = metadata(name);
        metadata["labels"] = json!({"leaderworkerset.sigs.k8s.io/name": "serve"});
        let limits = json!({"limits": {"nvidia.com/gpu": 8}});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "a", "resources": limits}]}})
    };
    let lws =
        json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": metadata("serve")});
    let report = report(&[
        lws,
        owned(set("serve"), "LeaderWorkerSet", "serve"),
        owned(pod("serve-0"), "StatefulSet", "serve"),
        owned(set("serve-0"), "Pod", "serve-0"),
        owned(pod("serve-0-1"), "StatefulSet", "serve-0"),
    ]);
    assert_eq!((report.workloads, report.pods), (1, 2));
}

/// The hint about a kind is the same, whether a pod has the name or not.
#[rstest]
#[case::name_of_a_pod("svc/llama-worker-2")]
#[case::another_name("node/gpu-1")]
fn kinds_without_pods(#[case] text: &str) {
    let mut snapshot = ClusterSnapshot::default();
    for object in job_with(4, waiting("ImagePullBackOff", "")) {
        snapshot.add(&object, "default").unwrap();
    }
    let selection = Selection { target: Some(Target::parse(text).unwrap()), namespace: None };
    let hint = diagnose(&snapshot, &selection, NOW.parse().unwrap()).hint.unwrap();
    assert!(hint.starts_with("unknown kind ") && hint.contains(", vcjob, "), "{hint}");
}
