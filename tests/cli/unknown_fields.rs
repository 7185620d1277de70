//! Fields, values and kinds that neither Kubernetes nor an operator has.

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

/// A Job, whose pod template has these fields.
fn job(fields: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n\
         {fields}      containers:\n      - {{name: train, image: i}}\n"
    )
}

/// An object of an operator's kind with `spec`, in which TEMPLATE is a pod template.
fn operator(kind: &str, api_version: &str, spec: &str) -> String {
    let spec = spec.replace("TEMPLATE", "template: {spec: {containers: [{name: pytorch, image: i}]}}");
    format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}, spec: {{{spec}}}}}\n")
}

const TRAIN_JOB: &str = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: j}\n\
                         spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 2}, CHANGES}\n";
const OVERRIDES: &str =
    "podTemplateOverrides: [{targetJobs: [{name: node}], metadata: {labels: {trainmesh.dev/inject: disabled}}}]";
const WORKFLOW: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templates:\n  - name: train\n    \
                        container: {image: i, resources: {limits: {nvidia.com/gpu: 8}}}\n";

fn train_job(changes: &str) -> String {
    TRAIN_JOB.replace("CHANGES", changes)
}

#[rstest]
#[case::pod_field("preview -f - --fail-on warning", &job("      nodeSelectr: {a: b}\n"), 1, &["FP049 W PodSpec has no field nodeSelectr: did you mean nodeSelector?"], "")]
#[case::pod_field_in_a_summary("preview -f - --summary --fail-on unknown", &job("      nodeSelectr: {a: b}\n"), 1, &["1 unknown or invalid"], "")]
#[case::pod_field_by_lint("lint -f - --fail-on W", &job("      nodeSelectr: {a: b}\n"), 1, &["FP049 W PodSpec has no field nodeSelectr: did you mean nodeSelector?"], "")]
#[case::value("lint -f -", &job("").replace("Never", "Nevr"), 1, &["FP049 E the apiserver rejects restartPolicy=Nevr: did you mean Never?"], "")]
#[case::workload_field(
    "preview -f - --fail-on warning", &job("").replace("spec:\n  template", "spec:\n  paralelism: 2\n  template"), 1, &[],
    "FP049: Job default/a: spec.paralelism has no effect: JobSpec has no field paralelism: did you mean parallelism?"
)]
#[case::field_of_a_pod_template(
    "lint -f - --fail-on W", &job("").replace("  template:\n", "  template:\n    metdata: {labels: {a: b}}\n"), 1, &[],
    "FP049: Job default/a: spec.template.metdata has no effect: PodTemplateSpec has no field metdata: did you mean metadata?"
)]
#[case::labels_of_an_operators_pod_template(
    "lint -f - --fail-on W", &operator("RayCluster", "ray.io/v1", "headGroupSpec: {TEMPLATE}").replace("template: {", "template: {metadata: {lables: {a: b}}, "), 1, &[],
    "spec.headGroupSpec.template.metadata.lables has no effect: ObjectMeta has no field lables: did you mean labels?"
)]
#[case::field_of_an_operators_role(
    "preview -f - --fail-on unknown", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Master: {replica: 4, TEMPLATE}}"), 1, &[],
    "FP049: PyTorchJob default/a: spec.pytorchReplicaSpecs.Master.replica has no effect: ReplicaSpec has no field replica: did you mean replicas?"
)]
#[case::field_of_a_job_template(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "replicatedJobs: [{name: w, template: {spec: {paralelism: 4, TEMPLATE}}}]"), 1, &[],
    "spec.replicatedJobs[0].template.spec.paralelism has no effect: JobSpec has no field paralelism: did you mean parallelism?"
)]
#[case::field_of_ray(
    "lint -f - --fail-on W", &operator("RayCluster", "ray.io/v1", "headGroupSpec: {TEMPLATE}, workerGroupSpec: []"), 1, &[],
    "spec.workerGroupSpec has no effect: RayClusterSpec has no field workerGroupSpec: did you mean workerGroupSpecs?"
)]
#[case::field_of_a_newer_operator(
    "preview -f - --fail-on unknown,warning", &operator("PyTorchJob", "kubeflow.org/v1", "surprise: 1, pytorchReplicaSpecs: {Master: {replicas: 1, TEMPLATE}}"), 0, &[], ""
)]
#[case::workload_field_by_lint(
    "lint -f - --fail-on W", &job("").replace("metadata: {name: a}", "metadata: {name: a, lables: {a: b}}"), 1, &[],
    "FP049: Job default/a: metadata.lables has no effect: ObjectMeta has no field lables: did you mean labels?"
)]
#[case::null_quantity(
    "lint -f -", &job("").replace("image: i", "image: i, resources: {limits: {nvidia.com/gpu: }}"), 1,
    &["FP049 E .spec.containers[0].resources.limits[nvidia.com/gpu] is null: expected a quantity such as 8 or 4Gi"], ""
)]
#[case::null_quantity_in_a_preview(
    "preview -f - -o explain", &job("").replace("image: i", "image: i, resources: {limits: {nvidia.com/gpu: }}"), 0,
    &["mesh.hold            applied", "is null: expected a quantity"], ""
)]
#[case::pod_field_as_a_cause("preview -f - --summary --fail-on unknown", &job("      nodeSelectr: {a: b}\n"), 1, &[], "failed: unknown: stdin:8: Job default/a: FP049: PodSpec has no field nodeSelectr: did you mean nodeSelector?\n")]
#[case::workload_field_as_a_cause(
    "preview -f - --fail-on unknown", &job("").replace("spec:\n  template", "spec:\n  paralelism: 2\n  template"), 1, &[],
    "failed: unknown: stdin: document 1, line 5: FP049: Job default/a: spec.paralelism has no effect"
)]
#[case::quantity(
    "lint -f -", &job("").replace("image: i", "image: i, resources: {limits: {memory: 64GB}}"), 1,
    &["FP049 E the apiserver rejects the pod: .spec.containers[0].resources.limits.memory is \"64GB\": expected a quantity such as 8 or 4Gi"], ""
)]
#[case::negative_quantity(
    "preview -f - --fail-on unknown", &job("").replace("image: i", "image: i, resources: {limits: {nvidia.com/gpu: -8}}"), 1,
    &["invalid stdin:9 .spec.containers[0].resources.limits[nvidia.com/gpu] is -8: expected a quantity of 0 or more"],
    "failed: unknown: stdin:9: Job default/a: invalid .spec.containers[0].resources.limits[nvidia.com/gpu] is -8"
)]
#[case::known("preview -f - --fail-on warning,unknown", &job("      nodeSelector: {a: b}\n"), 0, &["1 role: 1 changed"], "")]
#[case::pod_without_containers(
    "lint -f -", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {contaners: [{name: a}]}\n", 1,
    &["FP049 E the apiserver rejects a pod without containers", "FP049 W PodSpec has no field contaners: did you mean containers?"], ""
)]
#[case::kind(
    "preview -f - --fail-on unknown", &job("").replace("kind: Job", "kind: Jobs"), 2, &[],
    "error: stdin: document 1, line 1: batch/v1 Jobs does not exist: did you mean Job?\n"
)]
#[case::group("lint -f -", "apiVersion: v1\nkind: Job\n", 2, &[], "v1 Job does not exist: did you mean batch/v1 Job?")]
#[case::misspelled_group("preview -f - --summary", "apiVersion: kubflow.org/v1\nkind: PyTorchJob\n", 2, &[], "kubflow.org/v1 PyTorchJob does not exist: did you mean kubeflow.org/v1 PyTorchJob?")]
#[case::kind_by_lint("lint -f -", "apiVersion: apps/v1\nkind: Deploymnt\n", 2, &[], "apps/v1 Deploymnt does not exist: did you mean Deployment?")]
#[case::nearest_version(
    "preview -f -", "apiVersion: kubeflow.org/v2beta2\nkind: MPIJob\n", 2, &[],
    "kubeflow.org/v2beta2 MPIJob is not supported: use kubeflow.org/v2beta1 MPIJob\n"
)]
#[case::requests_outside_a_template(
    "preview -f - --fail-on unknown", WORKFLOW, 1, &[],
    "argoproj.io/v1alpha1 Workflow is not supported: spec.templates[0].container requests nvidia.com/gpu outside a pod template, so \
     that its pods are not shown"
)]
#[case::no_template(
    "preview -v -f - --fail-on unknown", &WORKFLOW.replace("nvidia.com/gpu", "cpu"), 0, &[],
    "argoproj.io/v1alpha1 Workflow contains no pod template"
)]
#[case::train_job_field(
    "preview -f - --fail-on warning", &train_job("trainr: {}"), 1, &[],
    "FP049: TrainJob default/j: spec.trainr has no effect: TrainJob in Kubeflow Trainer v2.3 has no such field: did you mean trainer?"
)]
#[case::override_of_the_version("preview -f - --fail-on warning", &train_job(OVERRIDES), 0, &["1 role: 1 not opted in"], "as Kubeflow Trainer v2.1 installs it")]
#[case::override_of_another_version(
    "preview -f - --fail-on warning --runtime v2.3", &train_job(OVERRIDES), 1, &["1 role: 1 changed"],
    "spec.podTemplateOverrides has no effect: TrainJob in Kubeflow Trainer v2.3 has no such field: use spec.runtimePatches"
)]
#[case::label_of_another_version(
    "preview -f - --runtime v2.3", &train_job(OVERRIDES), 0, &[],
    "FP045: TrainJob default/j: trainmesh.dev/inject has no effect in .spec.podTemplateOverrides[0].metadata.labels"
)]
fn unknown_names_are_reported(
    #[case] command: &str,
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_exit(&trainmesh(&words, input), code, stdout, stderr);
}
