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
#[case::field_of_a_policy(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "failurePolicy: {maxRestart: 3}, replicatedJobs: [{name: w, template: {spec: {TEMPLATE}}}]"), 1, &[],
    "FP049: JobSet default/a: spec.failurePolicy.maxRestart has no effect: FailurePolicy has no field maxRestart: did you mean maxRestarts?"
)]
#[case::value_of_a_policy(
    "preview -f - --fail-on unknown", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "startupPolicy: {startupPolicyOrder: InOrdr}, replicatedJobs: [{name: w, template: {spec: {TEMPLATE}}}]"), 1, &[],
    "FP049: JobSet default/a: spec.startupPolicy.startupPolicyOrder: unknown value InOrdr: did you mean InOrder?"
)]
#[case::value_of_a_newer_operator(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "startupPolicy: {startupPolicyOrder: ByWeight}, replicatedJobs: [{name: w, template: {spec: {TEMPLATE}}}]"), 0, &[], ""
)]
#[case::value_of_a_leader_worker_set(
    "lint -f - --fail-on W", &operator("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "startupPolicy: LeaderRedy, leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: a, image: i}]}}}"), 1, &[],
    "spec.startupPolicy: unknown value LeaderRedy: did you mean LeaderReady?"
)]
#[case::value_of_a_run_policy(
    "lint -f - --fail-on W", &operator("MPIJob", "kubeflow.org/v2beta1", "runPolicy: {cleanPodPolicy: Runing}, mpiReplicaSpecs: {Launcher: {TEMPLATE}}"), 1, &[],
    "spec.runPolicy.cleanPodPolicy: unknown value Runing: did you mean Running?"
)]
#[case::value_of_a_job(
    "lint -f - --fail-on W", &job("").replace("spec:\n  template", "spec:\n  completionMode: indexed\n  template"), 1, &[],
    "FP049: Job default/a: spec.completionMode: the apiserver rejects completionMode=indexed: did you mean Indexed?"
)]
#[case::value_of_a_job_template(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "replicatedJobs: [{name: w, template: {spec: {completionMode: indexed, TEMPLATE}}}]"), 1, &[],
    "spec.replicatedJobs[0].template.spec.completionMode: the apiserver rejects completionMode=indexed"
)]
#[case::label_of_a_job(
    "lint -f - --fail-on W", &job("").replace("{name: a}", "{name: a, labels: {kueue.x-k8s.io/queue-name: 5}}"), 1, &[],
    "stdin: document 1, line 3: FP049: Job default/a: metadata.labels[kueue.x-k8s.io/queue-name]: the apiserver rejects 5: expected a string; quote it"
)]
#[case::annotation_of_an_operators_kind(
    "preview -f - --fail-on unknown",
    &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Master: {TEMPLATE}}").replace("{name: a}, spec", "{name: a, annotations: {x: [true]}}, spec"), 1, &[],
    "FP049: PyTorchJob default/a: metadata.annotations.x: the apiserver rejects a list: expected a string\n"
)]
#[case::label_of_a_template_of_jobs(
    "lint -f - --fail-on W",
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    metadata: {labels: {x: true}}\n    \
     spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n", 1, &[],
    "line 7: FP049: CronJob default/a: spec.jobTemplate.metadata.labels.x: the apiserver rejects true: expected a string; quote it"
)]
#[case::null_label("lint -f - --fail-on W", &job("").replace("{name: a}", "{name: a, labels: {x: null}}"), 0, &[], "")]
#[case::replica_type(
    "lint -f - --fail-on W", &operator("MPIJob", "kubeflow.org/v2beta1", "mpiReplicaSpecs: {Launcher: {TEMPLATE}, Workers: {TEMPLATE}}"), 1, &[],
    "FP049: MPIJob default/a: spec.mpiReplicaSpecs.Workers has no effect: MPIJob has no field Workers: did you mean Worker?"
)]
#[case::field_beside_a_value_of_a_wrong_type(
    "lint -f -", &operator("PyTorchJob", "kubeflow.org/v1", "nprocPerNode: 8, pytorchReplicaSpecs: {Master: {replica: 4, TEMPLATE}}"), 2, &[],
    "spec.pytorchReplicaSpecs.Master.replica has no effect: ReplicaSpec has no field replica: did you mean replicas?"
)]
#[case::field_of_a_service(
    "lint -f - --fail-on W", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selectors: {app: a}}\n", 1, &[],
    "FP049: Service default/web: spec.selectors has no effect: ServiceSpec has no field selectors: did you mean selector?"
)]
#[case::mode_of_mutual_tls(
    "lint -f - --fail-on W", "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: a}\nspec: {mtls: {mode: strict}}\n", 1, &[],
    "FP049: PeerAuthentication default/a: spec.mtls.mode: unknown value strict: did you mean STRICT?"
)]
#[case::field_of_a_peer_authentication(
    "lint -f - --fail-on W", "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: a}\nspec: {selector: {matchLabel: {app: a}}}\n", 1, &[],
    "spec.selector.matchLabel has no effect: WorkloadSelector has no field matchLabel: did you mean matchLabels?"
)]
#[case::mode_of_a_destination_rule(
    "preview -f - --fail-on unknown", "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a, trafficPolicy: {tls: {mode: ISTIO_MUTAL}}}\n", 1, &[],
    "spec.trafficPolicy.tls.mode: unknown value ISTIO_MUTAL: did you mean ISTIO_MUTUAL?"
)]
#[case::annotation_of_a_namespace(
    "lint -f - --fail-on W", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {trainmesh.dev/fabric: tcp}}\n", 1, &[],
    "FP045: Namespace a: annotation trainmesh.dev/fabric has no effect here: it is a label, set it in metadata.labels"
)]
#[case::field_of_a_volcano_job(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "queu: a, tasks: [{name: w, replica: 2, TEMPLATE}]"), 1, &[],
    "spec.tasks[0].replica has no effect: TaskSpec has no field replica: did you mean replicas?"
)]
#[case::submission_mode_of_ray(
    "lint -f - --fail-on W", &operator("RayJob", "ray.io/v1", "submissionMode: K8SJobMode, rayClusterSpec: {headGroupSpec: {TEMPLATE}}"), 1, &[],
    "spec.submissionMode: unknown value K8SJobMode: did you mean K8sJobMode?"
)]
#[case::no_blank_after_a_colon(
    "lint -f - --fail-on W", &job("").replace("image: i}", "image: i, env: [{name:NCCL_DEBUG, value:INFO}]}"), 1,
    &["FP049 W EnvVar has no field name:NCCL_DEBUG: write a blank after name:"], ""
)]
#[case::new_kind_of_a_group(
    "lint -f -", "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: DisaggregatedSet\nmetadata: {name: a}\n", 0, &["E: 0, W: 0"], ""
)]
#[case::abbreviation_of_a_kind(
    "lint -f -", "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LWS\nmetadata: {name: a}\n", 2, &[],
    "leaderworkerset.x-k8s.io/v1 LWS does not exist: did you mean LeaderWorkerSet?"
)]
#[case::kind_of_istio(
    "lint -f -", "apiVersion: security.istio.io/v1\nkind: PeerAuthentification\nmetadata: {name: a}\n", 2, &[],
    "security.istio.io/v1 PeerAuthentification does not exist: did you mean PeerAuthentication?"
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
    "FP049: TrainJob default/j: spec.trainr has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field: did you mean trainer?"
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

/// The training-operator rejects the replica type, so that it is no field without effect.
#[test]
fn a_rejected_replica_type_has_one_message() {
    let job = operator("MPIJob", "kubeflow.org/v1", "mpiReplicaSpecs: {Launcher: {TEMPLATE}, Workers: {TEMPLATE}}");
    let run = trainmesh(&["preview", "-f", "-", "--summary"], &job);
    assert_exit(&run, 2, &[], "spec.mpiReplicaSpecs.Workers is an unknown replica type: expected Launcher or Worker");
    assert!(!run.stderr.contains("FP049"), "{run:#?}");
}
