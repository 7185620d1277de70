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
