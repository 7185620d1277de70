//! `trainmesh diagnose`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, assert_exit, trainmesh, trainmesh_with};

/// A job whose worker 1 cannot pull its image, a pod that exceeded its memory limit, and a job that runs.
pub const DUMP: &str = r#"apiVersion: v1
kind: List
items:
- &master
  apiVersion: v1
  kind: Pod
  metadata:
    name: llama-master-0
    namespace: team-a
    uid: "1"
    creationTimestamp: "2026-01-01T11:00:00Z"
    ownerReferences: [{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: llama, controller: true}]
    labels: &labels
      training.kubeflow.org/operator-name: pytorchjob-controller
      training.kubeflow.org/job-name: llama
      training.kubeflow.org/replica-type: master
      training.kubeflow.org/replica-index: "0"
  spec: &spec
    nodeName: gpu-a
    restartPolicy: OnFailure
    containers: [{name: pytorch, image: "registry.example.com/research/llama:2026-01-01", resources: {limits: {nvidia.com/gpu: 8}}}]
  status:
    phase: Running
    startTime: "2026-01-01T11:00:00Z"
    containerStatuses: [{name: pytorch, ready: true, restartCount: 0, state: {running: {startedAt: "2026-01-01T11:00:00Z"}}}]
- apiVersion: v1
  kind: Pod
  metadata:
    name: llama-worker-0
    namespace: team-a
    uid: "2"
    creationTimestamp: "2026-01-01T11:00:00Z"
    ownerReferences: [{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: llama, controller: true}]
    labels: {<<: *labels, training.kubeflow.org/replica-type: worker}
  spec: *spec
  status:
    phase: Pending
    startTime: "2026-01-01T11:00:00Z"
    containerStatuses:
    - name: pytorch
      state:
        waiting:
          reason: ImagePullBackOff
          message: 'Back-off pulling image "registry.example.com/research/llama:2026-01-01": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image: manifest unknown'
---
apiVersion: v1
kind: Pod
metadata: {name: "a-notebook-with-a-name-that-is-longer-than-most-terminals-are-wide-0", namespace: team-with-a-long-name, creationTimestamp: "2026-01-01T10:00:00Z"}
spec: {nodeName: gpu-b, restartPolicy: Always, containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
status:
  phase: Running
  containerStatuses:
  - name: main
    restartCount: 1
    state: {running: {startedAt: "2026-01-01T12:00:00Z"}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-01-01T11:59:00Z"}}
"#;

pub const HEALTHY: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "team-a"},
  "spec": {"nodeName": "n", "containers": [{"name": "a"}]},
  "status": {"phase": "Running", "containerStatuses": [{"name": "a", "state": {"running": {"startedAt": "2026-01-01T12:00:00Z"}}}]}}"#;

fn diagnose(arguments: &[&str], dump: &str) -> Run {
    trainmesh(&[&["diagnose", "-f", "-"], arguments].concat(), dump)
}

const FOUND: &str = "ImagePullFails   no         16 acc-h   PyTorchJob team-a/llama\n";

#[rstest]
#[case::all(&[], 1, &[FOUND, "warning ", "2 findings in 2 workloads, 3 pods at 2026-01-01T12:00:00Z"], "")]
#[case::namespace(&["-n", "team-a"], 1, &[FOUND, "1 finding in 1 workload, 2 pods"], "")]
#[case::workload(&["pytorchjob/llama"], 1, &[FOUND, "1 finding in 1 workload"], "")]
#[case::kind_and_name(&["pytorchjob", "llama"], 1, &[FOUND, "1 finding in 1 workload"], "")]
#[case::two_names(&["pytorchjob/llama", "pytorchjob/gpt"], 2, &[], "error: found pytorchjob/llama and pytorchjob/gpt: diagnose one workload or pod at a time")]
#[case::two_pods(&["llama-master-0", "llama-worker-0"], 2, &[], "error: found llama-master-0 and llama-worker-0: diagnose one")]
#[case::name_with_a_namespace(&["pod", "team-a/llama-worker-0"], 2, &[], "error: expected KIND/NAME, KIND NAME or the name of a pod, found \"pod/team-a/llama-worker-0\"")]
#[case::pod(&["llama-worker-0"], 1, &[FOUND, "1 finding in 1 workload"], "")]
#[case::time(&["--now", "2026-01-01T13:00:00Z", "llama-worker-0"], 1, &["no         32 acc-h ", "(120m ago)"], "")]
#[case::time_before_the_dump(&["--now", "2025-01-01T00:00:00Z"], 2, &[], "error: --now 2025-01-01T00:00:00Z is before the newest time in the dump, 2026-01-01T12:00:00Z")]
#[case::yaml(&["-o", "yaml", "-n", "team-a"], 1, &["findings:\n- id: ImagePullFails\n", "recovers: \"no\"\n"], "")]
#[case::missing(&["tfjob/llama"], 2, &[], "error: no TFJob llama to diagnose: PyTorchJob team-a/llama exists")]
#[case::other_namespace(&["-n", "team-z"], 2, &[], "error: the input contains no workload of namespace team-z: there are workloads in team-a, team-with-a-long-name")]
#[case::empty_namespace(&["-n", ""], 2, &[], "error: the name of the namespace is empty: correct -n")]
#[case::another_group(&["vcjob/llama"], 2, &[], "error: no Job llama of batch.volcano.sh to diagnose: PyTorchJob team-a/llama exists")]
#[case::unknown_kind(&["service/llama"], 2, &[], "error: no service llama to diagnose: ")]
#[case::similar_kind(&["pytorchjb/llama"], 2, &[], "unknown kind \"pytorchjb\": did you mean pytorchjob?")]
#[case::invalid_time(&["--now", "yesterday"], 2, &[], "expected a time such as 2026-01-31T12:00:00Z")]
#[case::help(&["--help"], 0, &["Examples:", "Exit codes:"], "")]
fn dumps(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    assert_exit(&diagnose(arguments, DUMP), code, stdout, stderr);
}

#[test]
fn a_healthy_workload_prints_one_line() {
    let run = diagnose(&[], HEALTHY);
    let line = "nothing found in 1 workload, 1 pod at 2026-01-01T12:00:00Z; the API does not show collectives that hang: docs/diagnose.md#limits\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), line), "{run:#?}");
}

/// A pod of a `StatefulSet`, which is not diagnosed.
const SERVER: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "team-a",
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": true}]},
  "spec": {"containers": [{"name": "a"}]}, "status": {"phase": "Running", "startTime": "2026-01-01T12:00:00Z"}}"#;

