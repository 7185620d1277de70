//! Training runtimes of `TrainJobs`.

use std::fs;
use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, assert_exit, trainmesh};

const JOB: &str = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: j}\nspec: {runtimeRef: {name: torch-distributed}}\n";
const NOTE: &str = "note: stdin:1: TrainJob: runtime torch-distributed is not in the input: assumed as Kubeflow Trainer v2.3 installs it; \
                    set --runtime FILE";

/// A runtime with one replicated job.
const RUNTIME: &str = "apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: torch
                  resources: {limits: {nvidia.com/gpu: 8}}
";

/// Returns a runtime whose main container has this image.
fn runtime(name: &str, image: &str) -> Value {
    let pod = json!({"spec": {"containers": [{"name": "node", "image": image}]}});
    let labels = json!({"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"});
    let job = json!({"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": pod}}});
    json!({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": name},
        "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [job]}}}})
}

/// Runs a command in an empty folder with runtimes in `own.json` and another object in `pod.json`.
fn run(command: &str, input: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.json"), runtime("torch-distributed", "own:1").to_string()).unwrap();
    fs::write(folder.path().join("pod.json"), json!({"apiVersion": "v1", "kind": "Pod"}).to_string()).unwrap();
    fs::write(folder.path().join("broken.json"), "{").unwrap();
    fs::write(folder.path().join("template.json"), runtime("torch-distributed", "own:${TAG}").to_string()).unwrap();
    fs::write(folder.path().join("typo.yaml"), RUNTIME.replace("resources", "resorces")).unwrap();
    fs::write(folder.path().join("invalid.yaml"), RUNTIME.replace('8', "true")).unwrap();
    let path = |word: &str| {
        let is_file = folder.path().join(word).exists();
        if is_file { folder.path().join(word).display().to_string() } else { word.to_owned() }
    };
    let words: Vec<String> = command.split_whitespace().map(path).collect();
    trainmesh(&words.iter().map(String::as_str).collect::<Vec<_>>(), input)
}

#[rstest]
#[case::assumed("preview -f - -o yaml", JOB, 0, &["image: pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime\n"], NOTE)]
#[case::assumed_in_json("preview -f - -o json", JOB, 0, &[r#""assumedRuntime":{"name":"torch-distributed","trainer":"v2.3"}"#], NOTE)]
#[case::assumed_by_lint("lint -f -", JOB, 0, &["roles: 1;"], NOTE)]
#[case::assumed_in_a_summary_of_lint("lint -f - --summary", JOB, 0, &["roles: 1;"], NOTE)]
#[case::assumed_in_a_summary("preview -f - --summary", JOB, 0, &["1 role"], NOTE)]
#[case::labels_assumed_in_a_summary("preview -f - --summary", JOB, 0, &["1 role"], "note: namespace labels: assumed, because the input has no Namespace: ")]
#[case::another_version("preview -f - -o yaml --runtime v2.1", JOB, 0, &["image: pytorch/pytorch:2.7.1-"], "as Kubeflow Trainer v2.1 installs it")]
#[case::file("preview -f - -o yaml --runtime own.json", JOB, 0, &["image: own:1\n"], "")]
#[case::file_for_lint("lint -f - --runtime own.json", JOB, 0, &["roles: 1;"], "")]
#[case::input("preview -f - -o yaml", &format!("{JOB}---\n{}", runtime("torch-distributed", "input:1")), 0, &["image: input:1\n"], "")]
#[case::file_before_input(
    "preview -f - -o yaml --runtime own.json", &format!("{JOB}---\n{}", runtime("torch-distributed", "input:1")), 0, &["image: own:1\n"], ""
)]
#[case::unknown_runtime(
    "preview -f -", &JOB.replace("torch-distributed", "own"), 2, &[],
    "error: stdin: document 1, line 4: TrainJob: runtime own is not in the input: add its manifest, or set --runtime FILE\n"
)]
#[case::kind_of_a_stock_runtime(
    "preview -f -", &JOB.replace("distributed}", "distributed, kind: TrainingRuntime}"), 2, &[],
    "TrainingRuntime torch-distributed is not in the input; Kubeflow Trainer installs a ClusterTrainingRuntime of this name: set runtimeRef.kind to ClusterTrainingRuntime\n"
)]
#[case::kind_of_a_stock_runtime_of_a_version(
    "lint -f - --runtime v2.0", &JOB.replace("distributed}", "distributed, kind: TrainingRuntime}"), 2, &[],
    "TrainingRuntime torch-distributed is not in the input; Kubeflow Trainer installs a ClusterTrainingRuntime"
)]
#[case::kind_of_a_runtime("preview -f - --runtime own.json", &JOB.replace("distributed}", "distributed, kind: TrainingRuntime}"), 2, &[], "which contains a ClusterTrainingRuntime of this name: set")]
#[case::default_kind(
    "preview -f -", &format!("{}---\n{}", JOB.replace("torch-distributed", "own"), RUNTIME.replace("torch-distributed", "own").replace("ClusterT", "T")), 2, &[],
    "ClusterTrainingRuntime own is not in the input, which contains a TrainingRuntime of this name for TrainJobs in default: set runtimeRef.kind to TrainingRuntime there\n"
)]
#[case::runtime_of_another_namespace(
    "preview -f - -n team", &format!("{}---\n{}", JOB.replace("distributed}", "distributed, kind: TrainingRuntime}"), RUNTIME.replace("ClusterT", "T").replace("{name: torch-distributed}", "{name: torch-distributed, namespace: other}")), 2, &[],
    "TrainingRuntime torch-distributed is not in this namespace, but in other: a TrainJob uses those of its own namespace\n"
)]
#[case::release("preview -f - -o json --runtime v2.2.1", JOB, 0, &[r#""assumedRuntime":{"name":"torch-distributed","trainer":"v2.2"}"#], "")]
#[case::misspelled_stock_runtime("preview -f -", &JOB.replace("torch-distributed", "torch-distribted"), 2, &[], "set --runtime FILE; did you mean torch-distributed?\n")]
#[case::unknown_version("preview -f - --runtime v2.9", JOB, 2, &[], "the runtimes of this version are unknown: use v2.0, v2.1, v2.2, v2.3, or a file")]
#[case::version_without_v("preview -f - --runtime 2.1", JOB, 2, &[], "use v2.1")]
#[case::latest_version("preview -f - --runtime latest", JOB, 2, &[], "use the newest known version, v2.3, or a file")]
#[case::misspelled_runtime(
    "preview -f - --runtime own.json", &JOB.replace("torch-distributed", "torch-distibuted"), 2, &[],
    "line 4: TrainJob: runtime torch-distibuted is not in the input, which contains torch-distributed: did you mean torch-distributed?\n"
)]
#[case::selected_version("preview -f - --runtime v2.1 -o yaml", JOB, 0, &[], "assumed as Kubeflow Trainer v2.1 installs it\n")]
#[case::two_versions("preview -f - --runtime v2.0 --runtime v2.1", JOB, 2, &[], "error: --runtime: both v2.0 and v2.1: set one version\n")]
#[case::no_runtime("preview -f - --runtime pod.json", JOB, 2, &[], "contains no TrainingRuntime and no ClusterTrainingRuntime\n")]
#[case::broken_file("preview -f - --runtime broken.json", JOB, 2, &[], "error: --runtime: ")]
#[case::placeholder("preview -f - --runtime template.json", JOB, 2, &[], "/template.json: document 1, line 1: TrainJob: runtime torch-distributed.spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].image contains the shell placeholder ${TAG}: render the manifest with envsubst, or use --set TAG=VALUE\n")]
#[case::replaced_placeholder("preview -f - -o yaml --runtime template.json --set TAG=9", JOB, 0, &["image: own:9\n"], "")]
#[case::unused_variable("preview -f - -o yaml --runtime own.json --set TAG=9", JOB, 0, &["image: own:1"], "note: --set TAG has no effect: no manifest contains ${TAG} or $TAG\n")]
#[case::placeholder_in_the_input(
    "preview -f -", &format!("{JOB}---\n{}", RUNTIME.replace('8', "\"${GPUS}\"")), 2, &[],
    "error: stdin: document 2, line 23: ClusterTrainingRuntime: spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources.limits.nvidia.com/gpu contains the shell placeholder ${GPUS}: render"
)]
#[case::job_on_a_runtime_with_a_placeholder(
    "lint -f -", &format!("{JOB}---\n{}", RUNTIME.replace('8', "\"${GPUS}\"")), 2, &["roles: 0;"],
    "error: stdin: document 2, line 23: TrainJob: runtime torch-distributed.spec.template.spec.replicatedJobs[0]"
)]
#[case::invalid_runtime("preview -f -", &format!("{JOB}---\n{}", RUNTIME.replace("- name: node\n        t", "- t")), 2, &[], "error: stdin: document 2, line 14: TrainJob: runtime torch-distributed.spec.template.spec.replicatedJobs[0].name is missing\n")]
#[case::finding_in_the_runtime("lint -f - --runtime typo.yaml", JOB, 0, &["/typo.yaml:18 /spec/containers/0/resorces\n"], "")]
#[case::finding_in_the_job("lint -f - --runtime own.json", &JOB.replace("}}", "}, runtimePatches: [{manager: a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {metadata: {labels: {trainmesh.dev/injct: disabled}}}}}}]}}}}]}"), 0, &["stdin:4 /metadata/labels/trainmesh.dev~1injct"], "")]
#[case::invalid_field_of_the_runtime("preview -f - --runtime invalid.yaml --fail-on unknown", JOB, 1, &["/invalid.yaml:18 /spec/containers/0/resources"], "/invalid.yaml:18: TrainJob default/j node: FP049: the apiserver rejects the pod: .spec.containers[0].resources.limits[nvidia.com/gpu] is true")]
#[case::no_file("preview -f - --runtime missing.json", JOB, 2, &[], "does not exist")]
fn runtimes_are_given_or_assumed(
    #[case] command: &str,
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&run(command, input), code, stdout, stderr);
}

