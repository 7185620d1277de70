//! Manifests in directories of repositories and in kustomizations: which files are read, and where messages point.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;
use trainmesh_testing::cli::{Run, assert_exit};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i}]}\n";
/// A job with a finding on line 11.
const JOB: &str = "\
# a comment
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  template:
    spec:
      containers:
      - name: a
        image: i
        env: [{name: NCCL_IB_RETRY_CNT, value: \"100\"}]
";

/// A repository with one pod, and files that are not manifests.
const REPOSITORY: &[(&str, &str)] = &[
    ("jobs/pod.yaml", POD),
    ("jobs/values.yaml", "replicas: 1\n"),
    ("jobs/list.json", "[1]"),
    ("jobs/kustomization.yaml", "resources: [pod.yaml]\n"),
    (".github/workflows/ci.yaml", "on: [\n"),
    (".travis.yml", "language: go\n"),
    ("chart/Chart.yaml", "apiVersion: v2\nname: a\n"),
    ("chart/values.yaml", "a: 1\n"),
    ("chart/templates/job.yaml", "{{- if .Values.a }}\nkind: Job\n{{- end }}\n"),
    ("chart/templates/tests/pod.yaml", POD),
    ("grafana.yaml", "apiVersion: 1\n"),
    ("chart/files/template.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  {{- toYaml .Values.spec | nindent 2 }}\n"),
];

/// A base with an overlay, as kustomize is used: all kinds of patches, in files beside and above the overlay.
const OVERLAYS: &[(&str, &str)] = &[
    (
        "base/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [job.yaml]\n",
    ),
    ("base/job.yaml", JOB),
    ("patches/queue.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {suspend: true}\n"),
    (
        "overlays/prod/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../../base, extra.yaml]\npatches:\n- path: size.yaml\n\
         - patch: |-\n    kind: Job\npatchesStrategicMerge: [../../patches/queue.yaml, extra.yaml]\npatchesJson6902: [{path: ops.yaml}]\n",
    ),
    ("overlays/prod/size.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3}\n"),
    ("overlays/prod/ops.yaml", "[{op: remove, path: /spec/suspend}]\n"),
    ("overlays/prod/extra.yaml", POD),
];

/// Two overlays of a base, which add a prefix and a namespace, and an object that is generated.
const KUSTOMIZATION: &[(&str, &str)] = &[
    ("base/kustomization.yaml", "resources: [job.yaml]\nnamePrefix: b-\n"),
    ("base/job.yaml", JOB),
    (
        "overlays/prod/kustomization.yaml",
        "namespace: team-a\nnamePrefix: p-\nnameSuffix: -x\nresources: [../../base]\n",
    ),
    ("rendered.yaml", RENDERED),
];

/// The result of `overlays/prod`, with a patched setting and a generated object.
const RENDERED: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: p-b-a-x
  namespace: team-a
spec:
  template:
    spec:
      containers:
      - env:
        - name: NCCL_IB_RETRY_CNT
          value: \"100\"
        image: i
        name: a
---
apiVersion: batch/v1
kind: Job
metadata: {name: generated, namespace: team-a}
spec: {template: {spec: {containers: [{name: a, image: i, env: [{name: NCCL_IB_RETRY_CNT, value: \"100\"}]}]}}}
";

/// Runs `trainmesh COMMAND` in a folder with `files`, where kubectl prints `rendered.yaml`.
fn run(files: &[(&str, &str)], command: &str) -> Run {
    run_in(&folder(files), command)
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files
        .iter()
        .chain(&[("bin/kubectl", "#!/bin/sh\nwhile read -r line; do echo \"$line\"; done < rendered.json\n")])
    {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(folder.path().join("rendered.json"), rendered_as_json(files)).unwrap();
    fs::set_permissions(folder.path().join("bin/kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Returns the rendered objects in a form without indentation, which the shell's `read` would remove.
fn rendered_as_json(files: &[(&str, &str)]) -> String {
    let rendered = files.iter().find(|(name, _)| *name == "rendered.yaml").map_or("", |(_, text)| text);
    let objects = rendered.split("---\n").filter(|text| !text.is_empty());
    let objects = objects.map(|text| trainmesh_core::yaml::parse(text).unwrap().to_string());
    objects.collect::<Vec<_>>().join("\n---\n") + "\n"
}

fn run_in(folder: &TempDir, command: &str) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_trainmesh"))
        .args(command.split_whitespace())
        .current_dir(folder)
        .env_remove("TRAINMESH_CONFIG")
        .env_remove("COLUMNS")
        .env("PATH", folder.path().join("bin"))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[rstest]
#[case::skipped(
    "preview -f . -R --summary --fail-on refused,unknown",
    0,
    &["1 role: 1 changed\n"],
    "note: skipped 10 files that are not manifests: 6 without apiVersion or kind, 1 kustomization (render with -k), 3 Helm templates (render \
     with `helm template NAME CHART -n NAMESPACE`, and pipe to `-f -`); -v lists them\n"
)]
#[case::skipped_by_lint("lint -f . -R", 0, &["roles: 1; E: 0, W: 0, I: 0\n"], "note: skipped 10 files")]
#[case::listed("preview -f . -R --summary -v", 0, &[], "note: ./chart/values.yaml: skipped: not a Kubernetes object")]
#[case::listed_by_lint("lint -f . -R -v", 0, &[], "note: ./chart/templates/tests/pod.yaml: skipped: a Helm template\n")]
#[case::listed_kustomization("lint -f . -R -v", 0, &[], "note: ./jobs/kustomization.yaml: skipped: a kustomization (render with -k)\n")]
#[case::listed_template("preview -f . -R -v", 0, &[], "note: ./chart/files/template.yaml: skipped: a Helm template\n")]
#[case::condition_decides("preview -f . -R --summary --fail-on changed", 1, &["1 role"], "")]
#[case::excluded("preview -f . -R --summary --exclude jobs/values.yaml --exclude chart --exclude *.json", 0, &[], "note: skipped 3 files")]
#[case::excluded_nothing("lint -f . -R --exclude nothing-here", 0, &["roles: 1;"], "note: --exclude nothing-here has no effect: no file or directory matches it")]
#[case::excluded_directories("preview -f jobs -f chart -R --summary --exclude chart/** --exclude kustom*", 2, &[], "error: chart: contains no .yaml, .yml or .json file, also in its subdirectories")]
#[case::file_of_a_directory("lint -f jobs -f ./jobs/pod.yaml -f jobs/../jobs/pod.yaml", 0, &["roles: 1;"], "")]
#[case::excluded_files("lint -f jobs --exclude *.yaml --exclude *.json", 2, &[], "error: jobs: contains no .yaml, .yml or .json file that --exclude leaves: change its patterns\n")]
#[case::missing_among_others("preview -f nope.yaml -f jobs --summary", 2, &["1 role: 1 changed; 1 error\n"], "error: nope.yaml: does not exist: check the path\n")]
#[case::url_among_others("lint -f https://a.example/b.yaml -f jobs", 2, &["roles: 1;"], "b.yaml: is a URL: download it")]
#[case::no_manifest_among_others("lint -f .github -f jobs", 2, &["roles: 1;"], "error: .github: contains no .yaml, .yml or .json file: specify the file, or use -R")]
#[case::pattern_without_effect("preview -f jobs --summary --exclude valuse.yaml", 0, &["1 role"], "note: --exclude valuse.yaml has no effect: no file or directory matches it")]
#[case::not_recursive("preview -f jobs --summary", 0, &["1 role"], "skipped 3 files that are not manifests: 2 without")]
#[case::named_values("preview -f jobs/values.yaml", 2, &[], "not a Kubernetes object: it has no `apiVersion` and no `kind`")]
#[case::named_kustomization("preview -f jobs/kustomization.yaml", 2, &[], "line 1: a kustomization: render its directory with -k\n")]
#[case::named_template("lint -f chart/files/template.yaml", 2, &[], "; a Helm template: render the chart with `helm template NAME CHART -n NAMESPACE`, and pipe it to `-f -`\n")]
#[case::templates_of_a_chart("lint -f chart/templates", 0, &["roles: 0"], "skipped 1 file that is not a manifest: 1 Helm template")]
#[case::files_of_a_chart("lint -f chart/files", 0, &["roles: 0"], "skipped 1 file that is not a manifest: 1 Helm template")]
#[case::hidden_directory_is_read_if_named("preview -f .github -R", 2, &[], ".github/workflows/ci.yaml: document 1, line")]
fn files_of_a_repository_that_are_not_manifests_are_skipped(
    #[case] command: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&run(REPOSITORY, command), code, stdout, stderr);
}

#[rstest]
#[case::tree(
    "preview -f . -R --summary --exclude bin", 0, &["./base/job.yaml: 1 role", "./overlays/prod/extra.yaml: 1 role"],
    "note: skipped 5 files that are not manifests: 2 kustomizations (render with -k), 3 patches of kustomizations; -v lists them\n"
)]
#[case::tree_by_lint("lint -f . -R --exclude bin", 1, &["roles: 2;"], "note: skipped 5 files")]
#[case::listed("lint -f . -R -v", 1, &[], "note: ./overlays/prod/size.yaml: skipped: a patch of a kustomization\n")]
#[case::overlay("preview -f overlays/prod --summary", 0, &["1 role"], "1 kustomization (render with -k), 2 patches of kustomizations;")]
#[case::absolute("preview -f overlays/../overlays -R --summary", 0, &["1 role"], "2 patches of kustomizations;")]
#[case::patch_of_another_tree("preview -f patches --summary", 2, &[], "patches/queue.yaml: document 1, line 4: Job: spec.template is missing")]
#[case::named_patch("preview -f overlays/prod/size.yaml", 2, &[], "Deployment: spec.template is missing")]
#[case::named_kustomization("lint -f overlays/prod/kustomization.yaml", 2, &[], "line 1: a kustomization: render its directory with -k\n")]
fn kustomizations_of_a_repository_are_skipped_with_their_patches(
    #[case] command: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&run(OVERLAYS, command), code, stdout, stderr);
}

/// kustomize finds the file by its name.
#[rstest]
#[case::named(
    "lint -f jobs/kustomize.yml",
    2,
    "kustomize.yml: document 1, line 1: a kustomization, but kustomize reads only files named kustomization.yaml"
)]
#[case::named_for_preview(
    "preview -f jobs/kustomize.yml --summary",
    2,
    "a kustomization, but kustomize reads only files named"
)]
#[case::skipped(
    "lint -f jobs",
    0,
    "note: skipped 1 file that is not a manifest: 1 kustomization in files that kustomize does not read (rename them)"
)]
#[case::listed(
    "lint -f jobs -v",
    0,
    "note: jobs/kustomize.yml: skipped: a kustomization in a file that kustomize does not read (rename it)\n"
)]
fn kustomizations_under_another_name_are_reported(#[case] command: &str, #[case] code: i32, #[case] stderr: &str) {
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [pod.yaml]\n";
    assert_exit(&run(&[("jobs/pod.yaml", POD), ("jobs/kustomize.yml", kustomization)], command), code, &[], stderr);
}

/// As in kubectl, links to directories are not followed, which a note reports.
#[rstest]
#[case::skipped(
    "lint -f jobs -R",
    0,
    "note: skipped 1 file that is not a manifest: 1 symbolic link to a directory (specify it with -f); -v lists them\n"
)]
#[case::listed(
    "preview -f jobs -R -v --summary",
    0,
    "note: jobs/team: skipped: a symbolic link to a directory (specify it with -f)\n"
)]
#[case::not_recursive("lint -f jobs", 0, "")]
#[case::named("lint -f jobs/team", 1, "")]
#[case::alone("lint -f links -R", 2, "error: links: contains no .yaml, .yml or .json file")]
fn links_to_directories_are_skipped(#[case] command: &str, #[case] code: i32, #[case] stderr: &str) {
    let folder = folder(&[("jobs/pod.yaml", POD), ("shared/job.yaml", JOB), ("links/.keep", "")]);
    for link in ["jobs/team", "links/team"] {
        symlink("../shared", folder.path().join(link)).unwrap();
    }
    symlink("../shared", folder.path().join("jobs/..data")).unwrap();
    let run = run_in(&folder, command);
    assert_exit(&run, code, &[], stderr);
    assert_eq!(run.stderr.contains("symbolic"), stderr.contains("symbolic"), "{run:#?}");
}