/// A dump and a cluster without training jobs have the same result.
#[rstest]
#[case::all(&[], 0, "note: 1 pod, none of a training job or with accelerators\n")]
#[case::pod(&["db-0"], 2, "error: no pod db-0 to diagnose: it belongs to no training job and requests no accelerators\n")]
fn a_namespace_without_training_jobs(#[case] target: &[&str], #[case] code: i32, #[case] stderr: &str) {
    let arguments = [&["-n", "team-a"], target].concat();
    let pod: Value = serde_json::from_str(SERVER).unwrap();
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]});
    let (live, _) = in_cluster(vec![(PODS_PATH, list), version()], &arguments);
    for run in [diagnose(target, SERVER), diagnose(&arguments, SERVER), live] {
        assert_eq!(run.code, Some(code), "{run:#?}");
        assert!(run.stderr.ends_with(stderr), "{run:#?}");
        assert_eq!(run.stdout.starts_with("nothing found in 0 workloads, 0 pods at "), code == 0, "{run:#?}");
    }
}

#[test]
fn a_workload_without_pods_is_no_healthy_workload() {
    let job = r#"{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "llama", "namespace": "team-a"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "a"}]}}}}}}"#;
    let problem = "the input contains no pods: a dump needs those of kubectl get pods -o yaml\n";
    let run = diagnose(&["pytorchjob/llama"], job);
    let error = format!("error: {problem}");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(2), "", error.as_str()));
    // Its namespace may have no pods, which a dump of it does not show.
    let condition = "Admitted";
    let holding = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "llama"},
        "status": {"conditions": [{"type": condition, "status": "True"}]}});
    let run = diagnose(&[], &format!("{job}\n---\n{holding}"));
    let error = "error: the input contains no pods, so it is not known whether a job that Kueue has admitted has any";
    assert_exit(&run, 2, &[], error);
    // The namespace of a dump may have no pods.
    let created = |time: &str| {
        job.replace(r#""namespace": "team-a""#, &format!(r#""namespace": "team-a", "creationTimestamp": "{time}""#))
    };
    let waiting = diagnose(&["--now", "2026-01-01T12:00:00Z"], &created("2026-01-01T11:00:00Z"));
    assert_exit(&waiting, 0, &["PodsNotCreated", "its operator has not created the pods"], &format!("note: {problem}"));
    let new = diagnose(&["--now", "2026-01-01T12:00:00Z"], &created("2026-01-01T11:59:00Z"));
    assert_exit(&new, 0, &["nothing found in 1 workload, 0 pods"], &format!("note: {problem}"));
    // A finding that needs no pods.
    let suspended = job.replace(r#""spec": {"#, r#""spec": {"runPolicy": {"suspend": true}, "#);
    let run = diagnose(&[], &suspended);
    assert_exit(&run, 1, &["JobSuspended"], &format!("note: {problem}"));
    let run = diagnose(&[], &format!("{job}\n---\nkind: [\n"));
    let line = &["nothing found in 1 workload, 0 pods; a part of the input could not be read\n"];
    assert_exit(&run, 2, line, "error: stdin: document 2");
}

/// One Workload of Kueue may be that of another job; a list contains all of the namespace.
#[rstest]
#[case::document(false, "its Workload is not known")]
#[case::list(true, "Kueue has no Workload of it")]
fn workloads_of_kueue_are_complete_in_a_list(#[case] is_list: bool, #[case] message: &str) {
    let labels = json!({"kueue.x-k8s.io/queue-name": "q"});
    let metadata =
        json!({"name": "a", "namespace": "team-a", "creationTimestamp": "2026-01-01T11:00:00Z", "labels": labels});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"suspend": true}});
    let other = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"name": "other", "namespace": "team-a"}, "spec": {}});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [other]});
    let dump = format!("{job}\n---\n{}", if is_list { &list } else { &other });
    let run = diagnose(&["--now", "2026-01-01T12:00:00Z"], &dump);
    assert!(run.stdout.contains(message), "{run:#?}");
}

#[rstest]
#[case::syntax(&format!("{HEALTHY}\n---\nkind: [\n---\n{HEALTHY}"), "stdin: document 2, line 5: ")]
#[case::item(
    "apiVersion: v1\nkind: List\nitems: [1]\n",
    "stdin: document 1, line 3: items[0]: expected a Kubernetes object"
)]
#[case::empty("", "stdin: empty: no Kubernetes object found")]
#[case::namespace(
    &format!("{HEALTHY}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: y}}\n"),
    "stdin: document 2, line 7: metadata.namespace: expected a string, found true: quote it"
)]
fn an_invalid_document_is_named(#[case] dump: &str, #[case] stderr: &str) {
    let run = diagnose(&["-o", "json"], dump);
    assert_exit(&run, 2, &["\"errors\": [\n"], stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["errors"][0]["source"], "stdin", "{run:#?}");
    // An input without objects has no time.
    assert_eq!(report["now"].is_null(), !dump.contains("2026-"), "{run:#?}");
}

#[test]
fn a_dump_without_a_valid_document_has_no_result() {
    let run = diagnose(&[], "apiVersion: v1\nkind: List\nitems: [1]\n");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
}

#[test]
fn json_output_has_every_field_of_the_contract() {
    let run = diagnose(&["-o", "json"], DUMP);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let top = ["schemaVersion", "version", "now", "workloads", "pods", "logs", "findings", "omittedFindings", "errors"];
    assert_eq!(keys(&report), top);
    let found = &report["findings"][0];
    let fields = [
        "id",
        "severity",
        "layer",
        "workload",
        "message",
        "evidence",
        "moreEvidence",
        "recovers",
        "recoversBecause",
        "waste",
        "cure",
        "link",
    ];
    assert_eq!(keys(found), fields);
    assert_eq!(keys(&found["evidence"][0]), ["object", "field", "value", "time"]);
    assert_eq!(found["waste"], json!({"accelerators": 16, "acceleratorSeconds": 16 * 3600}));
    assert_eq!(
        found["workload"],
        json!({"apiGroup": null, "kind": "PyTorchJob", "namespace": "team-a", "name": "llama"})
    );
}

