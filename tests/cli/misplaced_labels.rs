//! Labels and annotations of workloads that only some of their pods have.

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

const LABEL: &str = "metadata: {labels: {trainmesh.dev/fabric: none}}, ";
const OTHER: &str = "metadata: {labels: {trainmesh.dev/fabric: tcp}}, ";

/// Returns a pod template with `metadata`.
fn template(metadata: &str) -> String {
    format!("{{{metadata}spec: {{containers: [{{name: pytorch, image: i}}]}}}}")
}

/// Returns an object with the label, or with `metadata`.
fn labeled(api_version: &str, kind: &str, metadata: &str, spec: &str) -> String {
    let metadata = if metadata.is_empty() { "labels: {trainmesh.dev/fabric: none}" } else { metadata };
    format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a, {metadata}}}, spec: {{{spec}}}}}\n")
}

fn pytorch_job(metadata: &str, master: &str, worker: &str) -> String {
    let (master, worker) = (template(master), template(worker));
    let roles =
        format!("pytorchReplicaSpecs: {{Master: {{template: {master}}}, Worker: {{replicas: 2, template: {worker}}}}}");
    labeled("kubeflow.org/v1", "PyTorchJob", metadata, &roles)
}

/// JobSet of two jobs, of which the first one has `job` in the metadata of its Job.
fn job_set(metadata: &str, job: &str, first: &str, second: &str) -> String {
    let (first, second) = (template(first), template(second));
    let jobs = format!(
        "replicatedJobs: [{{name: a, template: {{{job}spec: {{template: {first}}}}}}}, {{name: b, template: {{spec: {{template: {second}}}}}}}]"
    );
    labeled("jobset.x-k8s.io/v1alpha2", "JobSet", metadata, &jobs)
}

fn ray_cluster(head: &str, first: &str, second: &str) -> String {
    let (head, first, second) = (template(head), template(first), template(second));
    let groups = format!(
        "[{{groupName: a, replicas: 1, template: {first}}}, {{groupName: b, replicas: 1, template: {second}}}]"
    );
    labeled("ray.io/v1", "RayCluster", "", &format!("headGroupSpec: {{template: {head}}}, workerGroupSpecs: {groups}"))
}

fn cliques(metadata: &str, first: &str) -> String {
    let spec = "spec: {replicas: 1, podSpec: {containers: [{name: c, image: i}]}}";
    let cliques = format!("replicas: 1, template: {{cliques: [{{name: a, {first}{spec}}}, {{name: b, {spec}}}]}}");
    labeled("grove.io/v1alpha1", "PodCliqueSet", metadata, &cliques)
}

/// Returns a runtime with `metadata`, and the metadata of its JobSet and of its pods.
fn runtime(kind: &str, metadata: &str, job_set: &str, pods: &str) -> String {
    let job = format!("{{name: node, template: {{spec: {{template: {}}}}}}}", template(pods));
    let spec = format!("template: {{{job_set}spec: {{replicatedJobs: [{job}]}}}}");
    labeled("trainer.kubeflow.org/v1alpha1", kind, metadata, &spec)
}

const TRAIN_JOB: &str = "---\n{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {generateName: j-}, \
                         spec: {runtimeRef: {name: a}}}\n";
const MISSPELLED: &str = "metadata: {labels: {trainmesh.dev/fabrik: tcp}}, ";