/// A file with an object is a manifest, so that its other documents are errors.
#[rstest]
#[case::before("a: 1\n---\n", "", "document 1, line 1: not a Kubernetes object")]
#[case::after("", "---\n- 1\n", "document 2, line 6: expected a Kubernetes object, found a list")]
#[case::one_key("", "---\nkind: Pod\n", "document 2, line 6: not a Kubernetes object: it has no `apiVersion`")]
#[case::syntax("", "---\na: [\n", "document 2, line")]
fn documents_beside_an_object_are_errors(#[case] before: &str, #[case] after: &str, #[case] stderr: &str) {
    let text = format!("{before}{POD}{after}");
    assert_exit(&run(&[("a.yaml", &text)], "preview -f . --exclude bin"), 2, &["1 role: 1 changed; 1 error"], stderr);
}

#[rstest]
#[case::one_key("kind: Pod\n", "has no `apiVersion`")]
#[case::misspelled_keys(
    "apiversion: v1\nKind: Pod\n",
    "it has no `apiVersion` and no `kind`, but `apiversion`: did you mean apiVersion?"
)]
#[case::syntax("a: [\n", "a.yaml: document 1, line")]
#[case::placeholder(
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  priority: $A\n",
    "document 1, line 6: Pod: spec.priority contains"
)]
#[case::template_outside_a_chart(
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n",
    "; a Helm template: render the chart with `helm template NAME CHART -n NAMESPACE`"
)]
fn broken_manifests_of_a_directory_are_errors(#[case] text: &str, #[case] stderr: &str) {
    assert_exit(&run(&[("a.yaml", text)], "preview -f . -R"), 2, &[], stderr);
}

