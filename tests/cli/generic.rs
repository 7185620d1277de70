//! Objects of kinds that are not supported.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::cli::{assert_exit, trainmesh};

/// An object of a kind that no operator has, with two roles.
const JOB: &str = "\
apiVersion: example.com/v1
kind: SwarmJob
metadata: {name: swarm, namespace: team}
spec:
  roles:
  - name: coordinator
    replicas: 1
    podTemplate:
      spec:
        containers:
        - {name: main, image: i}
  - name: trainer
    podTemplate:
      metadata: {labels: {app: swarm}}
      spec:
        containers:
        - name: main
          image: i
          env:
          - {name: NCCL_IB_RETRY_CNT, value: \"100\"}
";

/// Returns an object that contains a complete pod template.
fn copy(api_version: &str, kind: &str) -> String {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "i"}]}});
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": {"podSets": [{"template": template}]},
        "data": {"spec": {"template": template}}, "template": template})
    .to_string()
}

#[rstest]
#[case::preview(
    &["preview", "-f", "-"],
    JOB,
    0,
    &[
        "stdin:1: SwarmJob team/swarm · spec.roles[0].podTemplate\n",
        "stdin:1: SwarmJob team/swarm · spec.roles[1].podTemplate ×?\n",
        "+    trainmesh.dev/applied: mesh.hold\n",
        "2 roles: 2 changed\n",
    ],
    "note: stdin:1: SwarmJob: generic: the labels and the environment that its operator adds are not shown\n"
)]
#[case::rendered(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {chart: a}}\n",
    0,
    &[],
    "note: stdin:1: Application: the manifests that it installs are not in the input: render them first, for example with helm template\n"
)]
#[case::rendered_in_lint(
    &["lint", "-f", "-"],
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {chart: {}}\n",
    0,
    &[],
    "note: stdin:1: HelmRelease: the manifests that it installs are not in the input: render them first, for example with helm template\n"
)]
#[case::rendered_with_devices_in_its_values(
    &["preview", "-f", "-", "--fail-on", "unknown,warning,refused"],
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n\
     spec: {source: {helm: {valuesObject: {resources: {limits: {nvidia.com/gpu: 8}}}}}}\n",
    0,
    &[],
    "note: stdin:1: Application: the manifests that it installs are not in the input"
)]
#[case::rendered_with_containers_in_its_values(
    &["preview", "-f", "-", "--fail-on", "unknown,warning,refused"],
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n\
     spec: {values: {limits: {nvidia.com/gpu: 8}, worker: {spec: {containers: [{name: a}]}}}}\n",
    0,
    &[],
    "note: stdin:1: HelmRelease: the manifests that it installs are not in the input"
)]
#[case::rendered_with_a_workload_in_its_values(
    &["preview", "-f", "-", "--fail-on", "unknown,warning,refused"],
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n\
     spec: {source: {helm: {values: 'extra: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {containers: []}}}}'}}}\n",
    0,
    &[],
    "note: stdin:1: Application: the manifests that it installs are not in the input"
)]
#[case::kustomization(
    &["preview", "-f", "-"],
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./jobs}\n",
    0,
    &[],
    "note: stdin:1: Kustomization: the manifests that it installs are not in the input: check its path with -k\n"
)]
#[case::exit_code(&["preview", "-f", "-", "--exit-code"], JOB, 1, &[], "failed: changed: stdin:")]
#[case::unknown_no_longer(&["preview", "-f", "-", "--fail-on", "unknown"], JOB, 0, &[], "")]
#[case::role(&["preview", "-f", "-", "--role", "spec.roles[1].podTemplate", "-o", "patch"], JOB, 0, &["\"op\": \"add\""], "")]
#[case::lint(
    &["lint", "-f", "-"],
    JOB,
    1,
    &["stdin:1: SwarmJob team/swarm spec.roles[1].podTemplate\n", "FP005 E container main: NCCL_IB_RETRY_CNT is 100", "roles: 2;"],
    "note: stdin:1: example.com/v1 SwarmJob: generic: the labels and the environment"
)]
#[case::placeholder(
    &["preview", "-f", "-"],
    &JOB.replace("replicas: 1", "replicas: $N"),
    2,
    &[],
    "SwarmJob: spec.roles[0].replicas contains the shell placeholder $N: render the manifest with envsubst, or use --set N=VALUE\n"
)]
#[case::text_of_the_operator(&["preview", "-f", "-"], &JOB.replace("name: trainer", "setup: ${HOME}/x"), 0, &["2 roles"], "")]
#[case::a_supported_kind_of_another_group(
    &["preview", "-f", "-"],
    &JOB.replace("SwarmJob", "PyTorchJob"),
    0,
    &["2 roles: 2 changed"],
    "example.com/v1 PyTorchJob is not supported: did you mean kubeflow.org/v1 PyTorchJob?"
)]
#[case::overlay(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    &JOB.replace(", image: i}", "}").replace("          image: i\n", ""),
    1,
    &[],
    "example.com/v1 SwarmJob is not supported: its pods are not shown"
)]
#[case::kueue(&["preview", "-v", "-f", "-"], &copy("kueue.x-k8s.io/v1beta1", "Workload"), 0, &[], "kueue.x-k8s.io/v1beta1 Workload creates no pods")]
#[case::revision(&["preview", "-v", "-f", "-"], &copy("apps/v1", "ControllerRevision"), 0, &[], "apps/v1 ControllerRevision creates no pods")]
#[case::pod_template(&["lint", "-f", "-"], &copy("v1", "PodTemplate"), 0, &["roles: 0;"], "")]
#[case::runtime(&["preview", "-v", "-f", "-"], &copy("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"), 0, &[], "creates no pods")]
#[case::cluster_runtime(&["preview", "-v", "-f", "-"], &copy("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"), 0, &[], "creates no pods")]
fn pod_templates_are_shown_as_roles(
    #[case] arguments: &[&str],
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&trainmesh(arguments, input), code, stdout, stderr);
}

