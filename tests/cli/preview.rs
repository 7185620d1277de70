//! `trainmesh preview`: conditions of exit code 1, the summary, the roles, and suggestions for incomplete commands.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rstest::rstest;
use trainmesh_testing::cli::{assert_exit, trainmesh};

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: train\n    image: i\n";
const GPU_POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: i\n    env: [{name: NCCL_DEBUG, \
                       value: \"8\"}]\n    resources: {limits: {nvidia.com/gpu: 8}}\n";
/// A `JobSet` with labels and an annotation of trainmesh that no pod gets.
const JOB_SET: &str = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a, labels: {trainmesh.dev/inject: disabled}, \
                       annotations: {trainmesh.dev/settle: 1s}}\nspec:\n  replicatedJobs:\n  - name: w\n    template:\n      metadata: {labels: \
                       {trainmesh.dev/fabric: none}}\n      spec: {template: {spec: {containers: [{name: a, image: i}]}}}\n";
const CRON_JOB: &str = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: \"@daily\"\n  jobTemplate:\n    spec:\n      \
                        template:\n        metadata: {labels: {trainmesh.dev/inject: disabled}}\n        spec: {restartPolicy: Never, containers: \
                        [{name: a, image: i}]}\n";

/// A namespace with an unknown key, an unknown profile and an unknown mode.
const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-a\n  labels: {trainmesh.dev/injct: enabled, \
                         trainmesh.dev/fabric: tpc, trainmesh.dev/mesh-traffic: \"off\"}\n";

#[rstest]
#[case::fail_on_changed(&["preview", "-f", "-", "--fail-on", "changed"], POD, 1, &["1 role: 1 changed\n"], "")]
#[case::fail_on_others(&["preview", "-f", "-", "--fail-on", "refused,unknown,warning"], POD, 0, &[], "")]
#[case::fail_on_repeated(&["preview", "-f", "-", "--fail-on", "refused", "--fail-on", "changed"], POD, 1, &[], "")]
#[case::fail_on_refused(&["preview", "-f", "-", "--fail-on", "refused", "--fabric", "eks-efa"], GPU_POD, 1, &["1 role: 1 changed; of these, 1 with a refused rule"], "")]
#[case::fail_on_warning(&["preview", "-f", "-", "--fail-on", "warning", "--fabric", "eks-efa"], GPU_POD, 1, &["warning fabric eks-efa not applied"], "")]
#[case::causes_of_a_summary(
    &["preview", "-f", "-", "--summary", "--fail-on", "refused,changed", "--fabric", "eks-efa"],
    GPU_POD,
    1,
    &["1 role: 1 changed; of these, 1 with a refused rule\n"],
    "failed: refused: stdin:4: Pod default/a: fabric FabricContradicted: "
)]
#[case::cause_in_the_flag(
    &["preview", "-f", "-", "--summary", "--fail-on", "unknown", "--namespace-labels", "trainmesh.dev/injct=enabled"],
    &format!("{POD}---\n{POD}"),
    1,
    &[],
    "failed: unknown: --namespace-labels: FP045: label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?\n"
)]
#[case::fail_on_unknown_fabric(
    &["preview", "-f", "-", "--fail-on", "unknown", "--namespace-labels", "trainmesh.dev/inject=enabled,trainmesh.dev/fabric=tpc"],
    GPU_POD,
    1,
    &["UnknownFabric"],
    ""
)]
#[case::unknown_fabric_flag(&["preview", "-f", "-", "--fabric", "tpc"], GPU_POD, 2, &[], "error: unknown fabric profile tpc: did you mean tcp?")]
#[case::no_fabric_flag(&["preview", "-f", "-", "--fabric", "none"], GPU_POD, 0, &["fabric (FabricOptedOut)"], "")]
#[case::fail_on_unknown_label(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    &POD.replace("name: a\n", "name: a\n  labels: {trainmesh.dev/inject: \"false\"}\n"),
    1,
    &["FP045 W label trainmesh.dev/inject=false has no effect: expected disabled", "1 role: 1 changed; of these, 1 unknown or invalid"],
    ""
)]
#[case::fail_on_unknown_annotation(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    &POD.replace("name: a\n", "name: a\n  annotations: {trainmesh.dev/setle: 1s}\n"),
    1,
    &["FP045 W annotation trainmesh.dev/setle has no effect: did you mean trainmesh.dev/settle?"],
    ""
)]
#[case::fail_on_unknown_label_of_a_namespace(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    NAMESPACE,
    1,
    &[],
    "warning: stdin: document 1, line 5: FP045: Namespace team-a: label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?"
)]
#[case::unknown_labels_of_a_namespace(
    &["lint", "-f", "-", "--fail-on", "W"],
    NAMESPACE,
    1,
    &["roles: 0"],
    "FP045: Namespace team-a: label trainmesh.dev/fabric=tpc: no fabric profile has this name: did you mean tcp?"
)]
#[case::unknown_labels_of_a_namespace_as_json(
    &["lint", "-f", "-", "-o", "json"],
    NAMESPACE,
    0,
    &[r#""message":"Namespace team-a: label trainmesh.dev/mesh-traffic=off: unknown mode: expected leave, "#, r#""id":"FP045""#],
    ""
)]
#[case::label_of_a_workload(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    JOB_SET,
    1,
    &["1 role: 1 changed; 3 manifest warnings\n"],
    "warning: stdin: document 1, line 3: FP045: JobSet default/a: trainmesh.dev/inject has no effect in .metadata.labels: move it to \
     .spec.replicatedJobs[0].template.spec.template.metadata.labels\n"
)]
#[case::label_of_a_job_template(
    &["lint", "-f", "-", "--fail-on", "W"],
    JOB_SET,
    1,
    &["roles: 1"],
    "trainmesh.dev/fabric has no effect in .spec.replicatedJobs[0].template.metadata.labels: move it to"
)]
#[case::misspelled_label_of_a_workload(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    &CRON_JOB.replace("metadata: {name: a}", "metadata: {name: a, annotations: {trainmesh.dev/fabrik: x}}"),
    1,
    &[],
    "CronJob default/a: trainmesh.dev/fabrik has no effect in .metadata.annotations: did you mean trainmesh.dev/fabric in \
     .spec.jobTemplate.spec.template.metadata.labels?\n"
)]
#[case::label_as_annotation_of_a_workload(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    &CRON_JOB.replace("metadata: {name: a}", "metadata: {name: a, annotations: {trainmesh.dev/inject: disabled}}"),
    1,
    &[],
    "trainmesh.dev/inject has no effect in .metadata.annotations: set the label in .spec.jobTemplate.spec.template.metadata.labels"
)]
#[case::fabric_of_the_pod(
    &["preview", "-f", "-", "--summary", "--fabric", "tcp"],
    &CRON_JOB.replace("trainmesh.dev/inject: disabled", "trainmesh.dev/fabric: ib-shared"),
    0,
    &[],
    "CronJob: --fabric tcp has no effect on pods with their own label trainmesh.dev/fabric=ib-shared\n"
)]
#[case::label_of_a_pod_template(&["preview", "-f", "-", "--fail-on", "unknown"], CRON_JOB, 0, &["PodOptedOut"], "")]
#[case::once_for_each_namespace(
    &["lint", "-f", "-", "--fail-on", "W"],
    &format!("{NAMESPACE}---\n{}", POD.replace("name: a\n", "name: a\n  namespace: team-a\n")),
    1,
    &["roles: 1; E: 0, W: 3, I: 0"],
    "FP045: Namespace team-a: label trainmesh.dev/injct has no effect"
)]
#[case::unknown_labels_of_a_namespace_as_sarif(&["lint", "-f", "-", "-o", "sarif"], NAMESPACE, 0, &[r#""ruleId":"FP045""#], "")]
#[case::fail_on_invalid_pod(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    &GPU_POD.replace("\"8\"", "8"),
    1,
    &["FP049 E the apiserver rejects the pod: .spec.containers[0].env[0].value is 8: expected a string; quote it\n    stdin:8 ", "1 role: 1 unchanged; of these, 1 with a refused rule, 1 unknown or invalid"],
    ""
)]
#[case::invalid_pod_as_yaml(
    &["preview", "-f", "-", "-o", "yaml"],
    &GPU_POD.replace("\"8\"", "8"),
    0,
    &["kind: Pod\n"],
    "warning: stdin:8: Pod default/a: FP049: the apiserver rejects the pod: .spec.containers[0].env[0].value is 8: expected a string; quote it\n"
)]
#[case::invalid_quantity_as_patch(
    &["preview", "-f", "-", "-o", "patch"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: a, image: i, resources: {limits: {memory: 12GB}}}\n",
    0,
    &["[]"],
    "warning: stdin:6: Pod default/a: FP049: the apiserver rejects the pod: .spec.containers[0].resources.limits.memory is \"12GB\""
)]
#[case::unknown_value_as_yaml(
    &["preview", "-f", "-", "-o", "yaml"],
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  restartPolicy: Nevr\n  containers: [{name: a, image: i}]\n",
    0,
    &["restartPolicy: Nevr\n"],
    "warning: stdin:5: Pod default/a: FP049: the apiserver rejects restartPolicy=Nevr: did you mean Never?\n"
)]
#[case::fail_on_unknown_kind(
    &["preview", "-f", "-", "--fail-on", "unknown"],
    "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\nspec: {template: {spec: {containers: []}}}\n",
    1,
    &[],
    "note: stdin:1: argoproj.io/v1alpha1 Rollout is not supported"
)]
#[case::fail_on_does_not_hide_errors(&["preview", "-f", "-", "--fail-on", "changed"], &format!("{POD}---\na: [\n"), 2, &[], "document 2")]
#[case::every_conflict(
    &["preview", "-f", "-", "--fabric", "eks-efa"],
    &GPU_POD.replace("NCCL_DEBUG", "NCCL_NET").replace("\"8\"", "Socket"),
    0,
    &["eks-efa: 2 conflicts\n    NCCL_NET=Socket in a selects another transport: remove it\n    vpc.amazonaws.com/efa depends on"],
    ""
)]
#[case::position(&["preview", "-f", "-"], &format!("# comment\n---\n{POD}---\n{POD}"), 0, &["stdin:3: Pod default/a\n", "stdin:12: Pod default/a\n", "2 roles: 2 changed\n"], "")]
#[case::skips_are_collapsed(
    &["preview", "-f", "-"],
    POD,
    0,
    &["  skipped mesh.native (NativeLeft), mesh.traffic (TrafficLeft), ", ", termination.managed (NoHelpers)\n"],
    ""
)]
#[case::skips_are_shown(&["preview", "-f", "-", "-v"], POD, 0, &["fabric              skipped FabricNotNamed: neither"], "")]
#[case::summary(&["preview", "-f", "-", "--summary"], POD, 0, &["1 role: 1 changed\n"], "")]
#[case::summary_of_files(
    &["preview", "-f", "-", "-f", "examples/pytorchjob.yaml", "--summary"],
    &format!("{POD}---\na: [\n"),
    2,
    &["stdin: 1 role: 1 changed; 1 error\nexamples/pytorchjob.yaml: 2 roles: 2 changed\n3 roles: 3 changed; 1 error\n"],
    "document 2"
)]
#[case::summary_is_text(&["preview", "-f", "-", "--summary", "-o", "json"], POD, 2, &[], "cannot be used with")]
#[case::roles_are_folded(&["preview", "-f", "examples/pytorchjob.yaml"], "", 0, &["PyTorchJob research/llama-pretrain · Master, Worker ×3\n"], "")]
#[case::role(&["preview", "-f", "examples/pytorchjob.yaml", "--role", "Worker", "-o", "patch"], "", 0, &["\"op\": \"add\""], "")]
#[case::no_such_role(&["preview", "-f", "examples/pytorchjob.yaml", "--role", "worker"], "", 2, &[], "no pod has the role worker: did you mean Worker?")]
#[case::another_role(&["preview", "-f", "examples/pytorchjob.yaml", "--role", "ps"], "", 2, &[], "no pod has the role ps: use Master or Worker")]
#[case::premise(
    &["preview", "-f", "-"],
    POD,
    0,
    &["namespace labels: assumed, because the input has no Namespace: istio-injection=enabled,trainmesh.dev/inject=enabled\n\n"],
    ""
)]
#[case::premise_as_a_note(&["preview", "-f", "-", "-o", "yaml"], POD, 0, &["kind: Pod"], "note: namespace labels: assumed, because the input has no Namespace: ")]
#[case::premise_of_a_patch(&["preview", "-f", "-", "-o", "patch"], POD, 0, &["add"], "note: namespace labels: assumed, because the input has no Namespace: ")]
#[case::premise_of_sarif(&["lint", "-f", "-", "-o", "sarif"], POD, 0, &["2.1.0"], "note: namespace labels: assumed, because the input has no Namespace: ")]
#[case::premise_of_a_flag(&["preview", "-f", "-", "--namespace-labels", "a=b"], POD, 0, &["namespace labels: a=b (--namespace-labels)\n"], "")]
#[case::premise_of_several_flags(
    &["preview", "-f", "-", "--namespace-labels", "a=b", "--namespace-labels", "c=d,a=e"],
    POD,
    0,
    &["namespace labels: a=e,c=d (--namespace-labels)\n"],
    ""
)]
#[case::manifest_without_flag(&["preview", "job.yaml"], "", 2, &[], "use '-f job.yaml'")]
#[case::lint_without_flag(&["lint", "-R", "jobs/"], "", 2, &[], "use '-f jobs/'")]
#[case::no_manifest(&["preview"], "", 2, &[], "--filename <FILE>|--kustomize <DIR>")]
#[case::machine_hint(&["fabric", "render", "eks-efa"], "", 1, &["depends on the instance type"], "set --machine; the profile contains p4d.24xlarge, ")]
#[case::hint_about_settings(
    &["fabric", "render", "aks-nd-sriov"],
    "",
    0,
    &["skipped NCCL_IB_PCI_RELAXED_ORDERING, NCCL_IB_QPS_PER_CONNECTION, ", ": for Standard_ND96isr_H*, but the pod selects no instance type"],
    "note: settings depend on the machine: set --machine; the profile contains Standard_ND96isr_H*"
)]
#[case::skipped_profile(
    &["fabric", "render", "gke-rdma-gib-a3u", "--gpus", "4"],
    "",
    0,
    &["fabric (TooFewAccelerators)"],
    "note: not applied: the fabric profile requires more accelerators: gke-rdma-gib-a3u: at least 8"
)]
#[case::machine(&["fabric", "render", "eks-efa", "--machine", "p5.48xlarge"], "", 0, &["applied FabricAdded"], "")]
fn commands(
    #[case] arguments: &[&str],
    #[case] input: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&trainmesh(arguments, input), code, stdout, stderr);
}

