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
#[case::one_job(&job_set("", "", LABEL, ""), Some("move it to .spec.replicatedJobs[1].template.spec.template.metadata.labels\n"))]
#[case::job_and_its_pods(&job_set("labels: {a: b}", LABEL, LABEL, ""), None)]
#[case::one_group(&ray_cluster("", LABEL, ""), Some("move it to .spec.headGroupSpec.template.metadata.labels (and of the other pod templates)\n"))]
#[case::all_groups(&ray_cluster(LABEL, LABEL, LABEL), None)]
#[case::clique(&cliques("labels: {a: b}", "labels: {trainmesh.dev/fabric: none}, "), None)]
#[case::one_clique(&cliques("", "labels: {trainmesh.dev/fabric: none}, "), Some("move it to .spec.template.cliques[1].labels\n"))]
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