#[test]
fn terminal_escapes_in_a_dump_are_shown() {
    let dump = DUMP.replace("manifest unknown", "\\u{1b}[2J");
    let dump = dump
        .replace("message: '", "message: \"")
        .replace("\\u{1b}[2J'", "\\u001b[2J\"")
        .replace("image \"reg", "image reg")
        .replace("01\": Err", "01: Err");
    assert_exit(&diagnose(&[], &dump), 1, &["\\u{1b}[2J"], "");
}

fn in_cluster(objects: Vec<(&'static str, Value)>, arguments: &[&str]) -> (Run, Vec<String>) {
    let apiserver = Apiserver::start(objects);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let run = trainmesh_with(&[&["diagnose"], arguments].concat(), "", &[("KUBECONFIG", &kubeconfig)]);
    (run, apiserver.requests())
}

/// Returns the pods of [`DUMP`] in a namespace, as the apiserver lists them.
pub fn pods(namespace: &str) -> Value {
    let documents = DUMP.split("\n---\n").map(|text| trainmesh_core::yaml::parse(text).unwrap());
    let pods = documents.flat_map(|document| match document.get("items") {
        Some(items) => items.as_array().unwrap().clone(),
        None => vec![document],
    });
    let pods = pods.filter(|pod| pod["metadata"]["namespace"] == namespace).map(|mut pod| {
        pod.as_object_mut().unwrap().retain(|key, _| key != "apiVersion" && key != "kind");
        pod
    });
    json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods.collect::<Vec<_>>()})
}

pub fn version() -> (&'static str, Value) {
    ("/version", json!({"major": "1", "minor": "36"}))
}

#[test]
fn a_live_cluster_is_read() {
    let served = vec![("/api/v1/namespaces/team-a/pods", pods("team-a")), version()];
    let (run, requests) = in_cluster(served, &["pytorchjob/llama", "-n", "team-a"]);
    assert_exit(
        &run,
        1,
        &["ImagePullFails", "1 finding in 1 workload, 2 pods"],
        "note: not checked, because you may not list them: events, nodes, ",
    );
    for path in [
        "/api/v1/namespaces/team-a/pods",
        "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs",
        "/api/v1/namespaces/team-a/services",
        "/api/v1/nodes",
    ] {
        assert!(requests.iter().any(|request| request.contains(path)), "{path}: {requests:?}");
    }
    assert!(!run.stderr.contains("deployments"), "{run:#?}");
}

/// The labels of the namespace decide the fix of a job that only its proxy keeps from completing.
#[rstest]
#[case::enabled("enabled", &["-n", "team-a"], "the controller of trainmesh should have terminated it")]
#[case::all_namespaces("enabled", &["-A"], "the controller of trainmesh should have terminated it")]
#[case::audit("audit", &["-n", "team-a"], "only in namespaces with the label trainmesh.dev/inject=enabled, which this one lacks")]
#[case::forbidden("", &["-n", "team-a"], "install trainmesh's controller")]
#[case::all_namespaces_forbidden("", &["-A"], "install trainmesh's controller")]
fn the_fix_depends_on_the_namespace(#[case] mode: &str, #[case] arguments: &[&str], #[case] fix: &str) {
    let terminated = json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}});
    let pod = json!({
        "metadata": {"namespace": "team-a", "name": "train-0", "uid": "1"},
        "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "istio-proxy"}, {"name": "train"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "istio-proxy", "containerID": "c://1", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
            {"name": "train", "containerID": "c://2", "state": terminated},
        ]},
    });
    let pods = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]});
    let metadata = json!({"name": "team-a", "labels": {"trainmesh.dev/inject": mode}});
    let mut served = vec![("/api/v1/namespaces/team-a/pods", pods.clone()), ("/api/v1/pods", pods), version()];
    if !mode.is_empty() {
        let found = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
        let list =
            json!({"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": metadata}]});
        served.extend([("/api/v1/namespaces/team-a", found), ("/api/v1/namespaces", list)]);
    }
    let (run, _) = in_cluster(served, arguments);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(fix), "{run:#?}");
    assert!(!run.stderr.contains("namespaces"), "{run:#?}");
}

#[test]
fn pods_are_required() {
    let (run, _) = in_cluster(vec![version()], &["-n", "team-a"]);
    assert_exit(&run, 2, &[], "could not list pods");
}

#[rstest]
#[case::diagnose("diagnose", "nothing found in 0 workloads, 0 pods")]
#[case::inventory("inventory", "no workload uses accelerators")]
fn an_empty_namespace_and_another_server_are_named(#[case] command: &str, #[case] stdout: &str) {
    let empty =
        ("/api/v1/namespaces/team-a/pods", json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}));
    let missing = json!({"kind": "Status", "code": 404, "status": "Failure", "reason": "NotFound", "message": "404 page not found"});
    let run = |pods: (&'static str, Value)| {
        let apiserver = Apiserver::start(vec![pods, version()]);
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = apiserver.kubeconfig(folder.path());
        trainmesh_with(&[command, "-n", "team-a"], "", &[("KUBECONFIG", &kubeconfig)])
    };
    let note = "note: no pods in namespace team-a: check the context and the namespace, which may not exist";
    assert_exit(&run(empty), 0, &[stdout], note);
    assert_exit(
        &run(("/api/v1/namespaces/team-a/pods", missing)),
        2,
        &[],
        " (context test): the server has no such API (404)",
    );
}

#[test]
fn files_and_a_directory_are_one_dump() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = DUMP.split_once("\n---\n").unwrap();
    fs::write(folder.path().join("a.yaml"), first).unwrap();
    fs::write(folder.path().join("b.yaml"), second).unwrap();
    let path = folder.path().to_str().unwrap();
    let run = trainmesh(&["diagnose", "-f", path], "");
    assert_exit(&run, 1, &["2 findings in 2 workloads, 3 pods"], "");
}

const SOCKET: &str = "2026-01-01T11:30:00Z llama:12:34 [0] NCCL INFO Using network Socket\n";

/// Writes files, and diagnoses `arguments`, in which `DIR` is their directory.
fn with_files(files: &[(&str, &str)], arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("DIR", path)).collect();
    let arguments: Vec<&str> = ["diagnose"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
    trainmesh(&arguments, "")
}

/// A job of two pods that request RDMA, and run.
fn rdma_dump() -> String {
    let started = r#"containerStatuses: [{name: pytorch, state: {running: {startedAt: "2026-01-01T11:00:00Z"}}}]"#;
    let waiting = DUMP.find("    containerStatuses:\n    - name: pytorch").unwrap();
    let running = format!("{}    {started}\n", &DUMP[..waiting].replace("phase: Pending", "phase: Running"));
    running.replace("{nvidia.com/gpu: 8}", "{nvidia.com/gpu: 8, rdma/ib: 8}")
}

