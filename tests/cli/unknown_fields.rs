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

/// A template of a resource claim with this request of `version`.
fn claim_template(version: &str, request: &str) -> String {
    format!(
        "apiVersion: resource.k8s.io/{version}\nkind: ResourceClaimTemplate\nmetadata: {{name: gpus}}\nspec:\n  spec:\n    devices:\n      \
         requests:\n      - {{name: gpu, {request}}}\n"
    )
}

/// An object of an operator's kind with `spec`, in which TEMPLATE is a pod template.
fn operator(kind: &str, api_version: &str, spec: &str) -> String {
    let spec = spec.replace("TEMPLATE", "template: {spec: {containers: [{name: pytorch, image: i}]}}");
    format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}, spec: {{{spec}}}}}\n")
}

/// An `AppWrapper` with this manifest.
fn wrapper(component: &str) -> String {
    operator("AppWrapper", "workload.codeflare.dev/v1beta2", &format!("components: [{{template: {component}}}]"))
}

const TRAIN_JOB: &str = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: j}\n\
                         spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 2}, CHANGES}\n";
const OVERRIDES: &str =
    "podTemplateOverrides: [{targetJobs: [{name: node}], metadata: {labels: {trainmesh.dev/inject: disabled}}}]";
const ARGO_RESOURCE: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec:\n  templates:\n  - name: a\n    resource:\n      \
                             action: create\n      manifest: |\n        apiVersion: batch/v1\n        kind: Job\n        metadata: {name: '{{workflow.name}}'}\n";
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
#[case::field_of_a_component(
    "lint -f - --fail-on W", &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {paralelism: 2, completionMode: Index, TEMPLATE}}"), 1, &[],
    "AppWrapper default/a: spec.components[0].template.spec.paralelism has no effect: JobSpec has no field paralelism: did you mean parallelism?"
)]
#[case::metadata_of_an_operators_kind(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {TEMPLATE}}").replace("name: a", "name: a, namspace: b"), 1, &[],
    "line 1: FP049: PyTorchJob default/a: metadata.namspace has no effect: ObjectMeta has no field namspace: did you mean namespace?"
)]
#[case::metadata_of_a_train_job(
    "preview -f - --fail-on unknown", &train_job("").replace("name: j", "name: j, lables: {a: b}"), 1, &[],
    "line 3: FP049: TrainJob default/j: metadata.lables has no effect: ObjectMeta has no field lables: did you mean labels?"
)]
#[case::misspelled_metadata_of_a_namespace(
    "lint -f - --fail-on W", "apiVersion: v1\nkind: Namespace\nmetaata: {name: a}\n", 2, &[],
    "line 3: FP049: Namespace: metaata has no effect: Namespace has no field metaata: did you mean metadata?"
)]
#[case::namespace_without_metadata("preview -f - --fail-on unknown", "apiVersion: v1\nkind: Namespace\n", 2, &[], "metadata.name is missing")]
#[case::namespace_with_metadata_of_null("lint -f -", "apiVersion: v1\nkind: Namespace\nmetadata: null\n", 2, &[], "metadata.name is missing")]
#[case::namespace_with_other_metadata("lint -f -", "apiVersion: v1\nkind: Namespace\nmetadata: abc\n", 2, &[], "metadata is \"abc\": expected an object")]
#[case::namespace_with_a_generated_name("lint -f - --fail-on W", "apiVersion: v1\nkind: Namespace\nmetadata: {generateName: a-}\n", 0, &[], "")]
#[case::misspelled_command(
    "lint -f - --fail-on W", &job("").replace("image: i", "image: i, comand: [sh, -c, 'run ${RANK}']"), 1,
    &["FP049 W Container has no field comand: did you mean command?"], ""
)]
#[case::metadata_of_a_namespace(
    "lint -f - --fail-on W", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, lables: {a: b}}\n", 1, &[],
    "FP049: Namespace a: metadata.lables has no effect: ObjectMeta has no field lables: did you mean labels?"
)]
#[case::field_of_the_object(
    "lint -f -", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "").replace("spec:", "sepc:"), 2, &[],
    "FP049: JobSet default/a: sepc has no effect: JobSet has no field sepc: did you mean spec?"
)]
#[case::status_of_the_object(
    "lint -f -", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {TEMPLATE}}").replace("spec: {pytorch", "status: {}, spec: {pytorch"), 0, &["E: 0, W: 0"], ""
)]
#[case::type_of_a_field(
    "lint -f -", &job("").replace("  template:", "  backoffLimit: \"3\"\n  template:"), 2, &[],
    "error: stdin: document 1, line 5: Job: spec.backoffLimit is \"3\": expected an integer; remove the quotes\n"
)]
#[case::type_of_a_field_in_a_preview(
    "preview -f -", &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {ttlSecondsAfterFinished: 1h, TEMPLATE}}"), 2, &[],
    "spec.components[0].template.spec.ttlSecondsAfterFinished is \"1h\": expected an integer\n"
)]
#[case::accepted_types(
    "preview -f - --fail-on unknown,warning", &job("").replace("  template:", "  backoffLimit: 3.0\n  activeDeadlineSeconds: null\n  template:"), 0, &["1 changed"], ""
)]
#[case::containers_of_an_operators_pod(
    "lint -f -", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {template: {spec: {container: [{name: pytorch}]}}}}"), 2, &[],
    "Worker.template.spec.containers is missing: PodSpec has no field container: did you mean containers?\n"
)]
#[case::name_of_an_operators_container(
    "lint -f -", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {TEMPLATE}}").replace("name: pytorch", "name: PyTorch"), 2, &[],
    "a container named pytorch in spec.pytorchReplicaSpecs.Worker.template.spec.containers is missing: one is named PyTorch: did you mean pytorch?\n"
)]
#[case::field_of_an_operators_container(
    "lint -f -", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs:\n    {Worker: {template: {spec: {containers: [{name: a},\n    {nme: pytorch}]}}}}"), 2, &[],
    "line 3: PyTorchJob: a container named pytorch in spec.pytorchReplicaSpecs.Worker.template.spec.containers is missing: Container has no field nme: did you mean name?\n"
)]
#[case::word_for_a_number_of_processes(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "nprocPerNode: gpuu, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "spec.nprocPerNode: unknown value gpuu: did you mean gpu?"
)]
#[case::device_of_another_vendor(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "nprocPerNode: npu, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 0, &["W: 0"], ""
)]
#[case::variable_twice(
    "lint -f - --fail-on W", &job("").replace("image: i}", "image: i, env: [{name: A, value: x},\n        {name: A, value: z}]}"), 1, &[],
    "warning: stdin: document 1, line 10: Job default/a: variable A is already set on line 9: only the last value takes effect; remove the others\n"
)]
#[case::extended_variable(
    "lint -f - --fail-on W", &job("").replace("image: i}", "image: i, env: [{name: A, value: x}, {name: A, value: $(A)z}]}"), 0, &["W: 0"], ""
)]
#[case::key_of_a_scheduler(
    "lint -f - --fail-on W", &job("").replace("  template:\n", "  template:\n    metadata: {labels: {scheduling.x-k8s.io/podgroup: a}}\n"), 1, &[],
    "line 6: TR006: Job default/a: scheduling.x-k8s.io/podgroup has no effect in .spec.template.metadata.labels: did you mean scheduling.x-k8s.io/pod-group?\n"
)]
#[case::key_of_a_scheduler_in_another_map(
    "lint -f - --fail-on W", &job("").replace("  template:\n", "  template:\n    metadata: {labels: {scheduling.k8s.io/group-name: a}}\n"), 1, &[],
    "scheduling.k8s.io/group-name has no effect in .spec.template.metadata.labels: set the annotation in .spec.template.metadata.annotations\n"
)]
#[case::count_of_a_group_of_kueue(
    "lint -f - --fail-on W", &job("").replace("  template:\n", "  template:\n    metadata: {labels: {kueue.x-k8s.io/pod-group-total-count: '2'}}\n"), 1, &[],
    "kueue.x-k8s.io/pod-group-total-count has no effect in .spec.template.metadata.labels: set the annotation in .spec.template.metadata.annotations\n"
)]
#[case::key_of_a_scheduler_in_both_maps(
    "lint -f - --fail-on W", &job("").replace("  template:\n", "  template:\n    metadata: {labels: {scheduling.k8s.io/group-name: a}, annotations: {scheduling.k8s.io/group-name: a}}\n"),
    0, &["W: 0"], ""
)]
#[case::key_of_kueue_on_the_job(
    "preview -f - --fail-on warning", &job("").replace("{name: a}", "{name: a, labels: {kueue.x-k8s.io/priority-clas: high}}"), 1, &[],
    "kueue.x-k8s.io/priority-clas has no effect in .metadata.labels: did you mean kueue.x-k8s.io/priority-class?"
)]
#[case::other_keys_of_schedulers(
    "lint -f - --fail-on W", &job("      schedulerName: my-scheduler\n").replace("{name: a}", "{name: a, labels: {kueue.x-k8s.io/priority-class: high, kueue.x-k8s.io/new-key: a}}"),
    0, &["W: 0"], ""
)]
#[case::scheduler(
    "lint -f - --fail-on W", &job("      schedulerName: volcnao\n"), 1, &[],
    "line 8: TR006: Job default/a: no scheduler is known to be called volcnao: did you mean volcano?\n"
)]
#[case::scheduler_of_a_volcano_job(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "minAvailable: 1, schedulerName: volcno, tasks: [{name: a, replicas: 1, TEMPLATE}]"), 1, &[],
    "TR006: Job default/a: no scheduler is known to be called volcno: did you mean volcano?\n"
)]
#[case::right_scheduler_of_a_volcano_job(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "minAvailable: 1, schedulerName: volcano, tasks: [{name: a, replicas: 1, TEMPLATE}]"), 0, &["W: 0"], ""
)]
#[case::namespace_of_an_app_wrapper(
    "lint -f -", &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {TEMPLATE}}").replacen("metadata: {name: a}", "metadata: {name: a, namespace: 5}", 1), 2, &[],
    "AppWrapper: metadata.namespace is 5: expected a string; quote it"
)]
#[case::app_wrapper_without_a_name(
    "lint -f -", &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {TEMPLATE}}").replacen("metadata: {name: a}", "metadata: {labels: {a: b}}", 1), 2, &[],
    "AppWrapper: metadata.name is missing"
)]
#[case::misspelled_components(
    "lint -f -", &operator("AppWrapper", "workload.codeflare.dev/v1beta2", "compoents: []"), 2, &[],
    "AppWrapper: spec.components is missing: AppWrapperSpec has no field compoents: did you mean components?"
)]
#[case::amount_of_a_claim(
    "lint -f -", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {resources: {requests: {storage: 1TB}}}\n", 1, &[],
    "line 4: FP049 E: PersistentVolumeClaim default/a: spec.resources.requests.storage: the apiserver rejects \"1TB\": expected a quantity such as 8 or 4Gi"
)]
#[case::placeholder_in_a_claim(
    "lint -f -", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {resources: {requests: {storage: '${SIZE}'}}}\n", 2, &[],
    "line 4: PersistentVolumeClaim: spec.resources.requests.storage contains the shell placeholder ${SIZE}: render the manifest with envsubst, or \
     use --set SIZE=VALUE"
)]
#[case::copied_field_of_a_ray_worker(
    "lint -f - --fail-on W",
    &operator(
        "RayCluster", "ray.io/v1",
        "headGroupSpec: {TEMPLATE}, workerGroupSpecs: [{groupName: gpu, replicas: 1, template: {spec: {containers: [{name: a, image: i, \
         volumeMounts: [{name: d, mountPath: /d, mounPath: /d}]}], volumes: [{name: d, emptyDir: {}}]}}}]"
    ),
    1, &["FP049 W VolumeMount has no field mounPath: did you mean mountPath?", "W: 1,"], ""
)]
#[case::init_container_of_a_ray_worker_with_the_name_of_kuberays(
    "lint -f - --fail-on W",
    &operator(
        "RayCluster", "ray.io/v1",
        "headGroupSpec: {TEMPLATE}, workerGroupSpecs: [{groupName: gpu, replicas: 1, template: {spec: {initContainers: [{name: wait-gcs-ready, \
         image: i, comand: [a]}], containers: [{name: a, image: i}]}}}]"
    ),
    1, &["FP049 W Container has no field comand: did you mean command?", "W: 1,"], ""
)]
#[case::init_container_with_the_name_of_kuberays(
    "lint -f -",
    &job("      initContainers: [{name: wait-gcs-ready, image: i, resources: {limits: {memory: 64GB}}}]\n")
        .replace("name: train, image: i", "name: train, image: i, resources: {limits: {memory: 32GB}}"),
    1, &[".spec.initContainers[0].resources.limits.memory is \"64GB\"", ".spec.containers[0].resources.limits.memory is \"32GB\""], ""
)]
#[case::restart_policy_that_a_job_set_overwrites(
    "lint -f -",
    &operator(
        "JobSet", "jobset.x-k8s.io/v1alpha2",
        "replicatedJobs: [{name: a, template: {spec: {template: {spec: {restartPolicy: 5, containers: [{name: a, image: i}]}}}}}]"
    ),
    1, &["FP049 E the apiserver rejects the pod: .spec.restartPolicy is 5: expected a string; quote it"], ""
)]
#[case::restart_policy_that_an_operator_overwrites(
    "lint -f -",
    &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {template: {spec: {restartPolicy: 7, containers: [{name: pytorch, image: i}]}}}}"),
    1, &["FP049 E the apiserver rejects the pod: .spec.restartPolicy is 7: expected a string; quote it"], ""
)]
#[case::restart_policy_of_a_job(
    "lint -f -", &job("").replace("Never", "Always"), 1, &[],
    "warning: stdin: document 1, line 7: FP049 E: Job default/a: spec.template.spec.restartPolicy: the apiserver rejects a Job with restartPolicy=Always"
)]
#[case::restart_policy_of_kubeflow(
    "lint -f -",
    &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {restartPolicy: ExitCodes, TEMPLATE}}"),
    1, &["FP049 E the apiserver rejects pods with restartPolicy=ExitCodes: did you mean ExitCode?"], ""
)]
#[case::distant_restart_policy_of_kubeflow(
    "lint -f -",
    &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {restartPolicy: Rerun, TEMPLATE}}"),
    1, &["restartPolicy=Rerun: expected Always, OnFailure, Never or ExitCode"], ""
)]
#[case::toleration_of_a_daemon_set(
    "lint -f -",
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec:\n  selector: {}\n  template:\n    spec:\n      tolerations:\n      \
     - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: abc}\n      containers: [{name: a, image: i}]\n",
    1, &["is \"abc\": expected an integer"], ""
)]
#[case::unit_of_memory(
    "lint -f - --fail-on W", &job("").replace("image: i}", "image: i, resources: {requests: {memory: 100m}}}"), 1,
    &["FP049 W container train: memory in requests is \"100m\": that is a fraction of a byte"], ""
)]
#[case::part_of_a_huge_page(
    "lint -f -", &job("").replace("image: i}", "image: i, resources: {limits: {memory: 1Gi, hugepages-2Mi: 5121Mi}}}"), 1,
    &["FP049 E container train: the apiserver rejects the pod: hugepages-2Mi in limits is \"5121Mi\": expected a multiple of 2Mi"], ""
)]
#[case::value_of_a_component(
    "lint -f - --fail-on W", &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completionMode: Index, TEMPLATE}}"), 1, &[],
    "spec.components[0].template.spec.completionMode: the apiserver rejects completionMode=Index: did you mean Indexed?"
)]
#[case::operators_field_of_a_component(
    "preview -f - --fail-on unknown", &wrapper("{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j}, spec: {runPolcy: {}, pytorchReplicaSpecs: {Worker: {TEMPLATE}}}}"), 1, &[],
    "spec.components[0].template.spec.runPolcy has no effect: PyTorchJobSpec has no field runPolcy: did you mean runPolicy?"
)]
#[case::kind_of_a_component(
    "preview -f -", &wrapper("{apiVersion: batch/v1, kind: Jobs, metadata: {name: j}}"), 2, &[], "batch/v1 Jobs does not exist: did you mean Job?"
)]
#[case::level_of_a_policy(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "backoffLimit: 3, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "spec.backoffLimit has no effect: PyTorchJobSpec has no field backoffLimit: did you mean spec.runPolicy.backoffLimit?"
)]
#[case::two_levels(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "minAvailable: 3, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "did you mean spec.runPolicy.schedulingPolicy.minAvailable?"
)]
#[case::level_in_a_policy(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "runPolicy: {minAvailable: 3}, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "spec.runPolicy.minAvailable has no effect: RunPolicy has no field minAvailable: did you mean spec.runPolicy.schedulingPolicy.minAvailable?"
)]
#[case::level_of_a_job(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "replicatedJobs: [{name: w, parallelism: 2, template: {spec: {TEMPLATE}}}]"), 1, &[],
    "ReplicatedJob has no field parallelism: did you mean spec.replicatedJobs[0].template.spec.parallelism?"
)]
#[case::level_of_a_pod(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {nodeSelector: {a: b}, TEMPLATE}}"), 1, &[],
    "did you mean spec.pytorchReplicaSpecs.Worker.template.spec.nodeSelector?"
)]
#[case::level_above(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "replicatedJobs: [{name: w, startupPolicy: {}, template: {spec: {TEMPLATE}}}]"), 1, &[],
    "did you mean spec.startupPolicy?"
)]
#[case::unknown_on_every_level(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "brandNew: 3, type: a, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 0, &["W: 0"], ""
)]
#[case::resource_without_domain("lint -f -", &job("").replace("image: i", "image: i, resources: {limits: {gpu: 8}}"), 1, &["FP049 E the apiserver rejects the resource gpu: did you mean nvidia.com/gpu?"], "")]
#[case::misspelled_resource("lint -f -", &job("").replace("image: i", "image: i, resources: {limits: {memroy: 9Gi}}"), 1, &["the resource memroy: did you mean memory?"], "")]
#[case::cpus("lint -f -", &job("").replace("image: i", "image: i, resources: {requests: {cpus: 4}}"), 1, &["the resource cpus: did you mean cpu?"], "")]
#[case::huge_pages("lint -f -", &job("").replace("image: i", "image: i, resources: {limits: {hugepage-2Mi: 1Gi}}"), 1, &["the resource hugepage-2Mi: did you mean hugepages-2Mi?"], "")]
#[case::unknown_resource("lint -f -", &job("").replace("image: i", "image: i, resources: {limits: {rdma: 1}}"), 1, &["the resource rdma: devices have a domain, such as nvidia.com/gpu"], "")]
#[case::domain_without_a_dot("lint -f - --fail-on W", &job("").replace("image: i", "image: i, resources: {limits: {nvidia/gpu: 8}}"), 1, &["FP049 W no device plugin is known to provide nvidia/gpu: did you mean nvidia.com/gpu?"], "")]
#[case::partition("lint -f - --fail-on W", &job("").replace("image: i", "image: i, resources: {limits: {nvidia.com/mig-1g.10gbb: 1}}"), 1, &["nvidia.com/mig-1g.10gbb: did you mean nvidia.com/mig-1g.10gb?"], "")]
#[case::resources_of_the_pod("lint -f -", &job("      resources: {limits: {cpu: 8, nvidia.com/gpu: 8}}\n"), 1, &["the apiserver rejects nvidia.com/gpu in the resources of a pod"], "")]
#[case::standard_resources("lint -f - --fail-on W", &job("").replace("image: i", "image: i, resources: {limits: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi, hugepages-2Mi: 2Mi, nvidia.com/mig-1g.10gb.me: 1, a.b/gpu: 1}}"), 0, &["W: 0"], "")]
#[case::node_affinity(
    "lint -f -",
    &job("      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: in, values: [b]}]}]}}}\n"),
    1, &["FP049 E the apiserver rejects operator=in: did you mean In?"], ""
)]
#[case::spread("lint -f -", &job("      topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotScheduled}]\n"), 1, &["rejects whenUnsatisfiable=DoNotScheduled: did you mean DoNotSchedule?"], "")]
#[case::medium("lint -f -", &job("      volumes: [{name: shm, emptyDir: {medium: memory}}]\n"), 1, &["FP049 E the kubelet rejects medium=memory: did you mean Memory?"], "")]
#[case::rollout_strategy(
    "lint -f - --fail-on W", &operator("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "rolloutStrategy: {type: RollingUpdat}, leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {containers: [{name: a, image: i}]}}}"), 1, &[],
    "spec.rolloutStrategy.type: unknown value RollingUpdat: did you mean RollingUpdate?"
)]
#[case::action_of_volcano(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "policies: [{action: RestartJobs, events: [PodEvicted]}], tasks: [{name: w, replicas: 2, TEMPLATE}]"), 1, &[],
    "spec.policies[0].action: unknown value RestartJobs: did you mean RestartJob?"
)]
#[case::events_of_volcano(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "policies: [{action: RestartJob, events: [PodEvictd]}], tasks: [{name: w, replicas: 2, TEMPLATE}]"), 1, &[],
    "spec.policies[0].events: unknown value PodEvictd: did you mean PodEvicted?"
)]
#[case::volume_of_volcano(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "volumes: [{mounPath: /data, mountPath: /data, volumeClaimName: c}], tasks: [{name: w, replicas: 2, TEMPLATE}]"), 1, &[],
    "spec.volumes[0].mounPath has no effect: VolumeSpec has no field mounPath: did you mean mountPath?"
)]
#[case::new_field_of_a_volume(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "volumes: [{mountPath: /data, volumeClaimName: c, generateName: a}], tasks: [{name: w, replicas: 2, TEMPLATE}]"), 0, &["W: 0"], ""
)]
#[case::rendezvous_of_a_kubeflow_job(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "elasticPolicy: {rdzvConf: [{key: timeout, vaue: '5'}]}, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "spec.elasticPolicy.rdzvConf[0].vaue has no effect: RDZVConf has no field vaue: did you mean value?"
)]
#[case::metric_of_a_kubeflow_job(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "elasticPolicy: {metrics: [{tye: Resource}]}, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "spec.elasticPolicy.metrics[0].tye has no effect: MetricSpec has no field tye: did you mean type?"
)]
#[case::plugin_of_volcano(
    "lint -f - --fail-on W", &operator("Job", "batch.volcano.sh/v1alpha1", "plugins: {svcs: []}, tasks: [{name: w, replicas: 2, TEMPLATE}]"), 1, &[],
    "spec.plugins.svcs has no effect: the controller's set of plugins has no field svcs: did you mean svc?"
)]
#[case::workload_field(
    "preview -f - --fail-on warning", &job("").replace("spec:\n  template", "spec:\n  paralelism: 2\n  template"), 1, &[],
    "FP049: Job default/a: spec.paralelism has no effect: JobSpec has no field paralelism: did you mean parallelism?"
)]
#[case::access_mode(
    "lint -f -", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteMny]\n", 1, &[],
    "document 1, line 5: FP049 E: PersistentVolumeClaim default/data: spec.accessModes: the apiserver rejects accessModes=ReadWriteMny: did you mean \
     ReadWriteMany?"
)]
#[case::allocation_mode(
    "lint -f -", &claim_template("v1", "exactly: {deviceClassName: a, allocationMode: Exact}"), 1, &[],
    "requests[0].exactly.allocationMode: the apiserver rejects allocationMode=Exact: did you mean ExactCount?"
)]
#[case::last_part_of_a_value(
    "lint -f -", &job("").replace("image: i", "image: i, env: [{name: A, valueFrom: {fieldRef: {fieldPath: podIP}}}]"), 1,
    &["FP049 E the apiserver rejects fieldPath=podIP: did you mean status.podIP?"], ""
)]
#[case::start_of_several_values(
    "lint -f -", &job("").replace("image: i", "image: i, env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec}}}]"), 1,
    &["FP049 E the apiserver rejects fieldPath=spec: expected metadata.name, "], ""
)]
#[case::reason_of_a_job_set(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "failurePolicy: {rules: [{action: FailJobSet, onJobFailureReasons: [PodFailurPolicy]}]}, replicatedJobs: [{name: w, template: {spec: {TEMPLATE}}}]"), 1, &[],
    "spec.failurePolicy.rules[0].onJobFailureReasons: unknown value PodFailurPolicy: did you mean PodFailurePolicy?"
)]
#[case::upgrade_strategy_of_ray(
    "lint -f - --fail-on W", &operator("RayCluster", "ray.io/v1", "headGroupSpec: {serviceType: ClusterIp, TEMPLATE}, upgradeStrategy: {type: Recreat}"), 1, &[],
    "spec.upgradeStrategy.type: unknown value Recreat: did you mean Recreate?"
)]
#[case::field_behind_a_wrong_type(
    "lint -f - --fail-on W", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  clusterIPs: None\n  ipFamilyPolcy: SingleStack\n  sessionAffinityConfig: {clientIp: {}}\n", 2, &[],
    "spec.sessionAffinityConfig.clientIp has no effect: SessionAffinityConfig has no field clientIp: did you mean clientIP?"
)]
#[case::field_of_a_claim(
    "preview -f - --fail-on unknown", &claim_template("v1", "exactly: {deviceClassName: a, cuont: 8}"), 1, &[],
    "warning: stdin: document 1, line 8: FP049: ResourceClaimTemplate default/gpus: spec.spec.devices.requests[0].exactly.cuont has no effect: \
     ExactDeviceRequest has no field cuont: did you mean count?\n"
)]
#[case::request_of_a_claim(
    "lint -f - --fail-on W", &claim_template("v1beta2", "exacly: {deviceClassName: a}"), 1, &[],
    "requests[0].exacly has no effect: DeviceRequest has no field exacly: did you mean exactly?\n"
)]
#[case::claim_of_v1beta1("lint -f - --fail-on W", &claim_template("v1beta1", "deviceClassName: a, count: 8"), 0, &[], "")]
#[case::type_in_a_claim(
    "lint -f -", &claim_template("v1", "exactly: {deviceClassName: a, count: eight}"), 2, &[],
    "document 1, line 8: ResourceClaimTemplate: spec.spec.devices.requests[0].exactly.count is \"eight\": expected a whole number\n"
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
    "FP049 E: Job default/a: spec.completionMode: the apiserver rejects completionMode=indexed: did you mean Indexed?"
)]
#[case::rejected_value_of_a_job(
    "lint -f -", &job("").replace("spec:\n  template", "spec:\n  completionMode: indexed\n  template"), 1, &["E: 1, W: 0,"],
    "FP049 E: Job default/a: spec.completionMode: the apiserver rejects completionMode=indexed: did you mean Indexed?"
)]
#[case::unknown_field_of_a_job("lint -f -", &job("").replace("spec:\n  template", "spec:\n  paralelism: 2\n  template"), 0, &["E: 0, W: 1,"], "FP049: Job")]
#[case::value_of_a_job_template(
    "lint -f - --fail-on W", &operator("JobSet", "jobset.x-k8s.io/v1alpha2", "replicatedJobs: [{name: w, template: {spec: {completionMode: indexed, TEMPLATE}}}]"), 1, &[],
    "spec.replicatedJobs[0].template.spec.completionMode: the apiserver rejects completionMode=indexed"
)]
#[case::label_of_a_job(
    "lint -f - --fail-on W", &job("").replace("{name: a}", "{name: a, labels: {kueue.x-k8s.io/queue-name: 5}}"), 1, &[],
    "stdin: document 1, line 3: FP049 E: Job default/a: metadata.labels[kueue.x-k8s.io/queue-name]: the apiserver rejects 5: expected a string; quote it"
)]
#[case::annotation_of_an_operators_kind(
    "preview -f - --fail-on unknown",
    &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Master: {TEMPLATE}}").replace("{name: a}, spec", "{name: a, annotations: {x: [true]}}, spec"), 1, &[],
    "FP049 E: PyTorchJob default/a: metadata.annotations.x: the apiserver rejects a list: expected a string\n"
)]
#[case::label_of_a_template_of_jobs(
    "lint -f - --fail-on W",
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    metadata: {labels: {x: true}}\n    \
     spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n", 1, &[],
    "line 7: FP049 E: CronJob default/a: spec.jobTemplate.metadata.labels.x: the apiserver rejects true: expected a string; quote it"
)]
#[case::labels_that_are_no_mapping(
    "lint -f - --fail-on W", &job("").replace("{name: a}", "{name: a, labels: kueue.x-k8s.io/queue-name=q}"), 1, &[],
    "line 3: FP049 E: Job default/a: metadata.labels: the apiserver rejects \"kueue.x-k8s.io/queue-name=q\": expected a mapping\n"
)]
#[case::annotations_that_are_no_mapping(
    "preview -f - --summary --fail-on unknown", &operator("PyTorchJob", "kubeflow.org/v1", "pytorchReplicaSpecs: {Worker: {TEMPLATE}}").replace("{name: a}", "{name: a, annotations: [a]}"), 1, &[],
    "FP049 E: PyTorchJob default/a: metadata.annotations: the apiserver rejects a list: expected a mapping\n"
)]
#[case::metadata_that_is_no_mapping(
    "lint -f - --fail-on W",
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    metadata: x\n    \
     spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n", 1, &[],
    "line 7: FP049 E: CronJob default/a: spec.jobTemplate.metadata: the apiserver rejects \"x\": expected a mapping\n"
)]
#[case::parameter_of_ray(
    "lint -f -", &operator("RayCluster", "ray.io/v1", "headGroupSpec: {rayStartParams: {num-gpus: 0}, TEMPLATE}"), 2, &[],
    "spec.headGroupSpec.rayStartParams.num-gpus is 0: expected a string; quote it"
)]
#[case::parameters_of_ray(
    "lint -f -",
    &operator("RayCluster", "ray.io/v1", "headGroupSpec: {TEMPLATE}, workerGroupSpecs: [{groupName: a, rayStartParams: [num-gpus], TEMPLATE}]"), 2, &[],
    "spec.workerGroupSpecs[0].rayStartParams is [\"num-gpus\"]: expected an object"
)]
#[case::resources_of_the_autoscaler(
    "lint -f -",
    &operator("RayCluster", "ray.io/v1", "enableInTreeAutoscaling: true, autoscalerOptions: {resources: {limits: {memory: []}}}, headGroupSpec: {TEMPLATE}"), 2, &[],
    "spec.autoscalerOptions.resources.limits.memory is []: expected a quantity such as 8 or 4Gi"
)]
#[case::mount_path_of_a_volcano_job(
    "lint -f -",
    &operator("Job", "batch.volcano.sh/v1alpha1", "volumes: [{mountPath: 5, volumeClaimName: c}], tasks: [{name: w, replicas: 1, TEMPLATE}]"), 2, &[],
    "spec.volumes[0].mountPath is 5: expected a string; quote it"
)]
#[case::secret_of_an_initializer(
    "lint -f -", &train_job("initializer: {dataset: {secretRef: {name: 5}}}").replace("torch-distributed", "torchtune-llama3.2-1b"), 2, &[],
    "spec.initializer.dataset.secretRef.name is 5: expected a string; quote it"
)]
#[case::list_without_items("lint -f -", "apiVersion: v1\nkind: List\nitem: []\n", 2, &[], "line 3: `items` of the List is missing, but it has `item`: did you mean items?")]
#[case::container_of_a_component(
    "lint -f -",
    "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec:\n  components:\n  - template:\n      \
     apiVersion: kubeflow.org/v1\n      kind: PyTorchJob\n      metadata: {name: b}\n      spec:\n        pytorchReplicaSpecs:\n          \
     Worker: {template: {spec: {containers: [{name: x, image: i}]}}}\n", 2, &[],
    "line 12: AppWrapper: a container named pytorch in spec.components[0].template.spec.pytorchReplicaSpecs.Worker.template.spec.containers is missing"
)]
#[case::misspelled_adapter(
    "lint -f - --fail-on W", &job("").replace("image: i", "image: i, resources: {limits: {vpc.amazonaws.com/efas: 32}}"), 1,
    &["no device plugin is known to provide vpc.amazonaws.com/efas: did you mean vpc.amazonaws.com/efa?"], ""
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
#[case::pod_without_a_name(
    "lint -f -", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: i}]}\n", 0, &[],
    "stdin: document 1, line 1: FP049: Pod in default: metadata.name is missing: kubectl create requires it\n"
)]
#[case::reviewed_pod_without_a_name(
    "lint -f - --fail-on W",
    "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {object: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: i}]}}}\n",
    0, &["W: 0"], ""
)]
#[case::pod_with_a_generated_name(
    "lint -f - --fail-on W", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\nspec: {containers: [{name: a, image: i}]}\n", 0, &["W: 0"], ""
)]
#[case::groups_of_a_ray_service(
    "lint -f - --fail-on W", &operator("RayService", "ray.io/v1", "rayClusterConfig: {headGroupSpec: {TEMPLATE}, workerGroupSpec: []}"), 1, &[],
    "spec.rayClusterConfig.workerGroupSpec has no effect: RayClusterSpec has no field workerGroupSpec: did you mean workerGroupSpecs?"
)]
#[case::level_of_a_ray_service(
    "lint -f - --fail-on W", &operator("RayService", "ray.io/v1", "workerGroupSpecs: [], rayClusterConfig: {headGroupSpec: {TEMPLATE}}"), 1, &[],
    "RayServiceSpec has no field workerGroupSpecs: did you mean spec.rayClusterConfig.workerGroupSpecs?"
)]
#[case::field_of_hyperpod(
    "lint -f - --fail-on W", &operator("HyperPodPyTorchJob", "sagemaker.amazonaws.com/v1", "replicaSpecs: [{name: a, replica: 2, TEMPLATE}]"), 1, &[],
    "spec.replicaSpecs[0].replica has no effect: ReplicaSpec has no field replica: did you mean replicas?"
)]
#[case::template_of_hyperpod(
    "lint -f - --fail-on W",
    &operator("HyperPodPyTorchJob", "sagemaker.amazonaws.com/v1", "replicaSpecs: [{name: a, TEMPLATE}]").replace("{spec: {con", "{meatdata: {}, spec: {con"),
    1, &[],
    "spec.replicaSpecs[0].template.meatdata has no effect: PodTemplateSpec has no field meatdata: did you mean metadata?"
)]
#[case::field_of_an_app_wrapper(
    "lint -f - --fail-on W",
    &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {TEMPLATE}}").replace("components", "suspended: true, components"),
    1, &[], "spec.suspended has no effect: AppWrapperSpec has no field suspended: did you mean suspend?"
)]
#[case::pod_sets_of_an_app_wrapper(
    "lint -f - --fail-on W",
    &wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {TEMPLATE}}").replace("{template: {apiVersion", "{podSet: [], template: {apiVersion"),
    1, &[], "spec.components[0].podSet has no effect: AppWrapperComponent has no field podSet: did you mean podSets?"
)]
#[case::field_of_an_elastic_job(
    "lint -f - --fail-on W",
    &operator("ElasticJob", "elastic.iml.github.io/v1alpha1", "replicaSpecs: {worker: {replica: 2, TEMPLATE}}").replace("pytorch", "main"),
    1, &[], "spec.replicaSpecs.worker.replica has no effect: ReplicaSpec has no field replica: did you mean replicas?"
)]
#[case::field_of_a_runtime(
    "lint -f - --fail-on W",
    &operator("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", "mlPolcy: {numNodes: 1, torch: {}}, template: {spec: {replicatedJobs: []}}"),
    1, &[], "FP049: ClusterTrainingRuntime a: spec.mlPolcy has no effect: TrainingRuntimeSpec has no field mlPolcy: did you mean mlPolicy?"
)]
#[case::policy_of_torch(
    "lint -f - --fail-on W",
    &operator("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", "mlPolicy: {torch: {numProcPerNod: auto}}, template: {spec: {replicatedJobs: []}}"),
    1, &[], "FP049: ClusterTrainingRuntime a: spec.mlPolicy.torch.numProcPerNod has no effect: TorchMLPolicySource has no field numProcPerNod: did you mean numProcPerNode?"
)]
#[case::elastic_policy_of_torch(
    "lint -f - --fail-on W",
    &operator("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", "mlPolicy: {torch: {elasticPolicy: {minNode: 1, maxRestarts: 3}}}, template: {spec: {replicatedJobs: []}}"),
    1, &[], "spec.mlPolicy.torch.elasticPolicy.minNode has no effect: TorchElasticPolicy has no field minNode: did you mean minNodes?"
)]
#[case::timeout_of_a_pod_group(
    "lint -f - --fail-on W",
    &operator("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", "podGroupPolicy: {coscheduling: {scheduleTimeoutSecond: 1}}, template: {spec: {replicatedJobs: []}}"),
    1, &[], "has no field scheduleTimeoutSecond: did you mean scheduleTimeoutSeconds?"
)]
#[case::job_of_a_runtime(
    "lint -f - --fail-on W",
    &operator("TrainingRuntime", "trainer.kubeflow.org/v1alpha1", "template: {spec: {replicatedJobs: [{name: node, template: {spec: {paralelism: 1, TEMPLATE}}}]}}"),
    1, &[], "spec.template.spec.replicatedJobs[0].template.spec.paralelism has no effect: JobSpec has no field paralelism: did you mean parallelism?"
)]
#[case::field_of_a_clique(
    "lint -f - --fail-on W",
    &operator("PodCliqueSet", "grove.io/v1alpha1", "replicas: 1, template: {cliques: [{name: a, spec: {roleName: a, replica: 2, podSpec: {containers: [{name: a, image: i}]}}}]}"),
    1, &[], "spec.template.cliques[0].spec.replica has no effect: PodCliqueSpec has no field replica: did you mean replicas?"
)]
#[case::name_of_a_variable_as_a_key(
    "lint -f -", &job("").replace("image: i}", "image: i, env: [{NCCL_DEBUG: INFO}]}"), 1,
    &["FP049 E EnvVar has no field NCCL_DEBUG: set name: NCCL_DEBUG, and its value in value"], ""
)]
#[case::field_of_a_variable_with_a_name(
    "lint -f -", &job("").replace("image: i}", "image: i, env: [{name: A, NCCL_DEBUG: INFO}]}"), 0,
    &["FP049 W EnvVar has no field NCCL_DEBUG\n"], ""
)]
#[case::level_of_replicas(
    "lint -f - --fail-on W", &operator("PyTorchJob", "kubeflow.org/v1", "schedulerName: volcano, pytorchReplicaSpecs: {Worker: {TEMPLATE}}"), 1, &[],
    "did you mean spec.pytorchReplicaSpecs.*.template.spec.schedulerName?"
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
#[case::null_label(
    "lint -f - --fail-on E", &job("      nodeSelector: {z: }\n"), 0, &["FP049 W .spec.nodeSelector.z is null: expected a string; the apiserver reads it as \"\" or drops it"], ""
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
    &["FP049 E the apiserver rejects the pod: .spec.containers[0].resources.limits[nvidia.com/gpu] is -8: expected a quantity of 0 or more"],
    "failed: unknown: stdin:9: Job default/a: FP049: the apiserver rejects the pod: .spec.containers[0].resources.limits[nvidia.com/gpu] is -8"
)]
#[case::known("preview -f - --fail-on warning,unknown", &job("      nodeSelector: {a: b}\n"), 0, &["1 role: 1 changed"], "")]
#[case::pod_without_containers(
    "lint -f -", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {contaners: [{name: a}]}\n", 1,
    &["FP049 E the apiserver rejects a pod without containers", "FP049 W PodSpec has no field contaners: did you mean containers?"], ""
)]
#[case::kind(
    "preview -f - --fail-on unknown", &job("").replace("kind: Job", "kind: Jobs"), 2, &[],
    "error: stdin: document 1, line 2: batch/v1 Jobs does not exist: did you mean Job?\n"
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
#[case::manifest_in_a_text(
    "preview -f - --fail-on unknown", ARGO_RESOURCE, 1, &[],
    "note: stdin:1: argoproj.io/v1alpha1 Workflow is not supported: spec.templates[0].resource.manifest is the manifest of a Job, whose pods are \
     not shown\nfailed: unknown: "
)]
#[case::manifest_in_a_text_beside_a_request(
    "preview -f - --fail-on unknown",
    &format!("{ARGO_RESOURCE}  - name: b\n    container: {{image: i, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}\n"), 1, &[],
    "spec.templates[1].container requests nvidia.com/gpu outside a pod template, and spec.templates[0].resource.manifest is the manifest of a \
     Job, so that these pods are not shown"
)]
#[case::manifest_of_no_pods(
    "preview -f - --fail-on unknown", &ARGO_RESOURCE.replace("kind: Job", "kind: ConfigMap"), 0, &[],
    "note: no document in the input creates pods\n"
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

