//! The command line: exit codes, standard output and standard error.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::{Run, assert_exit, trainmesh};

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: train\n    image: i\n";
const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: x\nspec:\n  template:\n    metadata: {}\n    spec:\n      \
                   restartPolicy: Never\n      containers:\n      - name: x\n        image: i\n";

#[rstest]
#[case::diff(&["preview", "-f", "-"], POD, 0, &["Pod default/a", "+    proxy.istio.io/config", "mesh.hold           applied HoldAdded"], "")]
#[case::explain(&["preview", "-f", "-", "-o", "explain"], POD, 0, &["RULE", "OUTCOME", "REASON", "WHY", "  /metadata/annotations/proxy.istio.io~1config\n"], "")]
#[case::yaml(&["preview", "-f", "-", "-o", "yaml"], POD, 0, &["trainmesh.dev/applied: mesh.hold"], "")]
#[case::patch(&["preview", "-f", "-", "-o", "patch"], POD, 0, &["\"op\": \"add\""], "")]
#[case::exit_code(&["preview", "-f", "-", "--exit-code"], POD, 1, &[], "failed: changed: stdin:")]
#[case::case_of_a_condition(&["preview", "-f", "-", "--fail-on", "Changed"], POD, 1, &[], "failed: changed: stdin:")]
#[case::exit_code_without_a_change(&["preview", "-f", "-", "--exit-code", "--namespace-labels", ""], POD, 0, &["NamespaceNotOptedIn"], "")]
#[case::audit_mode(&["preview", "-f", "-", "--exit-code", "--namespace-labels", "trainmesh.dev/inject=audit,istio-injection=enabled"], POD, 0, &["audit, not applied"], "")]
#[case::namespace_flag(&["preview", "-f", "-", "-n", "team-a"], POD, 0, &["Pod team-a/a"], "")]
#[case::job(&["preview", "-f", "-"], JOB, 0, &["Job default/x\n"], "")]
#[case::patch_of_two_pods(&["preview", "-f", "-", "-o", "patch"], &format!("{POD}---\n{POD}"), 2, &[], "use -o json, or one job with --role")]
#[case::other_kinds(&["preview", "-v", "-f", "-"], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 0, &[], "v1 ConfigMap creates no pods")]
#[case::nothing(&["preview", "-f", "-"], "", 2, &[], "error")]
#[case::no_such_file(&["preview", "-f", "no/such/file.yaml"], "", 2, &[], "no/such/file.yaml")]
#[case::no_such_flag(&["preview", "-f", "-", "--nonsense"], "", 2, &[], "--nonsense")]
#[case::bad_labels(&["preview", "-f", "-", "--namespace-labels", "a"], POD, 2, &[], "KEY=VALUE")]
#[case::long_label(&["preview", "-f", "-", "--namespace-labels", &format!("a={}", "x".repeat(64))], POD, 2, &[], "KEY=VALUE")]
#[case::label_of_several_lines(&["preview", "-f", "-", "--namespace-labels", "a=x\ny"], POD, 2, &[], "KEY=VALUE")]
#[case::negative_replicas(
    &["preview", "-f", "-"],
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: -1, template: {spec: {containers: []}}}\n",
    2,
    &[],
    "replicas"
)]
#[case::another_version(
    &["preview", "-f", "-"],
    "apiVersion: kubeflow.org/v2\nkind: PyTorchJob\nmetadata: {name: a}\n",
    2,
    &[],
    "kubeflow.org/v2 PyTorchJob is not supported: use kubeflow.org/v1 PyTorchJob"
)]
#[case::another_group(
    &["preview", "-f", "-"],
    "apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n",
    2,
    &[],
    "did you mean apps/v1 Deployment?"
)]
#[case::unknown_with_pods(
    &["preview", "-f", "-"],
    "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\nspec: {template: {spec: {containers: []}}}\n",
    0,
    &[],
    "its pods are not shown"
)]
#[case::invalid_namespace_label(
    &["preview", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {trainmesh.dev/inject: true}}\n",
    2,
    &[],
    "line 3: Namespace a: metadata.labels[trainmesh.dev/inject] is true: expected a string; quote it\n"
)]
#[case::invalid_namespace_labels(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {trainmesh.dev/inject: true, trainmesh.dev/gang: 1}}\n",
    2,
    &[],
    "line 3: Namespace a: metadata.labels[trainmesh.dev/inject] is true: expected a string; quote it, and correct trainmesh.dev/gang\n"
)]
#[case::many_invalid_namespace_labels(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {a0: 0, a1: 1, a2: 2, a3: 3, a4: 4, a5: 5, a6: 6, a7: 7, a8: 8, a9: 9, b: c}}\n",
    2,
    &[],
    "metadata.labels[a0] is 0: expected a string; quote it, and correct a1, a2, a3, a4, a5, a6, a7, a8 and 1 more\n"
)]
#[case::invalid_namespace_annotation(
    &["preview", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {trainmesh.dev/fabric: 5}}\n",
    2,
    &[],
    "metadata.annotations[trainmesh.dev/fabric] is 5: expected a string; quote it"
)]
#[case::namespace_annotations_that_are_no_mapping(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: [x]}\n",
    2,
    &[],
    "metadata.annotations is [\"x\"]: expected a mapping of strings"
)]
#[case::namespace_name_that_is_no_string(
    &["lint", "-f", "-"],
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: y, labels: {trainmesh.dev/injct: enabled}}\n",
    2,
    &[],
    "line 3: Namespace: metadata.name is true: expected a string; quote it"
)]
#[case::quoted_name_of_a_namespace(&["lint", "-f", "-"], "apiVersion: v1\nkind: Namespace\nmetadata: {name: 'y'}\n", 0, &["roles: 0"], "")]
#[case::review_of_an_update(
    &["preview", "-f", "-"],
    r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"operation":"UPDATE","object":{}}}"#,
    2,
    &[],
    "only called for CREATE"
)]
#[case::invalid_pod(&["preview", "-f", "-"], "apiVersion: v1\nkind: Pod\nspec: 5\n", 0, &["refused NotAPod", "FP049 E the apiserver rejects the pod: .spec is 5: expected a mapping"], "")]
#[case::control_characters_in_names(
    &["preview", "-f", "-"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\u001b[31m\\nPod x/y\"}\nspec: {containers: []}\n",
    0,
    &["Pod default/a\\u{1b}[31m\\nPod x/y"],
    ""
)]
#[case::patch_with_an_error_in_another_document(&["preview", "-f", "-", "-o", "patch"], &format!("{POD}---\na: [\n"), 2, &[], "document 2")]
#[case::version(&["version"], "", 0, &["trainmesh ", "config.trainmesh.dev/v1alpha1"], "")]
#[case::version_json(&["version", "-o", "json"], "", 0, &["\"schemaVersion\":1", "\"version\":"], "")]
#[case::completion(&["completion", "bash"], "", 0, &["_trainmesh"], "")]
#[case::completion_of_profiles(&["completion", "bash"], "", 0, &["ib-shared", "eks-efa"], "")]
#[case::show(&["config", "show"], "", 0, &["kind: TrainmeshConfiguration", "nativeSidecar: leave"], "")]
#[case::schema(&["config", "schema"], "", 0, &["\"$schema\""], "")]
#[case::help(&["--help"], "", 0, &["Examples:", "preview"], "")]
#[case::no_command(&[], "", 2, &[], "Usage: trainmesh")]
fn commands(
    #[case] arguments: &[&str],
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&trainmesh(arguments, input), code, stdout, stderr);
}