const ON_TCP: &[&str] = &[
    "RankOnTcp   no",
    "worker-0 uses TCP, although the pod requests RDMA (rdma/ib)",
    "log of pytorch: Using network Socket (0s ago)",
];

#[rstest]
#[case::file(&["-f", "DIR/dump.yaml", "-f", "DIR/team-a_llama-worker-0_pytorch.log"], 1, ON_TCP, "")]
#[case::directory(&["-f", "DIR", "--logs"], 1, &["RankOnTcp", "1 workload, 2 pods, 1 log at"], "")]
#[case::json(&["-f", "DIR", "-o", "json"], 1, &["\"layer\": \"transport\"", "\"logs\": 1"], "")]
#[case::no_logs(&["-f", "DIR/dump.yaml"], 0, &["nothing found in 1 workload, 2 pods at "], "")]
#[case::logs_are_required(&["-f", "DIR/dump.yaml", "--logs"], 2, &[], "error: no log: add files named NAMESPACE_POD_CONTAINER.log")]
#[case::dump_is_required(&["-f", "DIR/team-a_llama-worker-0_pytorch.log"], 2, &[], "error: no dump of the pods")]
#[case::missing(&["-f", "DIR/dump.yaml", "-f", "DIR/missing.log"], 2, &[], "missing.log`")]
#[case::another_container(&["-f", "DIR/dump.yaml", "-f", "DIR/llama-worker-0_pytroch.log"], 2, &["nothing found in 1 workload, 2 pods at "], "error: no log belongs to a container of the input")]
#[case::another_container_is_required(&["-f", "DIR/dump.yaml", "-f", "DIR/llama-worker-0_pytroch.log", "--logs"], 2, &[], "error: no log belongs to a container of the input")]
#[case::two_logs(&["-f", "DIR/dump.yaml", "-f", "DIR/llama-worker-0_pytroch.log", "-f", "DIR/llama-worker-0.log"], 1, &["2 pods, 1 log at"], "not checked: pod llama-worker-0 has no container pytroch, only pytorch")]
#[case::binary(&["-f", "DIR/dump.yaml", "-f", "DIR/llama-master-0.log"], 2, &["nothing found in 1 workload, 2 pods at "], "llama-master-0.log: not checked: contains NUL bytes: it is binary")]
#[case::binary_and_text(&["-f", "DIR/dump.yaml", "-f", "DIR/llama-master-0.log", "-f", "DIR/llama-worker-0.log"], 1, &["RankOnTcp"], "llama-master-0.log: not checked: ")]
#[case::padded(&["-f", "DIR/dump.yaml", "-f", "DIR/team-a_llama-worker-0.log"], 1, &["RankOnTcp"], "")]
fn logs_in_files(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    let log = SOCKET.replace("11:30", "11:00");
    let files = [
        ("dump.yaml", rdma_dump()),
        ("team-a_llama-worker-0_pytorch.log", log.clone()),
        ("llama-worker-0_pytroch.log", log.clone()),
        ("llama-worker-0.log", log),
        ("llama-master-0.log", "N\0C\0C\0L\0".to_owned()),
        ("team-a_llama-worker-0.log", format!("\0\0\n{}\0\0", SOCKET.replace("11:30", "11:00"))),
    ];
    // The directory contains the first two.
    let is_directory = arguments.contains(&"DIR");
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let run = with_files(if is_directory { &files[..2] } else { &files }, arguments);
    assert_exit(&run, code, stdout, stderr);
}

const LOST: &str =
    "logs.log: 1 of 2 logs not checked: the input contains no pod llama-worker-9: did you mean llama-worker-0?";

#[rstest]
#[case::pod_and_container("llama-worker-0_pytorch.log", 1, "")]
#[case::unknown_pod(
    "worker1.log",
    0,
    "warning: DIR/worker1.log: not checked: the input contains no pod worker1; name it NAMESPACE_POD_CONTAINER.log, or write the logs of several pods with kubectl logs --prefix"
)]
#[case::misspelled(
    "llama-workr-0.log",
    0,
    "not checked: the input contains no pod llama-workr-0: did you mean llama-worker-0?"
)]
#[case::another_namespace(
    "team-b_llama-worker-0_pytorch.log",
    0,
    "not checked: pod llama-worker-0 is in namespace team-a, not in team-b"
)]
#[case::another_container(
    "team-a_llama-worker-0_trainer.log",
    0,
    "not checked: pod llama-worker-0 has no container trainer, only pytorch"
)]
#[case::compressed("llama-worker-0.log.gz", 0, "note: DIR: skipped 1 compressed log (.log.gz): decompress with gunzip")]
fn logs_without_a_pod_are_named(#[case] file: &str, #[case] code: i32, #[case] stderr: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    fs::write(folder.path().join("dump.yaml"), rdma_dump()).unwrap();
    fs::write(folder.path().join(file), SOCKET.replace("11:30", "11:00")).unwrap();
    let run = trainmesh(&["diagnose", "-f", path], "");
    assert_exit(&run, code, &[], &stderr.replace("DIR", path));
    assert!(code == 1 || !run.stdout.contains(" log"), "no log was checked: {run:#?}");
    let run = trainmesh(&["diagnose", "-f", path, "--logs"], "");
    assert_exit(&run, if code == 0 { 2 } else { 1 }, &[], if code == 0 { "error: no log" } else { "" });
}

