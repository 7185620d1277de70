//! Texts of manifests that kubectl reads, but not as their author intended.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::cli::{assert_exit, trainmesh};

const TWICE: &str = "# comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: i\n    env:\n    \
                     - {name: NCCL_DEBUG, value: INFO}\n    image: j\n";
const WARNING: &str = "warning: stdin: document 1, line 11: key \"image\" is already set on line 8: kubectl keeps only the last \
                       value; remove the others\n";

#[rstest]
#[case::preview(&["preview", "-f", "-"], 0, &["1 role: 1 changed; 1 manifest warning\n"])]
#[case::the_last_value_is_used(&["preview", "-f", "-", "-o", "yaml"], 0, &["image: j\n"])]
#[case::json(
    &["preview", "-f", "-", "-o", "json"],
    0,
    &[r#""errors":[],"warnings":[{"source":"stdin","document":0,"line":11,"message":"key \"image\" is already"#]
)]
#[case::fail_on_warning(&["preview", "-f", "-", "--fail-on", "warning"], 1, &[])]
#[case::summary(&["preview", "-f", "-", "--summary"], 0, &["1 role: 1 changed; 1 manifest warning\n"])]
#[case::lint(&["lint", "-f", "-"], 0, &["roles: 1; E: 0, W: 1, I: 0\n"])]
#[case::lint_summary(
    &["lint", "-f", "-", "--summary", "--fail-on", "W"],
    1,
    &["manifest   W          1          1       the text of a manifest, or an object of it\n", "\n\nroles: 1; E: 0, W: 1, I: 0\n"]
)]
#[case::lint_fails_on_warnings(&["lint", "-f", "-", "--fail-on", "W"], 1, &[])]
#[case::lint_json(&["lint", "-f", "-", "-o", "json"], 0, &[r#""warnings":[{"source":"stdin","document":0,"line":11"#])]
fn duplicate_keys_are_warnings(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str]) {
    assert_exit(&trainmesh(arguments, TWICE), code, stdout, WARNING);
}

#[test]
fn sarif_locates_duplicate_keys() {
    let run = trainmesh(&["lint", "-f", "-", "-o", "sarif"], TWICE);
    let log: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let run = &log["runs"][0];
    let result = &run["results"][0];
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("manifest"), &json!("warning")), "{result}");
    assert_eq!(location["region"]["startLine"], 11, "{location}");
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "manifest");
}

/// A person who edits a configuration can correct it; nothing else reads it first.
#[test]
fn duplicate_keys_in_a_configuration_are_errors() {
    let run = trainmesh(&["config", "validate", "/dev/stdin"], "mesh: {}\nmesh: {}\n");
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.stderr.contains("/dev/stdin:2: duplicate key \"mesh\""), "{run:#?}");
}

/// A manifest for envsubst, with placeholders where vendors have them.
const TEMPLATE: &str = "\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: nccl-$SIZE
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - name: launcher
            image: ${IMAGE_URI}
            command: [sh, -c, 'mpirun -np $NUM_RANKS echo ${HOSTNAME}']
    Worker:
      replicas: $NUM_NODES
      template:
        spec:
          containers:
          - name: worker
            image: ${IMAGE_URI}
            resources: {limits: {nvidia.com/gpu: $GPU_PER_NODE, vpc.amazonaws.com/efa: $EFA_PER_NODE}}
";

const ALL: [&str; 10] = [
    "--set",
    "SIZE=small",
    "--set",
    "IMAGE_URI=i:1",
    "--set",
    "NUM_NODES=2",
    "--set",
    "GPU_PER_NODE=8",
    "--set",
    "EFA_PER_NODE=4",
];