/// The training-operator accepts any replica type of a TFJob, and the case of letters does not matter.
#[rstest]
#[case::misspelled("Workers", Some("spec.tfReplicaSpecs.Workers: unknown value Workers: did you mean Worker?"))]
#[case::swapped("Wroker", Some("spec.tfReplicaSpecs.Wroker: unknown value Wroker: did you mean Worker?"))]
#[case::another_case("worker", None)]
#[case::another_type("Reader", None)]
fn a_misspelled_replica_type_of_a_tfjob_is_a_warning(#[case] role: &str, #[case] expected: Option<&str>) {
    let template = "{template: {spec: {containers: [{name: tensorflow, image: i}]}}}";
    let spec = format!("tfReplicaSpecs: {{Chief: {template}, {role}: {template}}}");
    let job = operator("TFJob", "kubeflow.org/v1", &spec);
    let run = trainmesh(&["preview", "-f", "-", "--summary", "--fail-on", "warning"], &job);
    assert_exit(&run, i32::from(expected.is_some()), &[], expected.unwrap_or_default());
    assert_eq!(run.stderr.contains("unknown value"), expected.is_some(), "{run:#?}");
}

/// Findings that follow from an invalid field are not reported: neither the field nor the patch is known.
#[rstest]
#[case::containers(
    "containers: {name: a, image: 'b:1'}",
    "is a mapping: expected a list",
    "rejects a pod without containers"
)]
#[case::shared_memory(
    "nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}, containers: [{name: a, image: b, env: [{name: A, value: 5}], \
     resources: {limits: {nvidia.com/gpu: 8}}}]",
    ".spec.containers[0].env[0].value is 5",
    "FP013"
)]
fn an_invalid_pod_has_no_findings_that_follow_from_it(#[case] spec: &str, #[case] found: &str, #[case] absent: &str) {
    let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{{spec}}}\n");
    let run = trainmesh(&["lint", "-f", "-", "--fabric", "eks-efa"], &pod);
    assert_exit(&run, 1, &[found], "");
    assert!(!run.stdout.contains(absent), "{run:#?}");
}