/// Files of other programs are named as what they are.
#[rstest]
#[case::ras(
    "ncclras.log",
    "NCCL version 2.24.3 compiled with CUDA 12.6\nCUDA runtime version 12060\n\nJob summary\n===========\n",
    "ncclras.log: not checked: the output of ncclras"
)]
#[case::stacks(
    "pyspy_llama-worker-0.log",
    "Process 123: python train.py\nPython v3.10.12\n\nThread 123 (idle)\n",
    "pyspy_llama-worker-0.log: not checked: the output of py-spy"
)]
#[case::version("llama-master-0.log", "NCCL version 2.24.3+cuda12.6\nProcess 123: python train.py\n", "")]
#[case::application_with_a_summary(
    "llama-master-0.log",
    "NCCL version 2.24.3+cuda12.6\nJob summary: 16 ranks\n===\n",
    ""
)]
#[case::application_with_a_version("llama-master-0.log", "Process 0 of 16\nPython version: 3.10.12\n\n", "")]
#[case::application_with_its_process("llama-master-0.log", "Process 0: started\nPython v3.10.12\nstep 1\n", "")]
fn outputs_of_other_programs(#[case] name: &str, #[case] text: &str, #[case] stderr: &str) {
    let dump = rdma_dump();
    let files = [("dump.yaml", dump.as_str()), ("team-a_llama-worker-0_pytorch.log", SOCKET), (name, text)];
    let run = with_files(&files, &["-f", "DIR", "--logs"]);
    assert_exit(&run, 1, &["RankOnTcp"], stderr);
    assert_eq!(run.stderr.contains("not checked"), !stderr.is_empty(), "{run:#?}");
}

#[test]
fn lost_logs_of_a_file_are_counted() {
    let log = format!("[pod/llama-worker-0/pytorch] {SOCKET}[pod/llama-worker-9/pytorch] {SOCKET}");
    let run = with_files(&[("dump.yaml", &rdma_dump()), ("logs.log", &log)], &["-f", "DIR", "--logs"]);
    assert_exit(&run, 1, &["worker-0 uses TCP"], LOST);
}

#[rstest]
#[case::log("log.txt", "[2026] NCCL: [x", "a log has to be named *.log")]
#[case::table(
    "table.yaml",
    "NAME   READY\na-0    1/1\n",
    "found a string: write the dump with -o yaml or -o json of kubectl get"
)]
#[case::items_only(
    "items.json",
    r#"[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]"#,
    "found a list: keep the object with `apiVersion`, `kind` and `items`, as kubectl get writes it"
)]
#[case::watch(
    "watch.json",
    r#"{"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}}"#,
    "it has no `apiVersion` and no `kind`: write the dump with kubectl get -o yaml or -o json"
)]
#[case::ras(
    "ras.txt",
    "NCCL version 2.24.3 compiled with CUDA 12.6\n\nJob summary\n===========\n\n  Nodes  Processes\n(total)   per node\n",
    "the output of ncclras, which is not read"
)]
#[case::ras_in_json(
    "ras.json",
    r#"{"nccl_version": "2.28.7", "communicators": []}"#,
    "the output of ncclras, which is not read"
)]
#[case::stacks(
    "stacks.txt",
    "Process 1: python\nPython v3.10.12\n\nThread 1 (idle)\n",
    "the output of py-spy, which is not read"
)]
#[case::describe("describe.yaml", "Name: a\nNamespace: b\n", "without describe or --output-watch-events")]
#[case::output_of_a_command(
    "forbidden.yaml",
    "Error from server (Forbidden): nodes is forbidden: User \"anna\" cannot list resource \"nodes\"\n",
    "document 1, line 1: the line is no part of an object"
)]
#[case::anchor_of_another_item(
    "converted.yaml",
    "apiVersion: v1\nitems:\n- &a {apiVersion: v1, kind: Pod, metadata: {name: a, uid: \"1\"}}\n- *a\nkind: List\n",
    "found unknown anchor *a: the items of a list share no anchors, which kubectl does not write: convert the dump to JSON"
)]
fn files_that_are_no_dump_are_explained(#[case] name: &str, #[case] text: &str, #[case] stderr: &str) {
    let run = with_files(&[(name, text)], &["-f", &format!("DIR/{name}")]);
    assert_exit(&run, 2, &[], stderr);
}

#[rstest]
#[case::log("[2026] NCCL: [x", "stdin: document 1, line 1: ", true)]
#[case::table("NAME   READY\na-0    1/1\n", "write the dump with -o yaml or -o json of kubectl get", false)]
#[case::later_line(
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  a: [\n",
    "stdin: document 1, line ",
    false
)]
fn standard_input_is_no_log(#[case] text: &str, #[case] stderr: &str, #[case] is_log: bool) {
    let run = trainmesh(&["diagnose", "-f", "-"], text);
    assert_exit(&run, 2, &[], stderr);
    assert_eq!(run.stderr.contains("a log is read only from a file that is named *.log"), is_log, "{run:#?}");
}

/// The output of a command before a list is reported, and the list is read.
#[rstest]
#[case::yaml("error: the server doesn't have a resource type \"mpijobs\"\n")]
#[case::several_lines(
    "E1128 23:50:01.123456   12345 memcache.go:287] a\nE1128 23:50:02.123456   12345 memcache.go:287] a\n"
)]
fn the_output_of_a_command_before_a_list(#[case] output: &str) {
    let item = DUMP.split("\n---\n").next().unwrap();
    let run = trainmesh(&["diagnose", "-f", "-"], &format!("{output}{item}\n"));
    assert_exit(&run, 2, &["ImagePullFails"], "stdin: document 1, line 1: the line is no part of an object");
    assert_eq!(run.stderr.matches("error: stdin").count(), 1, "{run:#?}");
    assert!(!run.stderr.contains("a log is read only"), "{run:#?}");
}

/// `kubectl get nodes -o yaml > nodes.yaml` without the permission writes an empty file.
#[rstest]
#[case::beside_a_dump(DUMP, "", 1, "nodes.yaml: empty: the command that wrote it may have failed")]
#[case::alone("", "", 2, "files are empty: no Kubernetes object found")]
#[case::empty_list(DUMP, "apiVersion: v1\nkind: List\nitems: []\n", 1, "")]
fn empty_files(#[case] dump: &str, #[case] nodes: &str, #[case] code: i32, #[case] stderr: &str) {
    let run =
        with_files(&[("dump.yaml", dump), ("nodes.yaml", nodes)], &["-f", "DIR/dump.yaml", "-f", "DIR/nodes.yaml"]);
    assert_exit(&run, code, &[], stderr);
    assert_eq!(run.stderr.contains("may have failed"), stderr.contains("may have failed"), "{run:#?}");
}

/// The list of the pods may be missing.
#[rstest]
#[case::without_pods(&[], true)]
#[case::empty_pods(&[("pods.yaml", "")], false)]
fn jobs_without_pods_beside_an_empty_file(#[case] others: &[(&str, &str)], #[case] is_found: bool) {
    let job = r#"{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "llama", "namespace": "team-a",
        "uid": "a", "creationTimestamp": "2026-01-01T11:00:00Z"}, "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2,
        "template": {"spec": {"containers": [{"name": "a"}]}}}}}}"#;
    let run = with_files(&[&[("jobs.json", job)], others].concat(), &["-f", "DIR", "--now", "2026-01-01T12:00:00Z"]);
    assert_eq!(run.stdout.contains("PodsNotCreated"), is_found, "{run:#?}");
}