/// Returns an object with `count` pod templates, one in each line, as the template of a component if `is_wrapped`.
fn many(count: usize, is_wrapped: bool) -> String {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "i"}]}});
    let templates = vec![format!("  - {template}"); count].join("\n");
    let job = format!(
        "apiVersion: example.com/v1\nkind: SwarmJob\nmetadata: {{name: swarm}}\nspec:\n  templates:\n{templates}"
    );
    if !is_wrapped {
        return job;
    }
    let head =
        "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: wrap}\nspec:\n  components:\n";
    let indented: Vec<String> = job.lines().map(|line| format!("      {line}\n")).collect();
    format!("{head}  - template:\n{}", indented.concat())
}

#[rstest]
#[case::as_many_as_are_shown("unknown", &many(64, false), 0, "")]
#[case::one_more(
    "unknown",
    &many(65, false),
    1,
    "stdin: document 1, line 70: SwarmJob default/swarm: 1 pod template is neither shown nor checked, from spec.templates[64] on: \
     the limits are 64 templates and 20 levels\n"
)]
#[case::another_condition("refused", &many(65, false), 0, "1 pod template is neither shown nor checked")]
#[case::component(
    "unknown",
    &many(66, true),
    1,
    "stdin: document 1, line 76: AppWrapper default/wrap: 2 pod templates are neither shown nor checked, from \
     spec.components[0].template.spec.templates[64] on: the limits are 64 templates and 20 levels\n"
)]
fn templates_beyond_the_limits_are_reported(
    #[case] condition: &str,
    #[case] input: &str,
    #[case] code: i32,
    #[case] stderr: &str,
) {
    let run = trainmesh(&["preview", "-f", "-", "--summary", "--fail-on", condition], input);
    assert_exit(&run, code, &["64 roles"], stderr);
}

/// Without a template within the limits, no pod is shown.
#[test]
fn a_template_that_is_nested_too_deeply_is_a_warning() {
    let template = json!({"template": {"spec": {"containers": [{"name": "a", "image": "i"}]}}});
    let spec = (0..20).fold(template, |object, _| json!({"a": object}));
    let input = json!({"apiVersion": "example.com/v1", "kind": "SwarmJob", "metadata": {"name": "a"}, "spec": spec})
        .to_string();
    let stderr = "1 pod template is neither shown nor checked, from spec.a.";
    for command in
        ["lint -f - --fail-on W", "preview -f - --summary --fail-on unknown", "preview -f - -o json --fail-on warning"]
    {
        let run = trainmesh(&command.split(' ').collect::<Vec<_>>(), &input);
        assert_exit(&run, 1, &[], stderr);
        assert!(run.stderr.starts_with("warning: "), "{run:#?}");
    }
}

fn parse(arguments: &[&str]) -> Value {
    let run = trainmesh(arguments, JOB);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
}

#[test]
fn json_marks_generic_pods() {
    let value = parse(&["preview", "-f", "-", "-o", "json"]);
    let shown = |index: usize| {
        let result = &value["results"][index];
        ["kind", "name", "role", "replicas", "generic"].map(|key| result[key].clone())
    };
    assert_eq!(
        shown(0),
        [json!("SwarmJob"), json!("swarm"), json!("spec.roles[0].podTemplate"), json!(1), json!(true)]
    );
    assert_eq!(shown(1)[2..], [json!("spec.roles[1].podTemplate"), json!(null), json!(true)]);
    assert_eq!(value["results"][1]["original"]["metadata"], json!({"namespace": "team", "labels": {"app": "swarm"}}));
}

#[test]
fn sarif_locates_findings_in_their_template() {
    let value = parse(&["lint", "-f", "-", "-o", "sarif"]);
    let region = &value["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 20, "{value}");
}