/// Keys of other programs resemble those of Kubernetes, but not their values.
#[rstest]
#[case::version_of_an_application("appVersion: '1.0'\nbind: 0.0.0.0:8080\n")]
#[case::version_of_another_api("api_version: 3\nkinds: [a]\n")]
#[case::number("APIVersion: 2\nfind: x\n")]
#[case::kind_in_lowercase("apiversion: v1\nkinds: pod\n")]
fn files_with_similar_keys_are_skipped(#[case] text: &str) {
    let stderr = "note: skipped 1 file that is not a manifest: 1 without apiVersion or kind";
    assert_exit(&run(&[("a.yaml", text)], "preview -f . -R"), 0, &[], stderr);
}

/// Without a document, there is nothing to check.
#[rstest]
#[case::one(&[("jobs/a.yaml", "# a\n")], "error: jobs/a.yaml: empty: no Kubernetes object found\n")]
#[case::several(&[("jobs/a.yaml", "# a\n"), ("jobs/b/c.yaml", "---\n")], "error: jobs: all 2 files are empty: no Kubernetes object found\n")]
fn empty_files_alone_are_an_error(#[case] files: &[(&str, &str)], #[case] stderr: &str) {
    for command in ["lint -f jobs -R", "preview -f jobs -R --summary"] {
        assert_exit(&run(files, command), 2, &[], stderr);
    }
}

