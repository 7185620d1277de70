//! Checks of training jobs as a whole, in `trainmesh lint` and `trainmesh preview`.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_core::lint::checks;
use trainmesh_testing::cli::{assert_exit, trainmesh};

/// A job whose label has no effect, and whose group never forms.
const JOB: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: llama
  labels:
    sidecar.istio.io/inject: \"false\"
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: i
            args: [torchrun, --nnodes=4, --rdzv-backend=c10d, '--rdzv-endpoint=rank0:29400', train.py]
";

/// A job with checkpoints on a claim, which the second file defines.
const CLAIM_JOB: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
          containers: [{name: pytorch, image: i}]
";
const CLAIM: &str = "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce]}
";

/// A job whose annotation has no effect.
const ISTIO_JOB: &str = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, annotations: {sidecar.istio.io/inject: 'false'}}, \
                         spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}\n";

const TR007: &str = "TR007 E container pytorch: --nnodes=4, but the job has 2 pods: the group never forms";
const TR006: &str = "warning: stdin: document 1, line 6: TR006: PyTorchJob default/llama: sidecar.istio.io/inject has no effect in \
                     .metadata.labels: move it to .spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n";

#[rstest]
#[case::lint(&["lint", "-f", "-"], 1, &[TR007, "stdin:16 /spec/containers/0/args", "W: 1, I: "])]
#[case::preview(&["preview", "-f", "-"], 0, &[TR007])]
#[case::namespace_that_is_not_opted_in(&["preview", "-f", "-", "--namespace-labels", "a=b"], 0, &[TR007])]
fn findings_are_shown(#[case] arguments: &[&str], #[case] code: i32, #[case] output: &[&str]) {
    assert_exit(&trainmesh(arguments, JOB), code, output, TR006);
}

/// The operator sets the variable, which the manifest does not contain, from the elastic policy.
#[rstest]
#[case::too_many("{minReplicas: 4, maxReplicas: 8}", "", "fix: set elasticPolicy.minReplicas and maxReplicas")]
#[case::too_few("{minReplicas: 1, maxReplicas: 1}", "", "fix: set elasticPolicy.minReplicas and maxReplicas")]
#[case::option("{minReplicas: 4, maxReplicas: 8}", "--nnodes=4, ", "fix: set --nnodes to the number of pods")]
fn the_fix_of_tr007_is_where_the_number_is_set(#[case] policy: &str, #[case] option: &str, #[case] expected: &str) {
    let job = format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec:\n  elasticPolicy: {policy}\n  pytorchReplicaSpecs:\n    \
         Worker: {{replicas: 2, template: {{spec: {{containers: [{{name: pytorch, image: i, command: [torchrun, {option}t.py]}}]}}}}}}\n"
    );
    let run = trainmesh(&["lint", "-f", "-"], &job);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("TR007") && text.contains(expected), "{run:#?}");
}

#[rstest]
#[case::too_many("{minReplicas: 4, maxReplicas: 8}", "stdin:5 /spec/elasticPolicy/minReplicas")]
#[case::too_few("{minReplicas: 1, maxReplicas: 1}", "stdin:5 /spec/elasticPolicy/maxReplicas")]
fn tr007_of_an_elastic_policy_has_its_line(#[case] policy: &str, #[case] expected: &str) {
    let job = format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec:\n  elasticPolicy: {policy}\n  pytorchReplicaSpecs:\n    \
         Worker: {{replicas: 2, template: {{spec: {{containers: [{{name: pytorch, image: i, command: [torchrun, t.py]}}]}}}}}}\n"
    );
    let run = trainmesh(&["lint", "-f", "-"], &job);
    assert!(run.stdout.contains(expected), "{run:#?}");
}

const TRAIN_JOB: &str = "\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, numProcPerNode: 8, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}
";

/// Returns a PyTorchJob with four GPUs in each pod, and this field of its spec.
fn with_four_gpus(field: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec:\n  {field}\n  pytorchReplicaSpecs:\n    Worker: \
         {{replicas: 2, template: {{spec: {{containers: [{{name: pytorch, image: i, command: [torchrun, t.py], \
         resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]}}}}}}\n"
    )
}

/// Only a string may be a word.
#[rstest]
#[case::string(&with_four_gpus("nprocPerNode: '8'"), "nprocPerNode=8", true)]
#[case::number(&with_four_gpus("elasticPolicy: {nProcPerNode: 8, minReplicas: 2, maxReplicas: 2}"), "nProcPerNode=8", false)]
#[case::number_of_a_train_job(TRAIN_JOB, "numProcPerNode=8", false)]
fn tr007_suggests_a_word_where_the_field_may_contain_one(
    #[case] job: &str,
    #[case] setting: &str,
    #[case] suggests_word: bool,
) {
    let run = trainmesh(&["lint", "-f", "-", "--runtime", "v2.3"], job);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    let text = words.join(" ");
    let fix = "fix: set the number of processes of the job to the number of GPUs of the container";
    assert!(text.contains(setting) && text.contains(fix), "{run:#?}");
    assert_eq!(text.contains("container, or to auto"), suggests_word, "{run:#?}");
}

#[test]
fn json_and_sarif_contain_the_findings() {
    let report =
        |format| -> Value { serde_json::from_str(&trainmesh(&["lint", "-f", "-", "-o", format], JOB).stdout).unwrap() };
    let found = &report("json")["results"][0]["lint"][0];
    assert_eq!(
        (&found["id"], &found["line"], &found["link"]),
        (&json!("TR007"), &json!(16), &json!("docs/lint.md#tr007"))
    );
    let results = report("sarif")["runs"][0]["results"].clone();
    let codes: Vec<&str> =
        results.as_array().unwrap().iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(codes, ["TR007", "FP021", "TR006"]);
}

#[test]
fn other_files_of_the_input_are_read() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [("a.yaml", CLAIM_JOB), ("z.yaml", CLAIM)] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let run = trainmesh(&["lint", "-f", directory.path().to_str().unwrap(), "--fail-on", "W"], "");
    assert_exit(&run, 1, &["TR003 W 2 pods use claim data, which is ReadWriteOnce"], "");
    let run = trainmesh(&["lint", "-f", "-", "--fail-on", "W"], CLAIM_JOB);
    assert_exit(&run, 0, &["W: 0"], "");
}