/// Both commands report these warnings about a runtime.
#[rstest]
#[case::on_the_runtime(
    &runtime("ClusterTrainingRuntime", "", "", ""),
    &["FP045: ClusterTrainingRuntime a: trainmesh.dev/fabric has no effect in .metadata.labels: \
       move it to .spec.template.spec.replicatedJobs[0].template.spec.template.metadata.labels\n"]
)]
#[case::on_the_job_set(
    &runtime("TrainingRuntime", "labels: {a: b}", LABEL, ""),
    &["FP045: TrainingRuntime default/a: trainmesh.dev/fabric has no effect in .spec.template.metadata.labels: move it to"]
)]
#[case::with_a_job(
    &(runtime("ClusterTrainingRuntime", "", "", "") + TRAIN_JOB),
    &["FP045: ClusterTrainingRuntime a: trainmesh.dev/fabric has no effect in .metadata.labels"]
)]
#[case::all_pods_have_it(&runtime("ClusterTrainingRuntime", "", "", LABEL), &[])]
#[case::pods(
    &runtime("ClusterTrainingRuntime", "labels: {a: b}", "", MISSPELLED),
    &["FP045: ClusterTrainingRuntime a: label trainmesh.dev/fabrik has no effect: did you mean trainmesh.dev/fabric?\n"]
)]
#[case::unknown_profile(
    &runtime("TrainingRuntime", "labels: {a: b}", "", "metadata: {labels: {trainmesh.dev/fabric: ib-shraed}}, "),
    &["FP045: TrainingRuntime default/a: label trainmesh.dev/fabric=ib-shraed: no fabric profile has this name"]
)]
#[case::pods_of_a_job(&(runtime("ClusterTrainingRuntime", "labels: {a: b}", "", MISSPELLED) + TRAIN_JOB), &[])]
#[case::pods_of_no_job_of_the_runtime(
    &(runtime("TrainingRuntime", "labels: {a: b}", "", MISSPELLED) + TRAIN_JOB),
    &["FP045: TrainingRuntime default/a: label trainmesh.dev/fabrik has no effect"]
)]
fn labels_of_a_training_runtime_are_checked(#[case] manifest: &str, #[case] expected: &[&str]) {
    for command in [&["lint", "-f", "-"][..], &["preview", "-f", "-", "--summary"]] {
        let run = trainmesh(command, manifest);
        for warning in expected {
            assert!(run.stderr.contains(warning), "{run:#?}");
        }
        assert_eq!(run.stderr.matches("warning: ").count(), expected.len(), "{run:#?}");
    }
}