/// Runs `trainmesh COMMAND` in a folder of kustomizations with the executable scripts `tools` on the PATH. Returns its exit code and
/// its output.
pub fn run_with_tools(command: &str, tools: &[(&str, &str)], kubeconfig: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in tools {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for kustomization in ["overlay", "a", "b"] {
        fs::create_dir(folder.path().join(kustomization)).unwrap();
        fs::write(folder.path().join(kustomization).join("kustomization.yaml"), "").unwrap();
    }
    fs::write(folder.path().join("pod.yaml"), POD).unwrap();
    fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_trainmesh"))
        .args(command.split_whitespace())
        .current_dir(&folder)
        .env_remove("TRAINMESH_CONFIG")
        .env_remove("TRAINMESH_NAMESPACE")
        .env("PATH", folder.path())
        .env("KUBECONFIG", folder.path().join("kubeconfig"))
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code(), text)
}

const PRINT_POD: &str = "echo 'apiVersion: v1'; echo 'kind: Pod'; echo \"metadata: {name: $1-$2}\"; \
                         echo 'spec: {containers: [{name: a, image: i}]}'";

/// Fails for other directories than `b`.
const PRINT_POD_OF_B: &str = "[ \"$2\" = b ] || exit 1; printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i}]}\n'";

#[rstest]
#[case::kubectl("preview -k overlay", &[("kubectl", PRINT_POD), ("kustomize", "exit 1")], 0, "overlay/kustomization.yaml:1: Pod default/kustomize-overlay")]
#[case::kustomize("lint -k overlay", &[("kustomize", PRINT_POD)], 0, "roles: 1;")]
#[case::several("preview -k a -k b", &[("kubectl", PRINT_POD)], 0, "2 roles: 2 changed")]
#[case::failure(
    "preview -k overlay",
    &[("kubectl", "echo warning: x >&2; echo 'error: no kustomization.yaml in overlay' >&2; exit 1")],
    2,
    "error: overlay/kustomization.yaml: document 1, line 1: `kubectl kustomize overlay` failed: warning: x no kustomization.yaml in overlay"
)]
#[case::deprecated_field(
    "preview -k overlay",
    &[("kubectl", "echo '# Warning: patchesJson6902 is deprecated.' >&2; echo 'error: missing value' >&2; exit 1")],
    2,
    "error: overlay/kustomization.yaml: document 1, line 1: `kubectl kustomize overlay` failed: missing value"
)]
#[case::file("preview -k overlay/kustomization.yaml", &[("kubectl", PRINT_POD)], 2, "is a file: name the directory of the kustomization")]
#[case::logged_failure(
    "preview -k overlay",
    &[("kubectl", "printf 'E1123 12:00:00 1 run.go:72] \"command failed\" err=<\\n\\taccumulating resources\\n\\tno such host\\n >\\n' >&2; exit 1")],
    2,
    "failed: accumulating resources no such host"
)]
#[case::logged_line(
    "preview -k overlay",
    &[("kubectl", "echo 'E1123 12:00:00 1 run.go:72] \"command failed\" err=\"not a directory\"' >&2; exit 1")],
    2,
    "line 1: `kubectl kustomize overlay` failed: not a directory\n"
)]
#[case::escaped_line(
    "preview -k overlay",
    &[("kubectl", r#"printf '%s\n' 'E1123 12:00:00 1 run.go:72] "command failed" err="no match for \"Job.a\"\nin b"' >&2; exit 1"#)],
    2,
    "failed: no match for \"Job.a\" in b\n"
)]
#[case::missing_directory(
    "preview -k overlya",
    &[("kubectl", "echo \"error: lstat $2: no such file or directory\" >&2; exit 1")],
    2,
    "error: overlya: does not exist: check the path\n"
)]
#[case::remote_directory(
    "preview -k github.com/example/jobs",
    &[("kubectl", "echo error: no network >&2; exit 1")],
    2,
    "error: github.com/example/jobs: `kubectl kustomize github.com/example/jobs` failed: no network\n"
)]
#[case::no_tool("preview -k overlay", &[], 2, "line 1: neither kubectl nor kustomize is on the PATH")]
#[case::failure_among_others(
    "preview -k a -k b",
    &[("kubectl", PRINT_POD_OF_B)],
    2,
    "1 role: 1 changed; 1 error"
)]
#[case::failure_in_sarif(
    "lint -k a -k b -o sarif",
    &[("kubectl", PRINT_POD_OF_B)],
    2,
    "\"text\":\"`kubectl kustomize a` failed: no error message\"},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"a/kustomization.yaml\""
)]
#[case::both("preview -k overlay -f pod.yaml", &[], 2, "cannot be used with")]
fn kustomizations_are_rendered_by_the_users_tool(
    #[case] command: &str,
    #[case] tools: &[(&str, &str)],
    #[case] code: i32,
    #[case] expected: &str,
) {
    let (actual, text) = run_with_tools(command, tools, "");
    assert_eq!(actual, Some(code), "{text}");
    assert!(text.contains(expected), "{text}");
}

/// A summary shows no pods, so that only notes on which its counts depend matter.
#[rstest]
#[case::pods(&["-o", "diff"], true)]
#[case::counts(&["--summary"], false)]
fn notes_about_pods_are_printed_with_the_pods(#[case] output: &[&str], #[case] is_printed: bool) {
    let run =
        trainmesh(&[&["preview", "-f", "examples/rayjob.yaml", "-f", "examples/trainjob.yaml"], output].concat(), "");
    assert_eq!(run.stderr.contains("random suffix"), is_printed, "{run:#?}");
}

#[test]
fn findings_that_are_listed_are_not_counted_again() {
    let annotations = (0..7).map(|index| format!("trainmesh.dev/setle{index}: 1s")).collect::<Vec<_>>().join(", ");
    let pod = POD.replace("name: a\n", &format!("name: a\n  annotations: {{{annotations}}}\n"));
    let run = trainmesh(&["preview", "-f", "-", "-o", "explain"], &pod);
    assert_eq!(run.stdout.matches("FP045 W annotation").count(), 7, "{}", run.stdout);
    assert!(!run.stdout.contains("more; run"), "{}", run.stdout);
}
