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
const FINDING_IN_QUEUE: &str =
    "FP031 W Worker gets eks-efa, but Master only if the queue supplies the instance type: NCCL may hang";

const FINDING_OF_SETTINGS: &str =
    "FP031 W Worker gets NCCL_IB_PCI_RELAXED_ORDERING and 5 more of aks-nd-sriov, but not Master: NCCL may hang";

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

/// Returns an AppWrapper with these jobs.
fn wrapped(jobs: &[&str]) -> String {
    let mut wrapper = String::from(
        "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: wrapper}\nspec:\n  components:\n",
    );
    for job in jobs {
        wrapper.push_str("  - template:\n");
        for line in job.lines() {
            wrapper.push_str("      ");
            wrapper.push_str(line);
            wrapper.push('\n');
        }
    }
    wrapper
}

/// Returns an AppWrapper with two jobs, each of which has roles alike, but not those of the other one.
fn wrapped_apart() -> String {
    let same = JOB.replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5.48xlarge");
    let other = JOB.replace("node.kubernetes.io/instance-type: p5.48xlarge", "karpenter.sh/nodepool: p5");
    wrapped(&[&same, &other.replace("name: llama", "name: other")])
}

/// Returns the job with a queue of Kueue.
fn in_queue() -> String {
    JOB.replace("metadata: {name: llama}", "metadata: {name: llama, labels: {kueue.x-k8s.io/queue-name: q}}")
}

/// Returns `job` with the machines of Azure for its Worker, and with this nodeSelector of its Master.
fn on_azure(job: &str, master: &str) -> String {
    job.replace("karpenter.sh/nodepool: p5", master).replace("p5.48xlarge", "Standard_ND96isr_H100_v5")
}

#[rstest]
#[case::settings_of_one_role(
    "lint -f - --fabric aks-nd-sriov", &on_azure(JOB, "agentpool: h100"), 0,
    &[FINDING_OF_SETTINGS, "fix: select the same instance type in the pod templates of all roles\n"]
)]
#[case::settings_of_one_role_in_preview("preview -f - --fabric aks-nd-sriov --fail-on warning", &on_azure(JOB, "agentpool: h100"), 1, &[FINDING_OF_SETTINGS])]
#[case::settings_of_one_role_in_a_queue(
    "lint -f - --fabric aks-nd-sriov", &on_azure(&in_queue(), "agentpool: h100"), 0, &[FINDING_OF_SETTINGS, "unless each flavor of the ClusterQueue"]
)]
#[case::settings_of_no_role(
    "preview -f - --fabric aks-nd-sriov --fail-on warning -o explain", &on_azure(JOB, "agentpool: h100").replace("node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5", "a: b"), 0,
    &["and 2 more: for Standard_ND96isr_H*, but the pod selects no instance type"]
)]
#[case::settings_of_other_machines(
    "preview -f - --fabric aks-nd-sriov", &on_azure(JOB, "node.kubernetes.io/instance-type: Standard_ND96asr_v4"), 0,
    &["FP033 W Worker selects Standard_ND96isr_H100_v5, but Master Standard_ND96asr_v4"]
)]
#[case::lint("lint -f - --fabric eks-efa", JOB, 1, &[FINDING])]
#[case::launcher_with_gpus("lint -f -", MPI_JOB, 1, &["FP031 E Launcher gets ib-shared, but Worker ib-sriov: NCCL hangs"])]
#[case::launcher_without_gpus("lint -f -", &MPI_JOB.replacen("nvidia.com/gpu: 8", "cpu: 8", 1), 0, &["E: 0"])]
#[case::preview("preview -f - --fabric eks-efa", JOB, 0, &[FINDING, "2 roles: "])]
#[case::wrapped("lint -f - --fabric eks-efa", &wrapped(&[JOB]), 1, &[FINDING])]
#[case::wrapped_with_another_job(
    "lint -f - --fabric eks-efa", &wrapped(&[&JOB.replace("name: llama", "name: other").replace("nvidia.com/gpu: 8", "cpu: 8"), JOB]), 1,
    &["FP031 E llama/Worker gets eks-efa, but not llama/Master: NCCL hangs"]
)]
#[case::wrapped_apart("lint -f - --fabric eks-efa", &wrapped_apart(), 0, &["E: 0"])]
#[case::wrapped_in_a_queue(
    "lint -f - --fabric eks-efa",
    &wrapped(&[JOB]).replace("metadata: {name: wrapper}", "metadata: {name: wrapper, labels: {kueue.x-k8s.io/queue-name: q}}"), 0,
    &[FINDING_IN_QUEUE]
)]
#[case::both(
    "lint -f - --fabric eks-efa", &JOB.replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5.48xlarge"), 0, &["E: 0"]
)]
#[case::in_a_queue("lint -f - --fabric eks-efa", &in_queue(), 0, &[FINDING_IN_QUEUE, "E: 0", "fix: select the instance type in the pod templates"])]
#[case::in_a_queue_in_the_pipeline("preview -f - --fabric eks-efa --fail-on refused,unknown", &in_queue(), 0, &[FINDING_IN_QUEUE])]
#[case::in_a_queue_with_warnings("preview -f - --fabric eks-efa --fail-on warning", &in_queue(), 1, &[FINDING_IN_QUEUE])]
#[case::a_role_without_gpus("lint -f - --fabric eks-efa", &JOB.replacen("nvidia.com/gpu: 8", "cpu: 8", 1), 0, &["E: 0"])]
#[case::no_profile("lint -f -", JOB, 0, &["E: 0"])]
#[case::requested_by_one_role(
    "lint -f -", &JOB.replacen("nvidia.com/gpu: 8", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32", 1), 0,
    &["FP031 W Master requests vpc.amazonaws.com/efa, but not Worker: NCCL may hang", "fix: request the adapter in all roles with GPUs, or in none"]
)]
#[case::requested_by_one_role_of_another_component(
    "lint -f -",
    &wrapped(&[
        &JOB.replace("name: llama", "name: other"),
        &JOB.replacen("nvidia.com/gpu: 8", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32", 1),
    ]),
    0, &["FP031 W llama/Master requests vpc.amazonaws.com/efa, but not llama/Worker: NCCL may hang"]
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
    let job = in_queue().replace("karpenter.sh/nodepool: p5", "node.kubernetes.io/instance-type: p5.48xlarge");
    let words: Vec<&str> = command.split_whitespace().collect();
    let finding = "FP029 W container pytorch: vpc.amazonaws.com/efa is not counted by Kueue";
    let run = trainmesh(&words, &job);
    assert_exit(&run, 0, &[finding], "");
    // A preview shows roles with the same outcome as one.
    assert!((1..=2).contains(&run.stdout.matches(finding).count()), "{run:#?}");
    assert_exit(&trainmesh(&words, &job.replace("queue-name: q", "queue-name: ''")), 0, &[], "");
}
