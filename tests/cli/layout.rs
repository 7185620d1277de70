//! Output in terminals of 80 and 160 columns. `make golden` updates the files in `tests/cli/layout`.

use std::fs;

use rstest::rstest;
use serde_json::json;
use tempfile::TempDir;
use trainmesh_testing::cli::trainmesh;

use crate::terminal::pty::{in_terminal, in_terminal_of_size};
use crate::{diagnose, live_pod};

/// A job with a finding, a refused profile with two conflicts, and an invalid pod.
const MANIFESTS: &str = "\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: llama-3-70b-pretraining-of-the-research-team, labels: {sidecar.istio.io/inject: \"false\"}}
spec:
  pytorchReplicaSpecs:
    Master: &role
      template:
        metadata: {labels: {trainmesh.dev/fabric: eks-efa}}
        spec:
          containers:
          - name: pytorch
            image: i
            resources: {limits: {nvidia.com/gpu: 8}}
            env:
            - {name: NCCL_NET, value: Socket}
            - {name: NCCL_IB_RETRY_CNT, value: \"100\"}
    Worker: *role
---
apiVersion: v1
kind: Pod
metadata: {name: invalid}
spec: {containers: [{name: a, image: i, env: [{name: A, value: 1}]}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: a}
spec: {template: {spec: {containers: []}}}
";

#[rstest]
fn lines_fit_the_terminal(
    #[values(
        "preview -f jobs.yaml",
        "preview -f jobs.yaml -o explain",
        "preview -f jobs.yaml --summary",
        "lint -f jobs.yaml",
        "fabric list",
        "fabric sources coreweave-ib",
        "checkpoint-interval --write-time 5m --mtbf 4m",
        "diagnose -f dump.yaml --now 2026-01-01T12:00:00Z"
    )]
    command: &str,
    #[values(80, 160)] columns: usize,
) {
    let name = command
        .replace(" -f jobs.yaml", "")
        .replace(" -f dump.yaml --now 2026-01-01T12:00:00Z", "")
        .replace(" --write-time 5m --mtbf 4m", "")
        .replace(" -o ", "-")
        .replace(" --", "-");
    check(&name, &in_terminal(&files(), command, Some(columns), &[]), columns);
}

/// A cluster without an installation, with a stuck pod and a pod that the webhook refused to give a fabric.
#[rstest]
fn lines_about_a_cluster_fit_the_terminal(
    #[values(("doctor", "doctor"), ("diagnose-cluster", "diagnose -n team-a"), ("sweep", "sweep -n team-a"), ("preview-pod", "preview llama-0 -n team-a --cluster"))]
    (name, command): (&str, &str),
    #[values(80, 160)] columns: usize,
) {
    let refused = json!({"trainmesh.dev/refused": "fabric=FabricContradicted"});
    let refused = live_pod::pod(&json!({"trainmesh.dev/fabric": "eks-efa"}), &refused);
    let folder = files();
    let apiserver = live_pod::cluster(refused, &json!({"trainmesh.dev/inject": "enabled"}), "2026-01-01T00:00:00Z");
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let output = in_terminal(&folder, command, Some(columns), &[("KUBECONFIG", &kubeconfig)]);
    check(name, &output, columns);
}

/// The path of NCCL's tuner configuration is wider than the column of reasons.
#[test]
fn a_wide_word_moves_the_reasons_below_their_rules() {
    let output = in_terminal(&files(), "fabric render gke-rdma-gib-a3u -o explain", Some(120), &[]);
    let widest =
        output.lines().map(|line| anstream::adapter::strip_str(line).to_string().trim_end().chars().count()).max();
    assert!(widest.unwrap() <= 120, "{output}");
}

/// A terminal may report no size, and `COLUMNS` overrides it.
#[rstest]
#[case::no_size(0, &[], 80)]
#[case::columns(160, &[("COLUMNS", "60")], 60)]
#[case::columns_without_size(0, &[("COLUMNS", "160")], 160)]
#[case::invalid_columns(80, &[("COLUMNS", "x")], 80)]
fn the_width_is_that_of_the_environment_or_terminal(
    #[case] columns: usize,
    #[case] variables: &[(&str, &str)],
    #[case] expected: usize,
) {
    let output = in_terminal(&files(), "lint -f jobs.yaml", Some(columns), variables);
    check_width(&output, expected);
}

/// As that of `script` and of some in CI.
#[test]
fn a_terminal_without_a_height_has_a_width() {
    check_width(&in_terminal_of_size(&files(), "lint -f jobs.yaml", (0, 160), &[]), 160);
}

fn check_width(output: &str, expected: usize) {
    let lines = || output.lines().map(|line| line.trim_end_matches('\r')).filter(|line| !line.contains('\u{1b}'));
    let widest = lines().map(|line| line.chars().count()).max().unwrap();
    assert!((expected - 10..=expected).contains(&widest), "{widest}: {output}");
}

/// Adds `command` and its subcommands, as its help lists them.
fn add_commands(command: &str, commands: &mut Vec<String>) {
    let help = trainmesh(&[&command.split_whitespace().collect::<Vec<_>>()[..], &["--help"]].concat(), "").stdout;
    let listed = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split("\n\n").next()).unwrap_or_default();
    for line in listed.lines() {
        let name = line.split_whitespace().next().unwrap();
        if name != "help" {
            add_commands(format!("{command} {name}").trim_start(), commands);
        }
    }
    commands.push(command.to_owned());
}

/// A line that is broken cannot be copied.
#[test]
fn examples_and_exit_codes_fit_80_columns() {
    let mut commands = Vec::new();
    add_commands("", &mut commands);
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        let examples = |columns| {
            let help = in_terminal(&files(), &format!("{command} --help"), Some(columns), &[]);
            let start = ["Examples:", "Exit codes:"].iter().filter_map(|heading| help.find(heading)).min();
            start.map(|start| help[start..].to_owned())
        };
        assert_eq!(examples(80), examples(120), "{command}");
    }
}

/// Checks that no line of `output` is wider than the terminal, and compares it with its snapshot.
fn check(name: &str, output: &str, columns: usize) {
    let styles = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    let shown = styles.replace_all(output, "").replace("\r\n", "\n");
    for line in shown.lines() {
        let is_one_word = !line.trim().contains(' ');
        assert!(line.chars().count() <= columns || is_one_word, "{line:?} is wider than {columns}");
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/layout"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = format!("{}-{columns}", name.replace(' ', "-"));
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

fn files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("jobs.yaml"), MANIFESTS).unwrap();
    fs::write(folder.path().join("dump.yaml"), diagnose::DUMP).unwrap();
    folder
}