#[test]
fn empty_standard_input_beside_a_dump() {
    let run = with_files(&[("dump.yaml", DUMP)], &["-f", "DIR/dump.yaml", "-f", "-"]);
    assert_exit(&run, 1, &["ImagePullFails"], "note: stdin: empty: the command that wrote it may have failed");
}

/// A dump that somebody has edited.
#[rstest]
#[case::no_metadata(r#""metadata": {"name": "a", "#, r#""metadat": {"name": "a", "#, 2, "metadata.name is missing")]
#[case::no_name(r#""name": "a", "namespace""#, r#""namespace""#, 2, "metadata.name is missing")]
#[case::number(
    r#""name": "a", "namespace""#,
    r#""name": 1, "namespace""#,
    2,
    "metadata.name: expected a string: quote it"
)]
#[case::time(
    r#""name": "a", "namespace""#,
    r#""name": "a", "creationTimestamp": "yesterday", "namespace""#,
    2,
    "metadata.creationTimestamp: expected a time"
)]
#[case::count(
    r#""state": {"#,
    r#""restartCount": "many", "state": {"#,
    2,
    "stdin: document 1, line 3: status.containerStatuses[0].restartCount: expected a non-negative integer"
)]
#[case::negative_count(
    r#""state": {"#,
    r#""restartCount": -1, "state": {"#,
    2,
    "status.containerStatuses[0].restartCount: expected a non-negative integer"
)]
#[case::no_time(r#""name": "a", "namespace""#, r#""name": "a", "creationTimestamp": null, "namespace""#, 0, "")]
#[case::generated_name(r#""name": "a", "namespace""#, r#""generateName": "a-", "namespace""#, 0, "")]
#[case::number_of_restarts(r#""state": {"#, r#""restartCount": 0, "state": {"#, 0, "")]
fn edited_fields(#[case] from: &str, #[case] to: &str, #[case] code: i32, #[case] stderr: &str) {
    assert_eq!(HEALTHY.matches(from).count(), 1, "{from}");
    let others = r#"{"apiVersion": "v1", "kind": "Config"}"#;
    let run = diagnose(&[], &format!("{}\n{HEALTHY}\n{others}\n", HEALTHY.replace(from, to)));
    assert_exit(&run, code, &["nothing found in "], stderr);
    assert_eq!(run.stderr.contains("error: "), code == 2, "{run:#?}");
}

/// The line is that of the field, and not that of its item.
#[rstest]
#[case::yaml(
    "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n    creationTimestamp: x\nkind: List\n",
    7
)]
#[case::json(
    "{\"apiVersion\": \"v1\", \"items\": [\n{\"apiVersion\": \"v1\", \"kind\": \"Pod\",\n\"metadata\": {\"name\": \"a\",\n\"creationTimestamp\": 1}}\n], \"kind\": \"List\"}\n",
    4
)]
fn a_field_of_an_item_is_located(#[case] list: &str, #[case] line: u64) {
    let error = format!("error: stdin: document 1, line {line}: items[0]: metadata.creationTimestamp: expected a time");
    assert_exit(&diagnose(&[], list), 2, &[], &error);
}

/// The scheduler reports the same about each pod.
#[test]
fn equal_evidence_is_printed_once() {
    let waiting = |name: &str| {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes are available",
            "lastTransitionTime": "2026-01-01T11:00:00Z"});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team-a", "name": name, "uid": name,
            "creationTimestamp": "2026-01-01T11:00:00Z", "labels": {"training.kubeflow.org/job-name": "llama",
            "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": name.rsplit('-').next()}},
            "spec": {"containers": [{"name": "pytorch"}]}, "status": {"phase": "Pending", "conditions": [condition]}})
    };
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [waiting("w-0"), waiting("w-1"), waiting("w-2")]});
    let run = trainmesh(&["diagnose", "-f", "-", "--now", "2026-01-01T12:00:00Z"], &list.to_string());
    assert_exit(
        &run,
        1,
        &[
            "- Pod team-a/w-0: status.conditions[PodScheduled]: Unschedulable: 0/4 nodes are available (60m ago)\n",
            "- the same in Pod team-a/w-1, Pod team-a/w-2\n",
        ],
        "",
    );
    let run = trainmesh(&["diagnose", "-f", "-", "-o", "json", "--now", "2026-01-01T12:00:00Z"], &list.to_string());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["findings"][0]["evidence"].as_array().map(Vec::len), Some(3));
}

/// A healthy dump beside files that are not read is no complete result.
#[rstest]
#[case::compressed_dump("b.yaml.gz", "note: DIR: skipped 1 compressed dump (.gz): decompress with gunzip")]
#[case::compressed_json("b.json.gz", "note: DIR: skipped 1 compressed dump (.gz): decompress with gunzip")]
#[case::another_archive("b.tar.gz", "")]
#[case::log_of_another_name(
    "llama-worker-0.txt",
    "note: DIR: skipped 1 other file (llama-worker-0.txt): a log has to be named *.log"
)]
#[case::hidden_file(".DS_Store", "")]
#[case::subdirectory("sub/b.yml", "note: DIR: skipped 1 subdirectory: add it with -f")]
#[case::hidden_directory(".git/b.yml", "")]
fn files_that_are_not_read_are_noted(#[case] name: &str, #[case] stderr: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
    fs::write(folder.path().join(name), DUMP).unwrap();
    fs::write(folder.path().join("a.yaml"), HEALTHY).unwrap();
    for command in ["diagnose", "inventory"] {
        let run = trainmesh(&[command, "-f", path], "");
        assert_exit(&run, 0, &[], &stderr.replace("DIR", path));
        assert_eq!(run.stderr.contains("skipped"), !stderr.is_empty(), "{run:#?}");
    }
}

#[test]
fn a_directory_without_dumps_names_the_extensions() {
    let run = with_files(&[("a.txt", "")], &["-f", "DIR"]);
    assert_exit(&run, 2, &[], "contains no .yaml, .yml, .json or .log file: specify the files, or the subdirectory");
}