/// Both commands report the misplaced entry with this fix, or nothing.
#[rstest]
#[case::one_role(&pytorch_job("", LABEL, ""), Some("trainmesh.dev/fabric has no effect in .metadata.labels: move it to .spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n"))]
#[case::all_roles(&pytorch_job("", LABEL, LABEL), None)]
#[case::another_value(&pytorch_job("", LABEL, OTHER), Some("move it to .spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n"))]
#[case::no_role(&pytorch_job("", "", ""), Some("move it to .spec.pytorchReplicaSpecs.Master.template.metadata.labels (and of the other pod templates)\n"))]
#[case::annotation(&pytorch_job("annotations: {trainmesh.dev/settle: 9s}", "metadata: {annotations: {trainmesh.dev/settle: 9s}}, ", ""), Some("trainmesh.dev/settle has no effect in .metadata.annotations: move it to .spec.pytorchReplicaSpecs.Worker.template.metadata.annotations\n"))]
#[case::wrong_map(&pytorch_job("annotations: {trainmesh.dev/fabric: none}", LABEL, LABEL), Some("set the label in .spec.pytorchReplicaSpecs.Master.template.metadata.labels (and of the other pod templates)\n"))]
#[case::istio(&pytorch_job("labels: {sidecar.istio.io/inject: 'false'}", "metadata: {labels: {sidecar.istio.io/inject: 'false'}}, ", ""), Some("TR006: PyTorchJob default/a: sidecar.istio.io/inject has no effect in .metadata.labels: move it to .spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n"))]
#[case::revision_of_istio(&pytorch_job("labels: {istio.io/rev: canary}", "metadata: {labels: {istio.io/rev: canary}}, ", ""), Some("TR006 I: PyTorchJob default/a: istio.io/rev has no effect in .metadata.labels: move it to .spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n"))]
#[case::injection_of_istio(&pytorch_job("labels: {istio-injection: disabled}", "metadata: {labels: {sidecar.istio.io/inject: 'false'}}, ", ""), Some("TR006: PyTorchJob default/a: istio-injection has no effect in .metadata.labels: set the label sidecar.istio.io/inject: \"false\" in .spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n"))]
#[case::injection_of_pods(&pytorch_job("labels: {istio-injection: disabled}", "metadata: {labels: {sidecar.istio.io/inject: 'false'}}, ", "metadata: {labels: {sidecar.istio.io/inject: 'false'}}, "), None)]
#[case::injection_as_before(&pytorch_job("labels: {istio-injection: enabled}", "", ""), None)]
#[case::another_domain(&pytorch_job("labels: {trainmesh.io/fabric: tcp}", LABEL, ""), Some("FP045: PyTorchJob default/a: trainmesh.io/fabric has no effect in .metadata.labels: did you mean trainmesh.dev/fabric in .spec.pytorchReplicaSpecs.Master.template.metadata.labels (and of the other pod templates)?\n"))]
#[case::set_by_the_webhook(&pytorch_job("labels: {trainmesh.dev/managed: 'true'}", "", ""), Some("FP045: PyTorchJob default/a: trainmesh.dev/managed has no effect in .metadata.labels: only trainmesh sets it, on pods; remove it\n"))]
#[case::opt_in(&pytorch_job("labels: {trainmesh.dev/inject: enabled}", "", ""), Some("FP045: PyTorchJob default/a: trainmesh.dev/inject has no effect in .metadata.labels: it includes pods only as a label of their Namespace; on pods, only disabled has an effect\n"))]
#[case::revision_of_istiod(
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {istio.io/rev: default}}\nspec: {selector: {}, template: {spec: {containers: [{name: a, image: i}]}}}\n",
    None
)]
#[case::queue_of_volcano(&pytorch_job("annotations: {scheduling.volcano.sh/queue-name: a}", "", ""), Some("TR006: PyTorchJob default/a: scheduling.volcano.sh/queue-name has no effect in .metadata.annotations: move it to .spec.pytorchReplicaSpecs.Master.template.metadata.annotations (and of the other pod templates)\n"))]
#[case::topology_of_volcano(&pytorch_job("annotations: {volcano.sh/network-topology-mode: hard}", "", ""), Some("TR006: PyTorchJob default/a: volcano.sh/network-topology-mode has no effect in .metadata.annotations: move it"))]
#[case::topology_of_kueue(&pytorch_job("annotations: {kueue.x-k8s.io/podset-required-topology: rack}", "", ""), Some("TR006: PyTorchJob default/a: kueue.x-k8s.io/podset-required-topology has no effect in .metadata.annotations: move it to .spec.pytorchReplicaSpecs.Master.template.metadata.annotations (and of the other pod templates)\n"))]
#[case::topology_of_the_job(&job_set("labels: {a: b}", "metadata: {annotations: {kueue.x-k8s.io/podset-preferred-topology: rack}}, ", "", ""), Some("move it to .spec.replicatedJobs[0].template.spec.template.metadata.annotations\n"))]
#[case::topology_of_all_pods(
    &pytorch_job("annotations: {a: b}", "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, ", "metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, "), None
)]
#[case::queue_of_the_pods(&pytorch_job("annotations: {a: b}", "metadata: {annotations: {scheduling.volcano.sh/queue-name: a}}, ", ""), None)]
#[case::one_job(&job_set("", "", LABEL, ""), Some("move it to .spec.replicatedJobs[1].template.spec.template.metadata.labels\n"))]
#[case::job_and_its_pods(&job_set("labels: {a: b}", LABEL, LABEL, ""), None)]
#[case::one_group(&ray_cluster("", LABEL, ""), Some("move it to .spec.headGroupSpec.template.metadata.labels (and of the other pod templates)\n"))]
#[case::all_groups(&ray_cluster(LABEL, LABEL, LABEL), None)]
#[case::clique(&cliques("labels: {a: b}", "labels: {trainmesh.dev/fabric: none}, "), None)]
#[case::one_clique(&cliques("", "labels: {trainmesh.dev/fabric: none}, "), Some("move it to .spec.template.cliques[1].labels\n"))]
#[case::template_of_a_job_in_a_patch(
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: torch-distributed}, \
     runtimePatches: [{manager: a/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: \
     {trainmesh.dev/inject: disabled}}}}]}}}}]}\n",
    Some(
        ".replicatedJobs[0].template.metadata.labels: move it to .spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.metadata.labels\n"
    )
)]
#[case::nested(
    &format!("apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {{name: a}}\nspec:\n  components:\n  - template: {}", pytorch_job("", LABEL, "")),
    Some("has no effect in .spec.components[0].template.metadata.labels: move it to .spec.components[0].template.spec.pytorchReplicaSpecs.Worker.template.metadata.labels\n")
)]
fn an_entry_that_only_some_pods_have_is_reported(#[case] manifest: &str, #[case] expected: Option<&str>) {
    for command in [&["lint", "-f", "-"][..], &["preview", "-f", "-", "--summary"]] {
        let run = trainmesh(command, manifest);
        assert_exit(&run, 0, &[], expected.unwrap_or_default());
        assert_eq!(run.stderr.contains("has no effect in"), expected.is_some(), "{run:#?}");
    }
}

