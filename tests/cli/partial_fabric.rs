//! Jobs whose roles do not all get the fabric profile.

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

/// A PyTorchJob whose Master selects a node pool instead of an instance type.
const JOB: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector: {karpenter.sh/nodepool: p5}
          containers:
          - {name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}
    Worker:
      replicas: 3
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
          containers:
          - {name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}
";
const FINDING: &str = "FP031 E Worker gets eks-efa, but not Master: NCCL hangs";

/// An MPIJob whose launcher is a rank, too, and gets another profile than the workers.
const MPI_JOB: &str = "\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: llama}
spec:
  runLauncherAsWorker: true
  mpiReplicaSpecs:
    Launcher:
      template:
        metadata: {labels: {trainmesh.dev/fabric: ib-shared}}
        spec: {containers: [{name: mpi, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}
    Worker:
      replicas: 2
      template:
        metadata: {labels: {trainmesh.dev/fabric: ib-sriov}}
        spec: {containers: [{name: mpi, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}
";

#[rstest]
#[case::lint("lint -f - --fabric eks-efa", JOB, 1, &[FINDING])]
#[case::launcher_with_gpus("lint -f -", MPI_JOB, 1, &["FP031 E Launcher gets ib-shared, but not Worker: NCCL hangs"])]
#[case::launcher_without_gpus("lint -f -", &MPI_JOB.replacen("nvidia.com/gpu: 8", "cpu: 8", 1), 0, &["E: 0"])]
#[case::preview("preview -f - --fabric eks-efa", JOB, 0, &[FINDING, "2 roles: "])]
#[case::both(
    "lint -f - --fabric eks-efa", &JOB.replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5.48xlarge"), 0, &["E: 0"]
)]
#[case::a_role_without_gpus("lint -f - --fabric eks-efa", &JOB.replacen("nvidia.com/gpu: 8", "cpu: 8", 1), 0, &["E: 0"])]
#[case::no_profile("lint -f -", JOB, 0, &["E: 0"])]
#[case::requested_by_one_role(
    "lint -f -", &JOB.replacen("nvidia.com/gpu: 8", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32", 1), 0,
    &["FP031 W Master requests vpc.amazonaws.com/efa, but not Worker: NCCL may hang", "fix: request the adapter in all roles with GPUs, or in none"]
)]
#[case::different_machines(
    "lint -f -", &JOB.replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5en.48xlarge"), 0,
    &["FP033 W Worker selects p5.48xlarge, but Master p5en.48xlarge"]
)]
#[case::different_machines_in_preview(
    "preview -f - --fabric eks-efa", &JOB.replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5en.48xlarge"), 0,
    &["FP033 W Worker selects p5.48xlarge, but Master p5en.48xlarge"]
)]
#[case::different_machines_without_profile(
    "preview -f - --summary --fail-on warning --namespace-labels trainmesh.dev/inject=enabled",
    &JOB.replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5en.48xlarge"), 1,
    &["2 roles: 2 unchanged"]
)]
fn the_job_is_reported_once(#[case] command: &str, #[case] input: &str, #[case] code: i32, #[case] stdout: &[&str]) {
    let words: Vec<&str> = command.split_whitespace().collect();
    let run = trainmesh(&words, input);
    assert_exit(&run, code, stdout, "");
    assert!(run.stdout.matches("FP031").count() <= 1, "{run:#?}");
}

#[rstest]
#[case::lint("lint -f - --fabric eks-efa")]
#[case::preview("preview -f - --fabric eks-efa")]
fn adapters_of_a_queued_job_are_reported_for_each_role(#[case] command: &str) {
    let job = JOB
        .replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5.48xlarge")
        .replace("metadata: {name: llama}", "metadata: {name: llama, labels: {kueue.x-k8s.io/queue-name: q}}");
    let words: Vec<&str> = command.split_whitespace().collect();
    let finding = "FP029 W container pytorch: vpc.amazonaws.com/efa is not counted by Kueue";
    let run = trainmesh(&words, &job);
    assert_exit(&run, 0, &[finding], "");
    // A preview shows roles with the same outcome as one.
    assert!((1..=2).contains(&run.stdout.matches(finding).count()), "{run:#?}");
    assert_exit(&trainmesh(&words, &job.replace("queue-name: q", "queue-name: ''")), 0, &[], "");
}