fn json(arguments: &[&str], input: &str) -> (Run, Value) {
    let run = trainmesh(&[&["preview", "-o", "json"], arguments].concat(), input);
    let value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    (run, value)
}

#[test]
fn an_invalid_document_is_reported_and_the_others_are_shown() {
    let broken = "kind: [\n";
    let input = [POD, POD, broken, POD, POD].join("---\n");
    let (run, value) = json(&["-f", "-"], &input);
    assert_eq!(run.code, Some(2));
    assert_eq!(value["results"].as_array().unwrap().len(), 4);
    let documents: Vec<_> =
        value["results"].as_array().unwrap().iter().map(|result| result["document"].clone()).collect();
    assert_eq!(documents, [0, 1, 3, 4]);
    let errors = value["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1);
    assert_eq!((&errors[0]["source"], &errors[0]["document"]), (&"stdin".into(), &2.into()));
    assert!(errors[0]["line"].as_u64().unwrap() >= 19, "{errors:?}");
    assert!(run.stderr.contains("document 3, line"), "{}", run.stderr);
}

#[test]
fn json_output_has_every_field_of_the_contract() {
    let (_, value) = json(&["-f", "-"], POD);
    assert_eq!(value["schemaVersion"], 1);
    assert_eq!(value["configHash"].as_str().unwrap().len(), 12);
    let assumed = serde_json::json!({"default": {"istio-injection": "enabled", "trainmesh.dev/inject": "enabled"}});
    assert_eq!(value["assumedNamespaceLabels"], assumed);
    let fields: Vec<&String> = value["results"][0].as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "source",
            "document",
            "item",
            "line",
            "apiVersion",
            "kind",
            "namespace",
            "name",
            "role",
            "replicas",
            "changed",
            "rules",
            "warnings",
            "original",
            "patch",
            "pod",
            "objects"
        ]
    );
    let rule: Vec<&String> = value["results"][0]["rules"][0].as_object().unwrap().keys().collect();
    assert_eq!(rule, ["rule", "outcome", "reason", "message", "field"]);
}