/// Kueue manages no Job of Volcano, so that it counts no adapter of it either.
#[rstest]
#[case::queue("q", true)]
#[case::unset("''", false)]
fn a_queue_of_kueue_on_a_job_of_volcano_is_reported(#[case] queue: &str, #[case] is_reported: bool) {
    let container = "{name: a, image: i, resources: {limits: {nvidia.com/gpu: 8}}}";
    let job = format!(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata:\n  name: a\n  labels: {{kueue.x-k8s.io/queue-name: {queue}}}\nspec: \
         {{minAvailable: 2, schedulerName: volcano, tasks: [{{name: worker, replicas: 2, template: {{spec: {{restartPolicy: OnFailure, \
         nodeSelector: {{node.kubernetes.io/instance-type: p5.48xlarge}}, containers: [{container}]}}}}}}]}}\n"
    );
    for command in ["lint", "preview"] {
        let run = trainmesh(&[command, "-f", "-", "--fabric", "eks-efa"], &job);
        let warning = "line 5: TR006: Job default/a: kueue.x-k8s.io/queue-name has no effect: Kueue has no integration for \
                       batch.volcano.sh/v1alpha1 Job: use a JobSet, or set spec.queue, a queue of Volcano";
        assert_eq!(run.stderr.contains(warning), is_reported, "{run:#?}");
        assert!(!run.stdout.contains("FP029"), "{run:#?}");
    }
}

/// Many annotations of Istio must not hide a label of trainmesh, which `--fail-on unknown` counts.
#[test]
fn labels_of_trainmesh_are_reported_before_others() {
    let annotations: Vec<String> =
        (0..21).map(|index| format!("sidecar.istio.io/statsInclusionRegexps{index}: a")).collect();
    let metadata = format!("annotations: {{{}}}, labels: {{trainmesh.dev/fabrik: tcp}}", annotations.join(", "));
    let job = labeled("batch/v1", "Job", &metadata, &format!("template: {}", template("")));
    let run = trainmesh(&["preview", "-f", "-", "--summary", "--fail-on", "unknown"], &job);
    assert_exit(&run, 1, &["21 manifest warnings"], "FP045: Job default/a: trainmesh.dev/fabrik has no effect");
    let more = "TR006: Job default/a: 2 more labels and annotations have no effect here\n";
    assert_eq!(run.stderr.matches(more).count(), 1, "{run:#?}");
}

/// The operator of an `ElasticJob` copies the labels of the job to its master, which has no template, and not to the workers.
#[rstest]
#[case::missing("", 1)]
#[case::on_the_workers(LABEL, 0)]
fn a_label_that_only_the_master_gets_is_reported(#[case] metadata: &str, #[case] code: i32) {
    let worker = template(metadata).replace("pytorch", "main");
    let spec = format!("replicaSpecs: {{worker: {{replicas: 2, template: {worker}}}}}");
    let job = labeled("elastic.iml.github.io/v1alpha1", "ElasticJob", "", &spec);
    let run = trainmesh(&["preview", "-f", "-", "--summary", "--fail-on", "unknown"], &job);
    let warning = "FP045: ElasticJob default/a: trainmesh.dev/fabric has no effect in .metadata.labels: move it to \
                   .spec.replicaSpecs.worker.template.metadata.labels";
    assert_exit(&run, code, &[], if code == 0 { "" } else { warning });
}
