//! Objects that the input defines more than once.

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i}]}\n";
const NAMESPACE: (&str, &str) = ("v1", "Namespace");
const TEMPLATE: (&str, &str) = ("resource.k8s.io/v1", "ResourceClaimTemplate");
const CLAIM: (&str, &str) = ("resource.k8s.io/v1", "ResourceClaim");
const CLASS: (&str, &str) = ("resource.k8s.io/v1", "DeviceClass");
const RUNTIME: (&str, &str) = ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime");
const CLUSTER_RUNTIME: (&str, &str) = ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime");
const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");

/// Returns an object called `a`, with these fields beside its name.
fn object((version, kind): (&str, &str), metadata: &str, spec: &str) -> String {
    format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a{metadata}}}\nspec: {{{spec}}}\n---\n")
}

/// Returns two objects that differ in their labels and spec.
fn pair(kind: (&str, &str)) -> String {
    let spec = |spec: &str| if kind == TEMPLATE { format!("spec: {{{spec}}}") } else { spec.to_owned() };
    let (first, second) = (spec("devices: {}"), spec("devices: {requests: []}"));
    object(kind, ", labels: {a: b}", &first) + &object(kind, ", labels: {a: c}", &second) + POD
}

/// The second object starts on line 6.
#[rstest]
#[case::template(&pair(TEMPLATE), "", "ResourceClaimTemplate default/a replaces the one at stdin:1, which has different content: the last one counts")]
#[case::claim(&pair(CLAIM), "", "ResourceClaim default/a replaces the one at stdin:1")]
#[case::class(&pair(CLASS), "", "DeviceClass a replaces the one at stdin:1")]
#[case::namespace(&pair(NAMESPACE), "", "Namespace a replaces the one at stdin:1")]
#[case::runtime(&pair(RUNTIME), "-n team-a", "TrainingRuntime team-a/a replaces the one at stdin:1")]
#[case::cluster_runtime(&pair(CLUSTER_RUNTIME), "", "ClusterTrainingRuntime a replaces the one at stdin:1")]
#[case::same_content(&(object(TEMPLATE, "", "metadata: {}, spec: {}") + &object(TEMPLATE, ", annotations: {a: b}", "spec: {}, metadata: {}") + POD), "", "")]
#[case::other_namespace(&(object(TEMPLATE, "", "metadata: {}") + &object(TEMPLATE, ", namespace: b", "spec: {}") + POD), "", "")]
#[case::namespace_with_another_spec(&(object(NAMESPACE, "", "a: 1") + &object(NAMESPACE, "", "a: 2") + POD), "", "")]
#[case::stated_labels(&pair(NAMESPACE), "--namespace-labels a=b", "")]
#[case::kind_that_no_pod_depends_on(&pair(CONFIG_MAP), "", "")]
fn an_object_that_replaces_another_is_a_warning(#[case] text: &str, #[case] flags: &str, #[case] expected: &str) {
    let code = i32::from(!expected.is_empty());
    let (line, start) = ("document 2, line 6: ", "failed: warning: stdin: ");
    let (warning, cause) = if expected.is_empty() {
        (String::new(), String::new())
    } else {
        (format!("warning: stdin: {line}{expected}"), format!("{start}{line}{expected}"))
    };
    for (command, code, stderr) in [
        ("lint -f - --fail-on W", code, &warning),
        ("lint -f - --fail-on E", 0, &warning),
        ("preview -f - --summary --fail-on warning", code, &cause),
        ("preview -f - --fail-on refused,unknown,changed --namespace-labels=", 0, &String::new()),
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(flags.split_whitespace()).collect();
        let run = trainmesh(&arguments, text);
        assert_exit(&run, code, &[], stderr);
        assert!(!expected.is_empty() || !run.stderr.contains("replaces the one"), "{run:#?}");
    }
}
