//! Commands find the namespace that trainmesh is installed in, or are given it.

use std::fs;
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::apiserver::Apiserver;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: train, image: i}]}\n";
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/0-trainmesh";

/// A cluster whose registration calls a Service of `namespace`.
fn cluster(namespace: Option<&str>) -> Apiserver {
    let registration = |namespace| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "0-trainmesh"}, "webhooks": [{"name": "inject.trainmesh.dev", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": namespace, "name": "trainmesh-webhook"}}}]})
    };
    let list = |kind: &str| json!({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": []});
    let version: Value = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": ""});
    let mut objects = vec![("/api/v1/pods", list("PodList")), ("/version", version)];
    objects.extend(namespace.map(|namespace| (REGISTRATION, registration(namespace))));
    Apiserver::start(objects).with_message("not found")
}

fn run(apiserver: &Apiserver, arguments: &str, variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pod.yaml"), POD).unwrap();
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
#[case::nowhere("sweep -A", None, &[], "trainmesh-system")]
#[case::preview_flag("preview -f pod.yaml --cluster --trainmesh-namespace mesh", Some("other"), &[], "mesh")]
#[case::sweep_flag("sweep -A --trainmesh-namespace mesh", Some("other"), &[], "mesh")]
#[case::doctor_flag("doctor --trainmesh-namespace mesh", Some("other"), &[], "mesh")]
#[case::doctor_short_flag("doctor -n mesh", Some("other"), &[("TRAINMESH_NAMESPACE", "third")], "mesh")]
#[case::variable("sweep -A", Some("other"), &[("TRAINMESH_NAMESPACE", "mesh")], "mesh")]
fn in_a_cluster(
    #[case] arguments: &str,
    #[case] registered: Option<&str>,
    #[case] variables: &[(&str, &str)],
    #[case] expected: &str,
) {
    let apiserver = cluster(registered);
    let output = run(&apiserver, arguments, variables);
    let requests = apiserver.requests();
    let configurations: Vec<&String> =
        requests.iter().filter(|path| path.contains("/configmaps/trainmesh-config")).collect();
    let path = format!("/api/v1/namespaces/{expected}/configmaps/trainmesh-config");
    assert_eq!(configurations, [&path], "{requests:#?}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[rstest]
#[case::own("preview -f pod.yaml -n mesh --trainmesh-namespace mesh -o explain", true)]
#[case::own_by_default("preview -f pod.yaml -n trainmesh-system -o explain", true)]
#[case::where_it_is_not("preview -f pod.yaml -n trainmesh-system --trainmesh-namespace mesh -o explain", false)]
#[case::other("preview -f pod.yaml -n mesh -o explain", false)]
fn offline(#[case] arguments: &str, #[case] excluded: bool) {
    let output = run(&cluster(None), arguments, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.contains("ExcludedNamespace"), excluded, "{text}");
    assert_eq!(text.contains("HoldAdded"), !excluded, "{text}");
}