/// The loop of the documentation writes a document for each type, which may be an empty list.
#[test]
fn a_dump_of_several_requests_is_read() {
    let empty = "apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: \"\"\n";
    let run = with_files(
        &[("dump.yaml", &format!("{empty}---\n{DUMP}\n---\n"))],
        &["-f", "DIR/dump.yaml", "--now", "2026-01-01T12:00:00Z"],
    );
    assert_exit(&run, 1, &["2 findings in 2 workloads, 3 pods"], "");
    assert!(run.stderr.is_empty(), "{run:#?}");
}

#[test]
fn overlapping_dumps_are_one() {
    let run = with_files(&[("a.yaml", DUMP), ("b.yaml", DUMP)], &["-f", "DIR"]);
    let note = "note: 3 objects are in the input more than once: the newest version of each counts";
    assert_exit(&run, 1, &["2 findings in 2 workloads, 3 pods at"], note);
}

#[test]
fn a_directory_of_logs_needs_no_dump() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("llama-worker-0.log"), SOCKET).unwrap();
    fs::write(folder.path().join("a__b.log"), "unnamed").unwrap();
    fs::write(folder.path().join("llama-worker-1.log"), "").unwrap();
    let run = trainmesh(&["diagnose", "-f", "-", "-f", folder.path().to_str().unwrap()], &rdma_dump());
    assert_exit(&run, 1, &["RankOnTcp"], "a__b.log: skipped: empty, or not named as in NAMESPACE_POD_CONTAINER.log");
    assert!(run.stderr.contains("llama-worker-1.log: skipped: empty: the container has logged nothing"), "{run:#?}");
}

#[test]
fn prefixed_lines_name_their_containers() {
    let log = format!("[pod/llama-worker-0/pytorch] {SOCKET}");
    let run = with_files(&[("dump.yaml", &rdma_dump()), ("all.log", &log)], &["-f", "DIR"]);
    assert_exit(&run, 1, &["worker-0 uses TCP"], "");
}

#[test]
fn notes_are_no_findings_for_the_exit_code() {
    let run = with_files(&[("dump.yaml", &rdma_dump()), ("llama-worker-0.log", "loss 3.2")], &["-f", "DIR"]);
    assert_exit(&run, 0, &["note ", "NcclDebugUnset"], "");
}

/// The message in a line of JSON is not parsed, but one line of text shows that the program writes both.
#[rstest]
#[case::json("{\"msg\": \"a:1:2 [0] NCCL INFO Using network Socket\"}\n", true)]
#[case::docker("{\"log\": \"a:1:2 [0] NCCL INFO Using network Socket\\n\", \"stream\": \"stdout\"}", true)]
#[case::both("{\"msg\": \"loss 3.2\"}\nloss 3.2\n", false)]
#[case::dictionary("{'loss': 3.2}\n", false)]
fn logs_of_json_are_noted(#[case] log: &str, #[case] is_noted: bool) {
    let run = with_files(&[("dump.yaml", &rdma_dump()), ("llama-worker-0.log", log)], &["-f", "DIR"]);
    assert_eq!(run.stderr.contains("note: 1 of 1 logs consist of JSON"), is_noted, "{run:#?}");
}

/// Returns the pods of [`rdma_dump`], as the apiserver lists them.
fn rdma_pods() -> (&'static str, Value) {
    let list = trainmesh_core::yaml::parse(&rdma_dump()).unwrap();
    let items = list["items"].clone();
    ("/api/v1/namespaces/team-a/pods", json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
}

const WORKER_LOG: &str = "/api/v1/namespaces/team-a/pods/llama-worker-0/log";

#[test]
fn logs_of_a_cluster_are_read() {
    let master = "/api/v1/namespaces/team-a/pods/llama-master-0/log";
    let served = vec![rdma_pods(), version(), (master, "loss 3.2\n".into()), (WORKER_LOG, SOCKET.into())];
    let (run, requests) = in_cluster(served, &["-n", "team-a", "--logs"]);
    assert_exit(&run, 1, &["worker-0 uses TCP", "2 pods, 2 logs"], "");
    assert_eq!(requests.iter().filter(|request| request.ends_with("/log")).count(), 2, "{requests:?}");
}

#[test]
fn logs_are_read_on_request_only() {
    let (run, requests) = in_cluster(vec![rdma_pods(), version(), (WORKER_LOG, SOCKET.into())], &["-n", "team-a"]);
    assert_exit(&run, 0, &["nothing found"], "");
    assert!(!requests.iter().any(|request| request.ends_with("/log")), "{requests:?}");
}

#[test]
fn logs_that_cannot_be_read_are_named() {
    let failed = json!({"kind": "Status", "code": 400, "status": "Failure", "reason": "BadRequest",
        "message": "container \"pytorch\" in pod \"llama-worker-0\" is terminated"});
    let (run, _) = in_cluster(vec![rdma_pods(), version(), (WORKER_LOG, failed)], &["-n", "team-a", "--logs"]);
    assert_exit(&run, 2, &["nothing found"], "note: no logs of namespace team-a: you need get on pods/log there");
    assert_exit(
        &run,
        2,
        &[],
        "note: 1 of 2 logs could not be read: could not read the log of llama-worker-0 at http://",
    );
    assert_exit(&run, 2, &[], " (context test): container \"pytorch\" in pod \"llama-worker-0\" is terminated\n");
    assert_exit(&run, 2, &[], "note: no log was checked: the exit code is 2");
}

#[test]
fn both_ends_of_a_long_log_are_read() {
    let long = format!("{SOCKET}{}", "2026-01-01T11:30:00Z x\n".repeat(100_000));
    let (run, requests) =
        in_cluster(vec![rdma_pods(), version(), (WORKER_LOG, long.into())], &["-n", "team-a", "--logs"]);
    assert_exit(&run, 1, &["worker-0 uses TCP"], "");
    assert_eq!(requests.iter().filter(|request| *request == WORKER_LOG).count(), 2, "{requests:?}");
}

const PODS_PATH: &str = "/api/v1/namespaces/team-a/pods";

/// Returns a response of an apiserver whose store fails.
fn error() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500, "message": "etcd"})
}

/// Deadline of each event of a watch.
const DEADLINE: Duration = Duration::from_mins(1);

/// A running `diagnose --watch`.
struct Watch {
    apiserver: Apiserver,
    child: Child,
    lines: Receiver<String>,
    _folder: TempDir,
}

impl Watch {
    fn start(pods: Value, arguments: &[&str]) -> Self {
        Self::serve(vec![(PODS_PATH, pods), version()], arguments)
    }