/// The fake apiserver rejects dry runs, so the preview exits with 2.
#[rstest]
#[case::of_the_cluster("torch-distributed", "", "image: live:1\n", "")]
#[case::unreadable(
    "deepspeed-distributed",
    "",
    "image: ghcr.io/kubeflow/trainer/deepspeed-runtime\n",
    "note: could not read ClusterTrainingRuntime deepspeed-distributed"
)]
#[case::a_version(
    "deepspeed-distributed",
    "--runtime v2.0",
    "image: ghcr.io/kubeflow/trainer/deepspeed-runtime\n",
    "as Kubeflow Trainer v2.0 installs it"
)]
#[case::namespaced("own", "", "image: team:1\n", "")]
fn runtimes_are_read_from_the_cluster(
    #[case] name: &str,
    #[case] flags: &str,
    #[case] stdout: &str,
    #[case] stderr: &str,
) {
    let apiserver = Apiserver::start(vec![
        (
            "/api/v1/namespaces/default",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}),
        ),
        (
            "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch-distributed",
            runtime("torch-distributed", "live:1"),
        ),
        ("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes/own", runtime("own", "team:1")),
        (
            "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
            json!({"metadata": {"name": "trainmesh-config"}, "data": {}}),
        ),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let kind = if name == "own" { ", kind: TrainingRuntime" } else { "" };
    let job = JOB.replace("torch-distributed", &format!("{name}{kind}"));
    fs::write(folder.path().join("job.yaml"), job).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_trainmesh"))
        .args(["preview", "-f", "job.yaml", "--cluster", "--trainmesh-namespace", "mesh", "-o", "yaml"])
        .args(flags.split_whitespace())
        .current_dir(&folder)
        .env_remove("TRAINMESH_CONFIG")
        .env("KUBECONFIG", apiserver.kubeconfig(folder.path()))
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.contains(stdout) && err.contains(stderr), "{out}\n{err}\n{:?}", apiserver.requests());
}