/// Helm charts of a kustomization need an option that kubectl takes and trainmesh does not.
#[test]
fn kustomizations_with_charts_name_the_command_that_renders_them() {
    let folder = folder(&[("prod/kustomization.yaml", "helmCharts: []\n")]);
    let script = "#!/bin/sh\necho 'error: trouble configuring builtin HelmChartInflationGenerator: must specify --enable-helm' >&2\nexit 1\n";
    fs::write(folder.path().join("bin/kubectl"), script).unwrap();
    for command in ["lint", "preview"] {
        let run = run_in(&folder, &format!("{command} -k prod"));
        let fix = "error: prod/kustomization.yaml: document 1, line 1: contains Helm charts: run `kubectl kustomize --enable-helm prod`, and pipe the result to `-f -`\n";
        assert_exit(&run, 2, &[], fix);
    }
}

#[rstest]
#[case::heading("lint -k overlays/prod", 1, &["base/job.yaml:2: Job team-a/p-b-a-x\n", "    base/job.yaml:11 /spec/containers/0/env/0"], "")]
#[case::generated("lint -k overlays/prod", 1, &["overlays/prod/kustomization.yaml:1: Job team-a/generated\n"], "")]
#[case::preview("preview -k overlays/prod", 0, &["base/job.yaml:2: Job team-a/p-b-a-x\n"], "")]
#[case::json("preview -k overlays/prod -o json", 0, &[r#""source":"base/job.yaml","document":0"#, r#""line":11"#], "")]
#[case::cause("preview -k overlays/prod --summary --fail-on warning", 1, &["base/job.yaml: 1 role"], "failed: warning: base/job.yaml:11: Job team-a/p-b-a-x: FP005")]
#[case::several_manifests("preview -f overlays/prod/extra.yaml base/job.yaml", 2, &[], "tip: to read the manifest 'base/job.yaml', use '-f base/job.yaml'")]
#[case::exclude_is_for_directories("preview -k overlays/prod --exclude a", 2, &[], "cannot be used with")]
fn messages_about_kustomizations_name_the_source_file(
    #[case] command: &str,
    #[case] code: i32,
    #[case] stdout: &[&str],
    #[case] stderr: &str,
) {
    assert_exit(&run(KUSTOMIZATION, command), code, stdout, stderr);
}