/// The training-operator rejects the replica type, so that it is no field without effect.
#[test]
fn a_rejected_replica_type_has_one_message() {
    let job = operator("MPIJob", "kubeflow.org/v1", "mpiReplicaSpecs: {Launcher: {TEMPLATE}, Workers: {TEMPLATE}}");
    let run = trainmesh(&["preview", "-f", "-", "--summary"], &job);
    assert_exit(&run, 2, &[], "spec.mpiReplicaSpecs.Workers is an unknown replica type: expected Launcher or Worker");
    assert!(!run.stderr.contains("FP049"), "{run:#?}");
}

/// A field that an error names is no finding, too.
#[rstest]
#[case::misspelled(
    operator("MPIJob", "kubeflow.org/v2beta1", "mpiReplicaSpecs: {launcher: {TEMPLATE}}"),
    "did you mean Launcher?"
)]
#[case::of_another_type(job("").replace("{name: a}", "[a]"), "Job: metadata is [\"a\"]: expected an object")]
#[case::of_a_job_in_a_cron_job(
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '* * * * *', template: {spec: {}}}\n".to_owned(),
    "move it to spec.jobTemplate.spec.template"
)]
fn a_field_of_an_error_is_reported_once(#[case] input: String, #[case] error: &str) {
    for command in ["lint", "preview"] {
        let run = trainmesh(&[command, "-f", "-"], &input);
        assert_exit(&run, 2, &[], error);
        assert!(!run.stderr.contains("FP049"), "{run:#?}");
    }
}