/// A warning about a document is not shown as information.
#[rstest]
#[case::enabled("", 1, &["FP049", "FP045"])]
#[case::disabled("disable: [FP049, FP045]", 0, &[])]
#[case::information("severity: {FP049: I, FP045: I}", 0, &[])]
#[case::error("disable: [FP045], severity: {FP049: E}", 1, &["FP049"])]
fn warnings_about_documents_follow_the_configuration(#[case] lint: &str, #[case] code: i32, #[case] ids: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    let config = format!(
        "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {{lint: {{{lint}}}}}\n"
    );
    fs::write(&path, config).unwrap();
    let manifests = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selectr: {a: b}}}\n---\n\
                     {apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {trainmesh.dev/inject: disabled}}, \
                     spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}\n";
    let run = trainmesh(&["lint", "-f", "-", "--config", path.to_str().unwrap(), "--fail-on", "W"], manifests);
    assert_exit(&run, code, &[], "");
    let found = ["FP049", "FP045"].into_iter().filter(|id| run.stderr.contains(id));
    assert_eq!(found.collect::<Vec<_>>(), ids, "{run:#?}");
}

/// A configured severity applies to warnings about workloads, other objects and `--namespace-labels`.
#[rstest]
#[case::default("", ISTIO_JOB, &[], "TR006:")]
#[case::of_another_check("severity: {FP045: E}", ISTIO_JOB, &[], "TR006:")]
#[case::workload("severity: {TR006: E}", ISTIO_JOB, &[], "TR006 E:")]
#[case::field("severity: {FP049: E}", "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selectr: {a: b}}}\n", &[], "FP049 E:")]
#[case::namespace(
    "severity: {FP045: E}", "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {trainmesh.dev/injct: enabled}}}\n", &[], "FP045 E:"
)]
#[case::flag(
    "severity: {FP045: E}", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: i}]}}\n",
    &["--namespace-labels", "trainmesh.dev/injct=enabled"], "FP045 E:"
)]
fn severities_apply_to_warnings_about_documents(
    #[case] lint: &str,
    #[case] manifest: &str,
    #[case] flags: &[&str],
    #[case] expected: &str,
) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    let config = format!(
        "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {{lint: {{{lint}}}}}\n"
    );
    fs::write(&path, config).unwrap();
    let arguments = [&["lint", "-f", "-", "--config", path.to_str().unwrap()], flags].concat();
    let is_error = expected.contains(" E");
    let (code, counts) = if is_error { (1, "E: 1, W: 0,") } else { (0, "E: 0, W: 1,") };
    let run = trainmesh(&arguments, manifest);
    assert_exit(&run, code, &[counts], expected);
    for (format, pointer, levels) in
        [("json", "/warnings/0/severity", ["W", "E"]), ("sarif", "/runs/0/results/0/level", ["warning", "error"])]
    {
        let run = trainmesh(&[arguments.as_slice(), &["-o", format]].concat(), manifest);
        let output: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(output.pointer(pointer), Some(&json!(levels[usize::from(is_error)])), "{run:#?}");
    }
}

#[test]
fn checks_are_disabled_by_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    let config = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {lint: {disable: [TR006, TR007]}}\n";
    fs::write(&path, config).unwrap();
    let run = trainmesh(&["lint", "-f", "-", "--config", path.to_str().unwrap(), "--fail-on", "W"], JOB);
    assert_exit(&run, 0, &["W: 0"], "");
    assert!(!run.stdout.contains("TR007") && !run.stderr.contains("TR006"), "{run:#?}");
    fs::write(&path, config.replace("TR007", "TR999")).unwrap();
    let run = trainmesh(&["lint", "-f", "-", "--config", path.to_str().unwrap()], JOB);
    let checks = checks();
    let last = |prefix: &str| checks.iter().map(|check| check.id.code()).filter(|code| code.starts_with(prefix)).max();
    let (pods, jobs) = (last("FP").unwrap(), last("TR").unwrap());
    let expected = format!("expected a check from FP001 to {pods} or from TR001 to {jobs}, found \"TR999\"");
    assert_exit(&run, 2, &[], &expected);
}
