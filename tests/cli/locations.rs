//! The lines of findings, warnings and errors: each is that of the field or label which the user has to change.

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::trainmesh;

/// Opted-in namespace with this additional label.
fn namespace(label: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team\n  labels:\n    trainmesh.dev/inject: enabled\n    \
         istio-injection: enabled\n    {label}\n---\n"
    )
}

/// Pod with 8 GPUs and these fields of its spec.
fn pod(spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: team\nspec:\n{spec}  containers:\n  - name: a\n    \
         image: i\n    resources:\n      limits:\n        nvidia.com/gpu: 8\n"
    )
}

/// Node affinity for a list of instance types.
fn affinity(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("            - {value}\n")).collect();
    let values = values.concat();
    format!(
        "  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n        \
         - matchExpressions:\n          - key: node.kubernetes.io/instance-type\n            operator: In\n            values:\n{values}"
    )
}

fn selector(entry: &str) -> String {
    format!("  nodeSelector:\n    kubernetes.io/os: linux\n    {entry}\n")
}

/// Returns the line of `input` of the first finding, warning or error of `lint` whose message contains `part`.
fn located(input: &str, part: &str) -> String {
    let run = trainmesh(&["lint", "-f", "-", "-o", "json"], input);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = report["results"].as_array().unwrap().iter();
    let findings = results.flat_map(|result| result["lint"].as_array().unwrap());
    let others = ["warnings", "errors"].into_iter().flat_map(|list| report[list].as_array().unwrap());
    let is_found = |found: &&Value| found["message"].as_str().unwrap().contains(part);
    let found = findings.chain(others).find(is_found).unwrap_or_else(|| panic!("{part} in {run:#?}"));
    let line = usize::try_from(found["line"].as_u64().unwrap()).unwrap();
    input.lines().nth(line - 1).unwrap().trim().to_owned()
}

fn check(input: &str, part: &str, expected: &str) {
    assert_eq!(located(input, part), expected, "{input}");
}

#[rstest]
#[case::unknown_adapters(
    "eks-efa",
    selector("node.kubernetes.io/instance-type: g5.xlarge"),
    "unknown number of",
    "node.kubernetes.io/instance-type: g5.xlarge"
)]
#[case::misspelled(
    "eks-efa",
    selector("node.kubernetes.io/instance-type: p5.49xlarge"),
    "did you mean p5.48xlarge?",
    "node.kubernetes.io/instance-type: p5.49xlarge"
)]
#[case::former_label(
    "eks-efa",
    selector("beta.kubernetes.io/instance-type: ml.g5.xlarge"),
    "unknown number of",
    "beta.kubernetes.io/instance-type: ml.g5.xlarge"
)]
#[case::family(
    "eks-efa",
    selector("karpenter.k8s.aws/instance-family: p5"),
    "depends on the instance type",
    "karpenter.k8s.aws/instance-family: p5"
)]
#[case::misspelled_in_affinity("eks-efa", affinity(&["p5.48xlarge", "p5.49xlarge"]), "did you mean p5.48xlarge?", "- p5.49xlarge")]
#[case::different_machines("eks-efa", affinity(&["p5.48xlarge", "p5en.48xlarge"]), "differs between", "- p5en.48xlarge")]
#[case::another_profile(
    "coreweave-ib",
    selector("node.coreweave.cloud/type: gb200-4x"),
    "not for gb200-4x",
    "node.coreweave.cloud/type: gb200-4x"
)]
#[case::another_profile_in_affinity("coreweave-ib", affinity(&["b200-8x", "gb200-4x"]), "not for gb200-4x", "- gb200-4x")]
#[case::no_machine("eks-efa", selector("a: b"), "depends on the instance type", "spec:")]
#[case::no_profile(
    "none",
    selector("node.kubernetes.io/instance-type: p5.48xlrge"),
    "no instance type is called",
    "node.kubernetes.io/instance-type: p5.48xlrge"
)]
fn refusals_because_of_a_machine_have_the_line_that_selects_it(
    #[case] profile: &str,
    #[case] spec: String,
    #[case] part: &str,
    #[case] expected: &str,
) {
    check(&format!("{}{}", namespace(&format!("trainmesh.dev/fabric: {profile}")), pod(&spec)), part, expected);
    // The label of the pod is not what the user has to change.
    let labeled =
        pod(&spec).replace("  namespace: team\n", &format!("  labels:\n    trainmesh.dev/fabric: {profile}\n"));
    let expected = if expected == "spec:" { "trainmesh.dev/fabric: eks-efa" } else { expected };
    check(&labeled, part, expected);
}

#[rstest]
#[case::traffic("trainmesh.dev/mesh-traffic: drect", "UnknownTrafficMode")]
#[case::gang("trainmesh.dev/gang: vulcano", "UnknownGangMode")]
#[case::fabric("trainmesh.dev/fabric: eks-efaa", "UnknownFabric")]
fn refusals_because_of_a_namespace_have_the_line_of_its_label(#[case] label: &str, #[case] reason: &str) {
    let input = format!("{}{}", namespace(label), pod(""));
    check(&input, reason, label);
    let line = input.lines().position(|line| line.trim() == label).unwrap() + 1;
    let run = trainmesh(&["preview", "-f", "-", "-o", "explain", "--fail-on", "refused"], &input);
    assert!(run.stdout.contains(&format!("stdin:{line} /metadata/namespace")), "{run:#?}");
    assert!(run.stderr.contains(&format!("failed: refused: stdin:{line}: Pod team/a: ")), "{run:#?}");
    // The label of a pod takes precedence.
    let pod = pod("").replace("  namespace: team\n", &format!("  namespace: team\n  labels:\n    {label}\n"));
    check(&format!("{}{pod}", namespace("a: b")), reason, label);
}

