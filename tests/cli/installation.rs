//! Detection of the namespace that trainmesh is installed in.

use std::fs;
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::apiserver::Apiserver;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: train, image: i}]}\n";
const WEBHOOK_CONFIGURATION: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/0-trainmesh";

/// Returns a cluster whose webhook configuration refers to a Service in `namespace`.
fn cluster(namespace: Option<&str>) -> Apiserver {
    let webhook_configuration = |namespace| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "0-trainmesh"}, "webhooks": [{"name": "inject.trainmesh.dev", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": namespace, "name": "trainmesh-webhook"}}}]})
    };
    let list = |kind: &str| json!({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": []});
    let version: Value = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": ""});
    let mut objects = vec![("/api/v1/pods", list("PodList")), ("/version", version)];
    objects.extend(namespace.map(|namespace| (WEBHOOK_CONFIGURATION, webhook_configuration(namespace))));
    Apiserver::start(objects).with_message("not found")
}

fn run(apiserver: &Apiserver, arguments: &str, variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pod.yaml"), POD).unwrap();
    fs::write(folder.path().join("values.yaml"), "namespaceOverride: mesh\n").unwrap();
    fs::write(folder.path().join("invalid.yaml"), "namespaceOverride: Mesh\n").unwrap();
    Command::new(env!("CARGO_BIN_EXE_trainmesh"))
        .args(arguments.split_whitespace())
        .current_dir(&folder)
        .env_remove("TRAINMESH_CONFIG")
        .env_remove("TRAINMESH_NAMESPACE")
        .env("KUBECONFIG", apiserver.kubeconfig(folder.path()))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[rstest]
#[case::preview("preview -f pod.yaml --cluster", Some("mesh"), &[], "mesh")]
#[case::sweep("sweep -A", Some("mesh"), &[], "mesh")]
#[case::doctor("doctor", Some("mesh"), &[], "mesh")]
#[case::not_installed("sweep -A", None, &[], "trainmesh-system")]
#[case::preview_flag("preview -f pod.yaml --cluster --trainmesh-namespace mesh", Some("other"), &[], "mesh")]
#[case::sweep_flag("sweep -A --trainmesh-namespace mesh", Some("other"), &[], "mesh")]
#[case::doctor_flag("doctor --trainmesh-namespace mesh", Some("other"), &[], "mesh")]
#[case::doctor_short_flag("doctor -n mesh", Some("other"), &[("TRAINMESH_NAMESPACE", "third")], "mesh")]
#[case::variable("sweep -A", Some("other"), &[("TRAINMESH_NAMESPACE", "mesh")], "mesh")]
fn the_namespace_is_read_from_the_cluster(
    #[case] arguments: &str,
    #[case] installed_in: Option<&str>,
    #[case] variables: &[(&str, &str)],
    #[case] expected: &str,
) {
    let apiserver = cluster(installed_in);
    let output = run(&apiserver, arguments, variables);
    let requests = apiserver.requests();
    let config_map_reads: Vec<&String> =
        requests.iter().filter(|path| path.contains("/configmaps/trainmesh-config")).collect();
    let path = format!("/api/v1/namespaces/{expected}/configmaps/trainmesh-config");
    assert_eq!(config_map_reads, [&path], "{requests:#?}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[rstest]
#[case::installation_namespace("preview -f pod.yaml -n mesh --trainmesh-namespace mesh -o explain", true)]
#[case::default_installation_namespace("preview -f pod.yaml -n trainmesh-system -o explain", true)]
#[case::another_installation_namespace(
    "preview -f pod.yaml -n trainmesh-system --trainmesh-namespace mesh -o explain",
    false
)]
#[case::other("preview -f pod.yaml -n mesh -o explain", false)]
#[case::values("preview -f pod.yaml -n mesh -o explain --config values.yaml", true)]
#[case::another_namespace_than_in_values(
    "preview -f pod.yaml -n mesh -o explain --config values.yaml --trainmesh-namespace other",
    false
)]
fn the_namespace_is_given_by_flag_offline(#[case] arguments: &str, #[case] excluded: bool) {
    let output = run(&cluster(None), arguments, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.contains("ExcludedNamespace"), excluded, "{text}");
    assert_eq!(text.contains("HoldAdded"), !excluded, "{text}");
}

#[rstest]
#[case::default("lint -f pod.yaml -n mesh", true)]
#[case::flag("lint -f pod.yaml -n mesh --trainmesh-namespace mesh", false)]
#[case::values("lint -f pod.yaml -n mesh --config values.yaml", false)]
fn lint_treats_the_namespace_as_excluded(#[case] arguments: &str, #[case] served: bool) {
    let labels = "--namespace-labels trainmesh.dev/inject=enabled,trainmesh.dev/fabric=absent";
    let output = run(&cluster(None), &format!("{arguments} {labels}"), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.contains("FP046"), served, "{text}");
}

#[rstest]
#[case::flag("lint -f pod.yaml --trainmesh-namespace Mesh", &[], "--trainmesh-namespace <NAMESPACE>")]
#[case::variable("lint -f pod.yaml", &[("TRAINMESH_NAMESPACE", "a.b")], "--trainmesh-namespace <NAMESPACE>")]
#[case::preview("preview -f pod.yaml --trainmesh-namespace a_b", &[], "--trainmesh-namespace <NAMESPACE>")]
#[case::doctor("doctor -n Mesh", &[], "--namespace <NAMESPACE>")]
#[case::values("lint -f pod.yaml --config invalid.yaml", &[], "namespaceOverride of the values is \"Mesh\"")]
fn the_namespace_is_validated(#[case] arguments: &str, #[case] variables: &[(&str, &str)], #[case] field: &str) {
    let output = run(&cluster(None), arguments, variables);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(field) && text.contains("not a valid name of a namespace"), "{text}");
}