#[test]
fn the_original_of_a_pod_document_is_unchanged() {
    let (_, value) = json(
        &["-f", "-"],
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[],"new":{"z":1,"a":2}}}"#,
    );
    let original = value["results"][0]["original"].to_string();
    assert_eq!(
        original,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[],"new":{"z":1,"a":2}}}"#
    );
}

#[test]
fn namespace_documents_apply_in_any_order() {
    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {trainmesh.dev/inject: enabled}}\n";
    for input in [format!("{POD}---\n{namespace}"), format!("{namespace}---\n{POD}")] {
        let (_, value) = json(&["-f", "-"], &input);
        let results = value["results"].as_array().unwrap();
        assert_eq!(results.len(), 1);
        assert!(
            results[0]["rules"].as_array().unwrap().iter().any(|rule| rule["reason"] == "InjectionNotRequested"),
            "{value}"
        );
    }
}

#[test]
fn notes_report_common_mistakes() {
    let job = JOB.replace("  name: x\nspec", "  name: x\n  labels: {sidecar.istio.io/inject: \"false\"}\nspec");
    let run = trainmesh(&["preview", "-f", "-"], &job);
    assert!(run.stderr.contains("move it to .spec.template.metadata.labels"), "{}", run.stderr);
}

#[test]
fn configuration_errors_are_reported_all_at_once() {
    let text = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nmesh:\n  hold: \"true\"\n  nativeSidecar: perfer\n  trafic: leave\n";
    let run = trainmesh(&["config", "validate", "-"], text);
    assert_eq!(run.code, Some(2));
    for (line, field) in [(4, "mesh.hold"), (5, "mesh.nativeSidecar"), (6, "mesh.trafic")] {
        assert!(run.stderr.contains(&format!("stdin:{line}: {field}")), "{}", run.stderr);
    }
    assert_eq!(trainmesh(&["config", "validate", "config/default.yaml"], "").code, Some(0));
}

#[rstest]
#[case::built_in(
    "ib-shared",
    "warning: profile ib-shared replaces the built-in profile of this name for all pods that select it"
)]
#[case::own("my-ib", "")]
fn a_profile_that_replaces_a_built_in_one_is_reported(#[case] name: &str, #[case] warning: &str) {
    let text = format!(
        "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {{profiles: [{{name: {name}, transport: ib}}]}}\n"
    );
    let run = trainmesh(&["config", "validate", "-"], &text);
    assert_exit(&run, 0, &["valid, hash"], warning);
    assert_eq!(run.stderr.is_empty(), warning.is_empty(), "{run:#?}");
}