/// A label that a kustomization adds is not in the base; one of the base is.
#[rstest]
#[case::job(
    "",
    "overlays/prod/kustomization.yaml: document 1, line 1: FP045: Job team-a/a: trainmesh.dev/inject has no effect in .metadata.labels"
)]
#[case::base(
    ", labels: {trainmesh.dev/inject: audit}",
    "base/job.yaml: document 1, line 4: FP045: Job team-a/a: trainmesh.dev/inject"
)]
#[case::namespace(
    "",
    "overlays/prod/kustomization.yaml: document 1, line 1: FP045: Namespace team-a: label trainmesh.dev/injct"
)]
#[case::namespace_of_the_base(
    "",
    "base/job.yaml: document 2, line 15: FP045: Namespace team-a: label trainmesh.dev/zone"
)]
fn warnings_about_labels_of_kustomizations_name_the_file_that_sets_them(#[case] label: &str, #[case] stderr: &str) {
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {trainmesh.dev/zone: a}}\n";
    let base = JOB.replace("{name: a}", &format!("{{name: a{label}}}")) + namespace;
    let added = "labels: {trainmesh.dev/inject: audit, trainmesh.dev/injct: b";
    let rendered = JOB.replace("{name: a}", &format!("{{name: a, namespace: team-a, {added}}}}}"))
        + &namespace.replace("labels: {", &format!("{added}, "));
    let files = [
        ("base/kustomization.yaml", "resources: [job.yaml]\n"),
        ("base/job.yaml", &base),
        (
            "overlays/prod/kustomization.yaml",
            "namespace: team-a\nresources: [../../base]\ncommonLabels: {trainmesh.dev/inject: audit, trainmesh.dev/injct: b}\n",
        ),
        ("rendered.yaml", &rendered),
    ];
    for command in ["lint -k overlays/prod", "preview -k overlays/prod --summary --fail-on unknown"] {
        assert_exit(&run(&files, command), 1, &[], stderr);
    }
}

/// The value of another flag is no manifest that lacks its flag.
#[rstest]
#[case::long("preview llama-0 -k overlays/prod --config base/job.yaml")]
#[case::short("preview llama-0 -k overlays/prod -n base/job.yaml")]
#[case::another_conflict("preview -k overlays/prod --exclude base/job.yaml")]
#[case::conflict_of_lint("lint -f base/job.yaml --summary -o json base.yaml --config base/job.yaml")]
fn values_of_flags_are_not_suggested_as_manifests(#[case] command: &str) {
    let run = run(KUSTOMIZATION, command);
    assert_exit(&run, 2, &[], "error: ");
    assert!(!run.stderr.contains("'-f base/job.yaml'"), "{run:#?}");
}