#[rstest]
#[case::preview(
    &["preview", "-f", "-"],
    TEMPLATE,
    2,
    &[],
    "error: stdin: document 1, line 4: MPIJob: metadata.name contains the shell placeholder $SIZE: render the manifest with envsubst, \
     or use --set SIZE=VALUE --set IMAGE_URI=VALUE --set NUM_NODES=VALUE --set GPU_PER_NODE=VALUE --set EFA_PER_NODE=VALUE\n"
)]
#[case::service(
    &["lint", "-f", "-"], "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: $P, targetPort: 80}], externalName: \"${H}\"}\n", 2, &[],
    "error: stdin: document 1, line 4: Service: spec.ports[0].port contains the shell placeholder $P: render the manifest with envsubst, \
     or use --set P=VALUE --set H=VALUE\n"
)]
#[case::lint(&["lint", "-f", "-", "--set", "SIZE=a"], TEMPLATE, 2, &["roles: 0; E: 0, W: 0, I: 0; 1 error\n"], "or use --set IMAGE_URI=VALUE --set NUM_NODES=VALUE")]
#[case::all_set(&[&["preview", "-f", "-", "-o", "json"][..], &ALL].concat(), TEMPLATE, 0, &[r#""name":"nccl-small","role":"Worker","replicas":2"#], "")]
#[case::shell_text_stays(&[&["preview", "-f", "-", "-o", "yaml"][..], &ALL].concat(), TEMPLATE, 0, &["- mpirun -np $NUM_RANKS echo ${HOSTNAME}\n", "nvidia.com/gpu: 8\n"], "")]
#[case::lines_stay(&[&["lint", "-f", "-", "-o", "sarif"][..], &ALL].concat(), TEMPLATE, 0, &[r#""level":"#], "")]
#[case::default(&["preview", "-f", "-"], &TEMPLATE.replace("replicas: $NUM_NODES", "replicas: ${NUM_NODES:-2}"), 2, &[], "error: stdin: document 1, line 15: MPIJob: spec.mpiReplicaSpecs.Worker.replicas contains ${NUM_NODES:-2}")]
#[case::default_with_the_others_set(
    &[&["preview", "-f", "-"][..], &ALL].concat(),
    &TEMPLATE.replace("  replicas: $NUM_NODES", "  replicas: ${NUM_NODES:-2}\n      b: $NUM_NODES"),
    2,
    &[],
    "line 15: MPIJob: spec.mpiReplicaSpecs.Worker.replicas contains ${NUM_NODES:-2}: a placeholder with a default is not supported"
)]
#[case::other_placeholder(
    &[&["preview", "-f", "-"][..], &ALL].concat(),
    &TEMPLATE.replace("  replicas: $NUM_NODES", "  replicas: __NUM_NODES__\n      b: $NUM_NODES"),
    2,
    &[],
    "; it looks like a placeholder of a script: replace it first, for example with sed\n"
)]
#[case::unused(&["preview", "-f", "-", "--set", "NUM_NODE=2", "--set", "X=1"], TEMPLATE, 2, &[], "note: --set NUM_NODE has no effect: no manifest contains ${NUM_NODE} or $NUM_NODE\nnote: --set X has no effect: no manifest contains ${X} or $X\n")]
#[case::twice(&["lint", "-f", "-", "--set", "SIZE=2", "--set", "SIZE=3"], TEMPLATE, 2, &[], "error: --set: SIZE is set twice\n")]
#[case::no_value(&["preview", "-f", "-", "--set", "SIZE"], TEMPLATE, 2, &[], "expected NAME=VALUE")]
#[case::invalid_yaml(
    &["preview", "-f", "-"],
    "apiVersion: v1\nkind: Pod\nspec:\n  x: [${A}, b]\n",
    2,
    &[],
    "; the line contains the shell placeholder ${A}: render the manifest with envsubst, or use --set A=VALUE\n"
)]
#[case::invalid_yaml_with_a_default(
    &["preview", "-f", "-"],
    "apiVersion: v1\nkind: Pod\nspec:\n  x: {a: ${A:-8}}\n",
    2,
    &[],
    "; the line contains ${A:-8}: a placeholder with a default is not supported: render the manifest first\n"
)]
#[case::invalid_json(&["lint", "-f", "-"], "{\"apiVersion\": \"v1\",\n\"x\": ${A}}", 2, &[], "document 1, line 2: expected value; the line contains")]
#[case::set_in_json(&["preview", "-f", "-", "--set", "A=1"], "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"x\": ${A}}", 0, &["1 role"], "")]
#[case::other_kinds(&["preview", "-f", "-"], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${A}'}\n", 0, &[], "no document in the input creates pods")]
fn placeholders_are_errors_unless_they_are_set(
    #[case] arguments: &[&str],
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&trainmesh(arguments, input), code, stdout, stderr);
}