/// `PyTorchJob` with these lines in the replica spec of its master and in its pod.
fn pytorch_job(replica: &str, pod: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: a\nspec:\n  runPolicy:\n    schedulingPolicy:\n      \
         queue: q\n  pytorchReplicaSpecs:\n    Master:\n{replica}      template:\n        spec:\n{pod}          containers:\n          \
         - name: pytorch\n            image: i\n"
    )
}

/// The restart policy of a replica spec replaces that of its pod template.
#[rstest]
#[case::replica("      restartPolicy: Nevr\n", "", "restartPolicy=Nevr", "restartPolicy: Nevr")]
#[case::both(
    "      restartPolicy: Nevr\n",
    "          restartPolicy: Never\n",
    "restartPolicy=Nevr",
    "restartPolicy: Nevr"
)]
#[case::template_of_both(
    "      restartPolicy: Nevr\n",
    "          restartPolicy: Never\n",
    "restartPolicy: Never of the pod template has no effect: the pods get Nevr",
    "restartPolicy: Never"
)]
#[case::default(
    "",
    "          restartPolicy: Always\n",
    "Always of the pod template has no effect: the pods get OnFailure",
    "restartPolicy: Always"
)]
fn restart_policies_have_their_own_line(
    #[case] replica: &str,
    #[case] pod: &str,
    #[case] part: &str,
    #[case] expected: &str,
) {
    check(&pytorch_job(replica, pod), part, expected);
}

const MPI_JOB: &str = "\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  runPolicy:
    schedulingPolicy:
      minAvailable: \"5\"
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}
";
const VOLCANO_JOB: &str = "\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: a}
spec:
  minAvailable: 2
  tasks:
  - name: w
    replicas: 2
    minAvailable: 2
    template: {spec: {containers: [{name: w, image: i}]}}
";

/// The apiserver rejects these, whether a gang mode is selected or not.
#[rstest]
#[case::kubeflow(&pytorch_job("", "").replace("queue: q", "minAvailable: '5'"), "spec.runPolicy.schedulingPolicy.minAvailable is \"5\": expected", "minAvailable: '5'")]
#[case::mpi(MPI_JOB, "spec.runPolicy.schedulingPolicy.minAvailable is \"5\": expected", "minAvailable: \"5\"")]
#[case::volcano(&VOLCANO_JOB.replace("  minAvailable: 2\n  tasks", "  minAvailable: '6'\n  tasks"), "spec.minAvailable is \"6\": expected", "minAvailable: '6'")]
#[case::volcano_task(&VOLCANO_JOB.replace("    minAvailable: 2", "    minAvailable: '4'"), "spec.tasks[0].minAvailable is \"4\": expected", "minAvailable: '4'")]
#[case::pod_group(
    "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n  minMember: '9'\n",
    "spec.minMember is \"9\": expected",
    "minMember: '9'"
)]
#[case::coscheduling(
    "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n  minMember: '9'\n",
    "spec.minMember is \"9\": expected",
    "minMember: '9'"
)]
fn a_quoted_minimum_is_an_error(#[case] input: &str, #[case] part: &str, #[case] expected: &str) {
    check(input, part, expected);
    let namespace = trainmesh(&["lint", "-f", "-", "--namespace-labels", ""], input);
    assert!(namespace.code == Some(2) && namespace.stderr.contains(part), "{namespace:#?}");
}

/// Options of a command in block style, and entries of the environment.
#[rstest]
#[case::option("          - --nnodes=5\n", "", "--nnodes=5", "- --nnodes=5")]
#[case::separate_value("          - --nnodes\n          - '5'\n", "", "--nnodes=5", "- --nnodes")]
#[case::script("          - |\n              torchrun --nnodes=5 a.py\n", "", "--nnodes=5", "torchrun --nnodes=5 a.py")]
#[case::checkpoints(
    "          - --nnodes=1\n          - --checkpoint-dir=/tmp/ckpt\n",
    "            volumeMounts: [{name: t, mountPath: /tmp}]\n          volumes: [{name: t, emptyDir: {}}]\n",
    "--checkpoint-dir at /tmp/ckpt",
    "- --checkpoint-dir=/tmp/ckpt"
)]
fn options_have_the_line_of_their_text(
    #[case] arguments: &str,
    #[case] fields: &str,
    #[case] part: &str,
    #[case] expected: &str,
) {
    let command = format!(
        "            command:\n            - torchrun\n{}",
        arguments.replace("          - ", "            - ")
    );
    check(&format!("{}{command}{fields}", pytorch_job("", "")), part, expected);
}

#[test]
fn variables_of_the_process_group_have_the_line_of_their_entry() {
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: master}\nspec:\n  ports: [{port: 23456}]\n";
    let env = |address: &str| {
        format!(
            "            env:\n            - name: A\n              value: b\n            - name: MASTER_PORT\n              value: '29500'\n            - name: MASTER_ADDR\n              value: {address}\n"
        )
    };
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
               template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - name: a\n            image: i\n";
    check(&format!("{job}{}{service}", env("master")), "which Service master does not forward", "- name: MASTER_PORT");
    let service = service.replace("spec:\n", "spec:\n  selector: {a: b}\n");
    check(&format!("{job}{}{service}", env("master")), "which selects no pod of the job", "- name: MASTER_ADDR");
}