/// The overlay `overlays/prod` with one more entry, which changes the setting of the base to the rendered one.
fn patched(entry: &str) -> Vec<(&'static str, String)> {
    let base = JOB.replace("100", "7");
    let kustomization = format!("namespace: team-a\nnamePrefix: p-\nnameSuffix: -x\nresources: [../../base]\n{entry}");
    let patch = format!("# 100\n{}", JOB.replacen("spec:\n", "spec:\n  suspend: true\n", 1));
    let files = [
        ("base/kustomization.yaml", "resources: [job.yaml]\nnamePrefix: b-\n".to_owned()),
        ("base/job.yaml", base),
        ("overlays/prod/kustomization.yaml", kustomization),
        ("overlays/prod/prefixed.yaml", patch.replacen("{name: a}", "{name: b-a}", 1)),
        ("overlays/prod/retry.yaml", patch),
        ("overlays/prod/other.yaml", JOB.replace("name: a", "name: c")),
        ("rendered.yaml", RENDERED.split("---\n").next().unwrap_or_default().to_owned()),
    ];
    files.into()
}

/// A finding about a value of a patch names the patch, which a pull request shows, and not the base with another value.
#[rstest]
#[case::file("patches: [{path: retry.yaml}]\n", "overlays/prod/retry.yaml", 13)]
#[case::name_with_the_prefix_of_the_base("patches: [{path: prefixed.yaml}]\n", "overlays/prod/prefixed.yaml", 13)]
#[case::file_with_a_target("patches: [{path: retry.yaml, target: {kind: Job}}]\n", "overlays/prod/retry.yaml", 13)]
#[case::target_of_another_kind(
    "patches: [{path: retry.yaml, target: {kind: PyTorchJob}}]\n",
    "overlays/prod/kustomization.yaml",
    1
)]
#[case::strategic_merge("patchesStrategicMerge:\n- retry.yaml\n", "overlays/prod/retry.yaml", 13)]
#[case::the_last_patch_wins(
    "patches: [{path: retry.yaml}, {path: retry.yaml, target: {kind: Job}}, {path: other.yaml}]\n",
    "overlays/prod/retry.yaml",
    13
)]
#[case::inline(
    "patches:\n- target: {kind: Job}\n  patch: |-\n    spec: {template: {spec: {containers: [{name: a, env: [\n      {name: NCCL_IB_RETRY_CNT, value: \"100\"}]}]}}}\n",
    "overlays/prod/kustomization.yaml",
    9
)]
#[case::json_patch("patches: [{target: {kind: Job}, patch: '[{op: add}]'}]\n", "overlays/prod/kustomization.yaml", 1)]
#[case::not_patched("", "overlays/prod/kustomization.yaml", 1)]
fn values_of_patches_are_located_in_the_patch(#[case] entry: &str, #[case] file: &str, #[case] line: u64) {
    let files = patched(entry);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(locations(&run(&files, "lint -k overlays/prod -o sarif")), [(format!("%SRCROOT%/{file}"), line)]);
}

/// A mapping that only the rendered object has comes from a kustomization; one that the base has, too, is located there.
#[rstest]
#[case::json_patch(
    "nodeSelectr: {a: b}",
    "",
    "patches: [{target: {kind: Job}, patch: '[{op: add}]'}]\n",
    "overlays/prod/kustomization.yaml",
    1
)]
#[case::merge_patch("nodeSelectr: {a: b}", "", "patches: [{path: spec.yaml}]\n", "overlays/prod/spec.yaml", 7)]
#[case::extended_by_a_patch(
    "nodeSelectr: {a: b, c: d}",
    "",
    "patches: [{path: spec.yaml}]\n",
    "overlays/prod/spec.yaml",
    7
)]
#[case::of_the_base("nodeSelectr: {a: b}", "nodeSelectr: {c: d}", "patches: [{path: spec.yaml}]\n", "base/job.yaml", 7)]
fn mappings_of_patches_are_located_in_the_patch(
    #[case] rendered: &str,
    #[case] base: &str,
    #[case] entry: &str,
    #[case] file: &str,
    #[case] line: u64,
) {
    let job = |field: &str| {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec:\n  template:\n    spec:\n      {field}\n      containers: \
             [{{name: a, image: i}}]\n"
        )
    };
    let files = [
        ("base/kustomization.yaml", "resources: [job.yaml]\n".to_owned()),
        ("base/job.yaml", job(base)),
        ("overlays/prod/kustomization.yaml", format!("resources: [../../base]\n{entry}")),
        ("overlays/prod/spec.yaml", job("nodeSelectr: {a: b}")),
        ("rendered.yaml", job(rendered)),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(locations(&run(&files, "lint -k overlays/prod -o sarif")), [(format!("%SRCROOT%/{file}"), line)]);
}