#[test]
fn color_can_be_forced() {
    let run = trainmesh(&["preview", "-f", "-", "--color", "always"], POD);
    assert!(run.stdout.contains("\x1b[32m"), "{}", run.stdout);
    for (color, is_colored) in [("always", true), ("never", false)] {
        let run = trainmesh(&["lint", "-f", "-", "--color", color], POD);
        assert_eq!(run.stdout.contains("\x1b["), is_colored, "{}", run.stdout);
    }
}

/// Names that other programs have.
#[rstest]
#[case::recursive("preview -r -f jobs", "use '-R'")]
#[case::format("lint --format json -f a", "use '-o'")]
#[case::kubeconfig("diagnose --kubeconfig a", "set the environment variable KUBECONFIG")]
#[case::kubeconfig_with_value("sweep --kubeconfig=a", "set the environment variable KUBECONFIG")]
#[case::conditions(
    "lint --fail-on refused -f a",
    "tip: for conditions such as refused, use 'trainmesh preview --fail-on'"
)]
#[case::cluster("lint --cluster -f a", "use 'trainmesh preview --cluster'")]
#[case::role("lint --role Worker -f a", "to select a role, use 'trainmesh preview --role'")]
#[case::exit_code("lint --exit-code -f a", "tip: for findings of another severity than E, use '--fail-on W'")]
#[case::disable("lint --disable FP001 -f a", "list it in fabric.lint.disable of a configuration")]
#[case::severity("preview --fail-on W -f a", "for severities, use 'trainmesh lint --fail-on'")]
#[case::sarif("preview -o sarif -f a", "use 'trainmesh lint -o sarif'")]
#[case::dump_of_inventory("inventory dump.json", "to read the dump 'dump.json', use '-f dump.json'")]
#[case::file_to_diagnose(
    "diagnose config/schema.json",
    "to read the dump config/schema.json, use -f config/schema.json"
)]
#[case::shown_configuration("config show a.yaml", "use '--config a.yaml'")]
#[case::listed_configuration("fabric list a.yaml", "use '--config a.yaml'")]
#[case::file_as_profile("fabric show a.yaml", "for the profiles of a file, use --config a.yaml")]
#[case::machine(
    "fabric render eks-efa p5.48xlarge",
    "to select the machine 'p5.48xlarge', use '--machine p5.48xlarge'"
)]
#[case::namespace("sweep team-a", "to select the namespace 'team-a', use '-n team-a'")]
#[case::checked_namespace("doctor team-a", "use '-n team-a'")]
#[case::explain("explain", "'preview -o explain'")]
#[case::validate("validate", "'config validate'")]
fn usage_errors_name_the_equivalent(#[case] command: &str, #[case] stderr: &str) {
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_exit(&trainmesh(&words, ""), 2, &[], stderr);
}

/// kubectl runs plugins by the name of the file.
#[rstest]
#[case::preview("preview --help", "  kubectl trainmesh preview -f pytorchjob.yaml\n", "  trainmesh ")]
#[case::in_a_pipe("lint --help", "| kubectl trainmesh lint -f - -n team-a\n", "| trainmesh ")]
#[case::nested("certs --help", "  kubectl trainmesh certs generate --out certificates\n", "  trainmesh ")]
fn examples_of_the_plugin_run(#[case] command: &str, #[case] expected: &str, #[case] absent: &str) {
    let run = |name: &str| {
        let mut program = Command::new(trainmesh_testing::program());
        let output = program.arg0(name).args(command.split_whitespace()).output().expect("the binary starts");
        String::from_utf8(output.stdout).expect("the output is UTF-8")
    };
    let help = run("kubectl-trainmesh");
    assert!(help.contains(expected) && !help.contains(absent), "{help}");
    assert!(run("trainmesh").contains(&expected.replace("kubectl ", "")), "{help}");
}
