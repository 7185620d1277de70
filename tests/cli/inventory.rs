//! `trainmesh inventory`.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{assert_exit, trainmesh, trainmesh_with};

use crate::diagnose::{DUMP, pods, version};

#[rstest]
#[case::all(&[], 0, &["training: 1 workload, 16 accelerators\n", "unknown: 1 workload, 1 accelerator\n"], "")]
#[case::one_namespace(&["-n", "team-a"], 0, &["training   PyTorchJob team-a/llama", "training: 1 workload, 16 accelerators\n"], "")]
#[case::another_namespace(&["-n", "team-z"], 0, &["no workload uses accelerators"], "note: no workload in namespace team-z: there are workloads in team-a, team-with-a-long-name")]
#[case::help(&["--help"], 0, &["Exit codes:"], "")]
#[case::two_scopes(&["-n", "a", "-A"], 2, &[], "the argument '--namespace <NAMESPACE>' cannot be used with '--all-namespaces'")]
#[case::dump_and_context(&["--context", "a"], 2, &[], "cannot be used with")]
fn dumps(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    assert_exit(&trainmesh(&[&["inventory", "-f", "-"], arguments].concat(), DUMP), code, stdout, stderr);
}

/// The example of `docs/inventory.md`.
#[test]
fn the_example_of_the_documentation() {
    let run = trainmesh(&["inventory", "-f", "-"], include_str!("inventory/dump.yaml"));
    let page = include_str!("../../docs/inventory.md");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(page.contains(&run.stdout), "docs/inventory.md lacks\n{}", run.stdout);
}

#[test]
fn json_and_yaml_contain_the_same() {
    let read = |format: &str| trainmesh(&["inventory", "-f", "-", "-o", format], DUMP);
    let json: Value = serde_json::from_str(&read("json").stdout).unwrap();
    assert_eq!(trainmesh_core::yaml::parse(&read("yaml").stdout).unwrap(), json);
    let workload = &json["workloads"][0];
    assert_eq!(workload["workload"], json!({"kind": "PyTorchJob", "namespace": "team-a", "name": "llama"}));
    assert_eq!((&workload["accelerators"], &workload["roles"]), (&json!(16), &json!({"master": 1, "worker": 1})));
    assert_eq!((&json["schemaVersion"], &json["errors"]), (&json!(1), &json!([])));
}

/// The others are listed, and the command fails.
#[test]
fn an_invalid_document_is_an_error() {
    let run = trainmesh(&["inventory", "-f", "-", "-o", "json"], &format!("{DUMP}\n---\nkind: [\n"));
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, json["workloads"].as_array().unwrap().len()), (Some(2), 2));
    assert_eq!(json["errors"][0]["document"], 2);
}

#[rstest]
#[case::namespace(&["-n", "team-a"], "/api/v1/namespaces/team-a/pods", "training: 1 workload, 16 accelerators\n")]
#[case::all(&["-A"], "/api/v1/pods", "training: 1 workload, 16 accelerators\n")]
#[case::namespace_of_the_context(&[], "/api/v1/namespaces/default/pods", "no workload uses accelerators\n")]
fn a_live_cluster_is_read(#[case] arguments: &[&str], #[case] path: &'static str, #[case] stdout: &str) {
    let apiserver = Apiserver::start(vec![(path, pods("team-a")), version()]);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let run = trainmesh_with(&[&["inventory"], arguments].concat(), "", &[("KUBECONFIG", &kubeconfig)]);
    assert_exit(&run, 0, &[stdout], "note: not checked, because you may not list them: ");
    let requests = apiserver.requests();
    assert!(requests.iter().any(|request| request.split('?').next() == Some(path)));
    // Its columns need no events, which are large, nor nodes.
    for resource in ["/events", "/nodes", "/services", "/podgroups", "/peerauthentications", "/resourceclaims"] {
        assert!(!requests.iter().any(|request| request.contains(resource)), "{requests:?}");
    }
}

#[test]
fn manifests_are_no_dump() {
    let job =
        "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: [{name: a}]}}}}";
    let run = trainmesh(&["inventory", "-f", "-"], job);
    assert_exit(&run, 2, &[], "error: the input contains no pods: inventory reads those of kubectl get pods -o yaml");
    assert!(!run.stderr.contains("note:"), "one message is enough: {run:#?}");
}

const EMPTY: &str = "apiVersion: v1\nitems: []\nkind: List\nmetadata: {resourceVersion: ''}\n";
const WITHOUT_PODS: &str = "apiVersion: v1\nitems:\n- apiVersion: batch/v1\n  kind: Job\n  metadata: {name: a, namespace: b, uid: c}\nkind: List\n";

/// A namespace may be idle when the dump is written.
#[rstest]
#[case::empty(EMPTY)]
#[case::without_pods(WITHOUT_PODS)]
fn a_dump_may_have_no_pods(#[case] dump: &str) {
    let run = trainmesh(&["inventory", "-f", "-"], dump);
    assert_exit(&run, 0, &["no workload uses accelerators"], "note: the input contains no pods");
}

/// The columns that fit stay beside each other.
#[rstest]
#[case::long_name("a-name-with-sixty-characters-that-no-narrow-terminal-can-show", "CLASS      PODS   GPUS   MESH\n")]
#[case::short_name("llama", "CLASS      WORKLOAD                  PODS   GPUS   MESH\n")]
fn names_that_are_wider_than_the_terminal_are_below_their_row(#[case] name: &str, #[case] header: &str) {
    let dump = DUMP.replace("job-name: llama\n", &format!("job-name: {name}\n"));
    let run = trainmesh_with(&["inventory", "-f", "-", "-n", "team-a"], &dump, &[("COLUMNS", "60")]);
    assert_exit(&run, 0, &[header], "");
}