/// Findings about a role or container that a patch adds are located in the patch, also those about fields that it lacks.
#[rstest]
#[case::value("patch.yaml", "FP060", "overlays/prod/patch.yaml", 10)]
#[case::absent_field("patch.yaml", "FP013", "overlays/prod/patch.yaml", 10)]
#[case::absent_field_of_the_template("patch.yaml", "FP021", "overlays/prod/patch.yaml", 7)]
#[case::value_of_a_json_patch("other.yaml", "FP060", "overlays/prod/kustomization.yaml", 1)]
#[case::absent_field_of_a_json_patch("other.yaml", "FP013", "overlays/prod/kustomization.yaml", 1)]
fn findings_about_an_added_role_are_located_in_the_patch(
    #[case] patch: &str,
    #[case] id: &str,
    #[case] file: &str,
    #[case] line: u64,
) {
    let start = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n";
    let role = |name: &str, fields: &str| {
        format!(
            "    {name}:\n      template:\n        spec:\n          containers:\n          - {{name: pytorch, image: i, resources: \
             {{limits: {{nvidia.com/gpu: 8}}}}{fields}}}\n"
        )
    };
    let (master, worker) = (role("Master", ""), role("Worker", ", env: [{name: NCCL_DEBUGG, value: a}]"));
    let files = [
        ("base/kustomization.yaml", "resources: [job.yaml]\n".to_owned()),
        ("base/job.yaml", format!("{start}{master}")),
        ("overlays/prod/kustomization.yaml", format!("resources: [../../base]\npatches: [{{path: {patch}}}]\n")),
        ("overlays/prod/patch.yaml", format!("{start}{worker}")),
        ("overlays/prod/other.yaml", "[]\n".to_owned()),
        ("rendered.yaml", format!("{start}{master}{worker}")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let run = run(&files, "lint -k overlays/prod -o json");
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let worker = report["results"].as_array().unwrap().iter().find(|result| result["role"] == "Worker").unwrap();
    let finding = worker["lint"].as_array().unwrap().iter().find(|finding| finding["id"] == id).unwrap();
    assert_eq!((finding["source"].as_str(), finding["line"].as_u64()), (Some(file), Some(line)), "{finding}");
}

/// Returns the URI and line of each result of a SARIF log.
fn locations(run: &Run) -> Vec<(String, u64)> {
    let log: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let location = |result: &Value| {
        let physical = &result["locations"][0]["physicalLocation"];
        let artifact = &physical["artifactLocation"];
        let base = artifact["uriBaseId"].as_str().map(|base| format!("{base}/")).unwrap_or_default();
        (format!("{base}{}", artifact["uri"].as_str().unwrap()), physical["region"]["startLine"].as_u64().unwrap())
    };
    log["runs"][0]["results"].as_array().unwrap().iter().map(location).collect()
}

#[rstest]
#[case::kustomization("lint -k overlays/prod -o sarif", &[("%SRCROOT%/base/job.yaml", 11), ("%SRCROOT%/overlays/prod/kustomization.yaml", 1)])]
#[case::dots("lint -f ./overlays/../base/job.yaml -o sarif", &[("%SRCROOT%/base/job.yaml", 11)])]
fn sarif_names_files_below_the_working_directory(#[case] command: &str, #[case] expected: &[(&str, u64)]) {
    let found = locations(&run(KUSTOMIZATION, command));
    let found: Vec<(&str, u64)> = found.iter().map(|(uri, line)| (uri.as_str(), *line)).collect();
    assert_eq!(found, expected);
}

#[test]
fn sarif_names_absolute_paths_relative_to_the_working_directory() {
    let (folder, other) = (folder(KUSTOMIZATION), folder(KUSTOMIZATION));
    let path = |folder: &TempDir| folder.path().canonicalize().unwrap().join("base/job.yaml").display().to_string();
    let found = locations(&run_in(&folder, &format!("lint -f {} -o sarif", path(&folder))));
    assert_eq!(found, [("%SRCROOT%/base/job.yaml".to_owned(), 11)]);
    let found = locations(&run_in(&folder, &format!("lint -f {} -o sarif", path(&other))));
    assert_eq!(found, [(format!("file://{}", path(&other)), 11)]);
}

/// kustomize adds neither prefix nor suffix to the names of Namespaces, and gives them the name of its namespace.
#[rstest]
#[case::prefix("namePrefix: p-\n", "a")]
#[case::suffix("nameSuffix: -s\n", "a")]
#[case::namespace("namePrefix: p-\nnamespace: team\n", "team")]
fn a_namespace_is_found_in_its_file(#[case] changes: &str, #[case] name: &str) {
    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n    trainmesh.dev/injct: enabled\n";
    let files = [
        ("overlays/prod/kustomization.yaml", &*format!("resources: [ns.yaml]\n{changes}")),
        ("overlays/prod/ns.yaml", namespace),
        ("rendered.yaml", &*namespace.replace("name: a", &format!("name: {name}"))),
    ];
    let found = locations(&run(&files, "lint -k overlays/prod -o sarif"));
    assert_eq!(found, [("%SRCROOT%/overlays/prod/ns.yaml".to_owned(), 6)]);
}

/// A finding about a field of the job names what sets it: a patch, or the kustomization with a JSON patch.
#[rstest]
#[case::json_patch(
    "patches: [{target: {kind: PyTorchJob}, patch: '[{op: add}]'}]\n",
    "overlays/prod/kustomization.yaml",
    1
)]
#[case::merge_patch("patches: [{path: minimum.yaml}]\n", "overlays/prod/minimum.yaml", 4)]
fn a_patched_field_of_a_job_is_located(#[case] patches: &str, #[case] source: &str, #[case] line: u64) {
    let head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n";
    let roles =
        "  pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}}\n";
    let minimum = "spec: {runPolicy: {schedulingPolicy: {minAvailable: 9}}}\n";
    let rendered = format!("{head}spec:\n  runPolicy: {{schedulingPolicy: {{minAvailable: 9}}}}\n{roles}");
    let files = [
        ("overlays/prod/kustomization.yaml", &*format!("resources: [job.yaml]\n{patches}")),
        (
            "overlays/prod/job.yaml",
            &*format!("{head}spec:\n  runPolicy: {{schedulingPolicy: {{minAvailable: 2}}}}\n{roles}"),
        ),
        ("overlays/prod/minimum.yaml", &*format!("{head}{minimum}")),
        ("rendered.yaml", &*rendered),
    ];
    let run = run(&files, "lint -k overlays/prod -o json");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report["results"][0]["lint"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["id"] == "TR011").unwrap_or_else(|| panic!("{run:#?}"));
    let found_source = found.get("source").unwrap_or(&report["results"][0]["source"]);
    assert_eq!((found_source.as_str(), found["line"].as_u64()), (Some(source), Some(line)), "{run:#?}");
}

/// The labels of a Namespace are named once, not for each pod.
#[rstest]
#[case::of_the_input(
    "preview -f . --exclude bin --summary --fail-on unknown",
    "failed: unknown: a.yaml: document 1, line 3: FP045",
    1
)]
#[case::of_a_flag(
    "preview -f . --exclude bin --fail-on unknown --namespace-labels trainmesh.dev/injct=a",
    "failed: unknown: ",
    2
)]
fn causes_are_named_once(#[case] command: &str, #[case] start: &str, #[case] count: usize) {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {trainmesh.dev/injct: a}}\n";
    let run = run(&[("a.yaml", &format!("{namespace}---\n{POD}---\n{POD}"))], command);
    let causes: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
    let start = start.replace("a.yaml", "./a.yaml");
    assert!(run.code == Some(1) && causes.len() == count && causes[0].starts_with(&start), "{run:#?}");
}