    fn serve(objects: Vec<(&'static str, Value)>, arguments: &[&str]) -> Self {
        let apiserver = Apiserver::start(objects);
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_trainmesh"))
            .args(["diagnose", "-n", "team-a", "--watch=1s"])
            .args(arguments)
            .env("KUBECONFIG", apiserver.kubeconfig(folder.path()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { apiserver, child, lines, _folder: folder }
    }

    /// Waits for a line that starts with `start`, and returns the lines before it.
    fn wait_for(&self, start: &str) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let line = self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("no {start:?} after {before:#?}"));
            if line.starts_with(start) {
                return before;
            }
            before.push(line);
        }
    }

    /// Waits until the apiserver has received `count` lists of pods.
    fn wait_for_lists(&self, count: usize) {
        let deadline = Instant::now() + DEADLINE;
        while self.apiserver.requests().iter().filter(|path| **path == PODS_PATH).count() < count {
            assert!(Instant::now() < deadline, "no further diagnosis: {:?}", self.apiserver.requests());
            thread::yield_now();
        }
    }

    /// Interrupts the command as Ctrl-C does. Returns its exit code and the lines that were not awaited.
    fn interrupt(mut self) -> (Option<i32>, Vec<String>) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let code = self.child.wait().unwrap().code();
        (code, self.lines.iter().collect())
    }
}

#[test]
fn a_watch_prints_what_changes() {
    let watch = Watch::start(pods("team-a"), &[]);
    let first = watch.wait_for("1 finding in 1 workload, 2 pods at ");
    assert!(first.iter().any(|line| line.contains("ImagePullFails")), "{first:#?}");
    let text = pods("team-a").to_string();
    watch
        .apiserver
        .replace(PODS_PATH, serde_json::from_str(&text.replace("ImagePullBackOff", "CrashLoopBackOff")).unwrap());
    let second = watch.wait_for("1 finding in 1 workload, 2 pods at ");
    assert!(
        second[1].starts_with("resolved: ImagePullFails: PyTorchJob team-a/llama: worker-0 cannot pull"),
        "{second:#?}"
    );
    assert_eq!(second[2], "appeared:");
    assert!(second.iter().any(|line| line.contains("CrashLoop ")), "{second:#?}");
    watch.apiserver.replace(PODS_PATH, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}));
    let third = watch.wait_for("no findings in 0 workloads, 0 pods at ");
    assert!(third[1].starts_with("resolved: CrashLoop"), "{third:#?}");
    assert_eq!(watch.interrupt(), (Some(0), Vec::new()), "the code of the last result");
}

#[rstest]
#[case::table(&[], "1 finding in ")]
#[case::json(&["-o", "json"], "}")]
#[case::yaml(&["-o", "yaml"], "errors: []")]
fn an_unchanged_result_is_printed_once(#[case] arguments: &[&str], #[case] end: &str) {
    let watch = Watch::start(pods("team-a"), arguments);
    watch.wait_for(end);
    // The third list starts after the second result.
    watch.wait_for_lists(3);
    assert_eq!(watch.interrupt(), (Some(1), Vec::new()));
}

#[test]
fn a_watch_continues_after_a_failure() {
    let watch = Watch::start(pods("team-a"), &[]);
    watch.wait_for("1 finding in 1 workload");
    watch.apiserver.replace(PODS_PATH, error());
    watch.wait_for_lists(3);
    let none = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []});
    watch.apiserver.replace(PODS_PATH, none);
    watch.wait_for("no findings in 0 workloads");
    assert_eq!(watch.interrupt().0, Some(0));
}

/// A finding about an object that cannot be read is not resolved.
#[test]
fn a_watch_keeps_findings_that_it_cannot_check() {
    let jobs = "/apis/batch/v1/namespaces/team-a/jobs";
    let job = json!({"metadata": {"namespace": "team-a", "name": "eval", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"suspend": true, "template": {"spec": {"containers": [{"name": "a", "image": "i"}]}}},
        "status": {"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let list = json!({"kind": "JobList", "apiVersion": "batch/v1", "metadata": {}, "items": [job]});
    let watch = Watch::serve(vec![(PODS_PATH, pods("team-a")), (jobs, list), version()], &[]);
    let first = watch.wait_for("2 findings in ");
    assert!(first.iter().any(|line| line.contains("JobSuspended")), "{first:#?}");
    watch.apiserver.replace(jobs, error());
    watch.wait_for_lists(4);
    assert_eq!(watch.interrupt(), (Some(1), Vec::new()));
}

/// As without `--watch`: a note reports what is missing.
#[rstest]
#[case::logs(("/unused", json!({})), &["--logs"])]
#[case::request(("/api/v1/namespaces/team-a/services", error()), &[])]
fn an_incomplete_watch_fails(#[case] served: (&'static str, Value), #[case] arguments: &[&str]) {
    let watch = Watch::serve(vec![(PODS_PATH, pods("team-a")), served, version()], arguments);
    watch.wait_for("1 finding in 1 workload");
    assert_eq!(watch.interrupt().0, Some(2));
}

#[rstest]
#[case::too_short(&["--watch=999ms"], "expected an interval of 1s to 1h")]
#[case::too_long(&["--watch=61m"], "expected an interval of 1s to 1h")]
#[case::days(&["--watch=1d"], "for '--watch[=<INTERVAL>]': expected an interval of 1s to 1h")]
#[case::no_duration(&["--watch=5"], "expected a duration such as 90s")]
#[case::dump(&["--watch", "-f", "-"], "cannot be used with")]
fn invalid_watches(#[case] arguments: &[&str], #[case] stderr: &str) {
    assert_exit(&trainmesh(&[&["diagnose"], arguments].concat(), ""), 2, &[], stderr);
}

#[test]
fn a_watch_of_a_missing_workload_fails() {
    let served = vec![(PODS_PATH, pods("team-a")), version()];
    let (run, _) = in_cluster(served, &["tfjob", "gpt", "-n", "team-a", "--watch"]);
    assert_exit(&run, 2, &[], "error: no TFJob gpt to diagnose");
    let served = vec![(PODS_PATH, pods("team-a")), version()];
    let (run, _) = in_cluster(served, &["-n", "team-a", "-w", "30s"]);
    assert_exit(&run, 2, &[], "error: no pod 30s to diagnose: for an interval, use --watch=30s");
}
