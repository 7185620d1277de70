//! Commands without a cluster that they can reach.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::trainmesh_with;

use crate::preview::run_with_tools;

/// Without a kubeconfig, the attempt to use the service account of a pod is not mentioned.
#[rstest]
#[case::doctor("doctor")]
#[case::live_pod("preview a --cluster")]
fn a_missing_kubeconfig_is_named(#[case] command: &str) {
    let (code, text) = run_with_tools(command, &[], "apiVersion: v1\nkind: Config\n");
    assert_eq!(code, Some(2), "{text}");
    assert_eq!(
        text,
        "error: found no cluster: the kubeconfig has no current context: set KUBECONFIG, or use --context\n"
    );
}

const UNREACHABLE: &str = "\
apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: \"https://127.0.0.1:1\"}}
contexts:
- {name: kind-x, context: {cluster: c, user: u}}
- {name: other, context: {cluster: c, user: u}}
users:
- {name: u, user: {}}
current-context: kind-x
";

#[rstest]
#[case::preview("preview -f pod.yaml --cluster", "kind-x")]
#[case::context("preview -f pod.yaml --cluster --context other", "other")]
#[case::doctor("doctor", "kind-x")]
#[case::sweep("sweep -A --trainmesh-namespace mesh", "kind-x")]
fn an_unreachable_cluster_is_named_once(#[case] command: &str, #[case] context: &str) {
    let (code, text) = run_with_tools(command, &[], UNREACHABLE);
    let expected = format!("error: cannot reach https://127.0.0.1:1 (context {context}): connection refused\n");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.ends_with(&expected), "{text}");
    assert_eq!(text.matches("refused").count(), 1, "{text}");
}

#[rstest]
#[case::unknown_context(
    "doctor --context prod",
    UNREACHABLE,
    "could not use the context prod: the kubeconfig has no context prod; it has kind-x, other"
)]
#[case::unset_current_context("doctor", &UNREACHABLE.replace("current-context: kind-x", "current-context: \"\""), "found no cluster: the kubeconfig has no current context: set KUBECONFIG, or use --context")]
#[case::unknown_current_context("doctor", &UNREACHABLE.replace("current-context: kind-x", "current-context: zz"), "found no cluster: the kubeconfig has no context zz; it has kind-x, other")]
#[case::unknown_cluster("doctor", &UNREACHABLE.replace("- {name: c,", "- {name: d,"), "the kubeconfig has no cluster c, which the context names")]
#[case::not_yaml("doctor", "a: [", "/kubeconfig is not valid: line 1: unclosed bracket '['")]
#[case::wrong_type("doctor", "users: {}", "/kubeconfig is not valid: invalid type: map, expected a sequence")]
#[case::missing_plugin("sweep -A --trainmesh-namespace mesh", &UNREACHABLE.replace("user: {}", &PLUGIN.replace("get-token", "aws-nope")), "error: could not use the context kind-x: the credential plugin aws-nope (user u) is not in the PATH\n")]
#[case::plugin("sweep -A --trainmesh-namespace mesh", &UNREACHABLE.replace("user: {}", PLUGIN), "could not use the context kind-x: the credential plugin get-token (user u) failed (exit status: 3): no profile")]
fn an_unusable_kubeconfig_is_explained(#[case] command: &str, #[case] kubeconfig: &str, #[case] expected: &str) {
    let (code, text) = run_with_tools(command, &[("get-token", "echo no profile >&2; exit 3")], kubeconfig);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
}

/// A credential plugin that fails.
const PLUGIN: &str = "user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, \
                      args: [--secret, x], env: [{name: VAULT_TOKEN, value: z}], interactiveMode: Never}}";

/// Files of the list that do not exist are skipped, and the first current context counts.
#[rstest]
#[case::first("/nope:FILE", "context kind-x")]
#[case::last("FILE:/nope:", "context kind-x")]
#[case::context_of_the_second("EMPTY:FILE", "context kind-x")]
#[case::none("/nope:/nowhere", "error: found no cluster: KUBECONFIG names /nope, which does not exist\n")]
#[case::one("/nope", "error: found no cluster: KUBECONFIG names /nope, which does not exist\n")]
fn kubeconfigs_are_merged_like_those_of_kubectl(#[case] list: &str, #[case] expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let empty = file("empty", "apiVersion: v1\nkind: Config\ncurrent-context: \"\"\n");
    let list = list.replace("EMPTY", &empty).replace("FILE", &file("kubeconfig", UNREACHABLE));
    let run = trainmesh_with(&["doctor"], "", &[("KUBECONFIG", &list)]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.stderr.contains(expected), "{run:#?}");
}

/// A mistyped namespace looks like one without stuck pods.
#[rstest]
#[case::empty(vec![], "note: no pods in namespace team-a: check the context and the namespace, which may not exist\n")]
#[case::running(vec![json!({"metadata": {"name": "a", "namespace": "team-a"}, "spec": {"containers": []}})], "note: no stuck pods found in namespace team-a\n")]
fn an_empty_namespace_has_no_stuck_pods(#[case] pods: Vec<Value>, #[case] expected: &str) {
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods});
    let apiserver = Apiserver::start(vec![("/api/v1/namespaces/team-a/pods", list)]);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let run = trainmesh_with(&["sweep", "-n", "team-a"], "", &[("KUBECONFIG", &kubeconfig)]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stderr.ends_with(expected), "{run:#?}");
}

/// A proxy, or another server at the address of the apiserver, responds with a web page.
#[rstest]
#[case::doctor(&["doctor"])]
#[case::sweep(&["sweep", "-A"])]
#[case::diagnose(&["diagnose", "-A"])]
#[case::preview(&["preview", "-f", "-", "--cluster"])]
fn another_server_is_named(
    #[case] arguments: &[&str],
    #[values("/none", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/0-trainmesh")]
    path: &'static str,
) {
    let page = "<html>\n<body>404 page not found</body>\n</html>";
    // A page with status 200, as of a login, or an error.
    let apiserver = Apiserver::start(vec![(path, page.into())]).with_message(page);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let run =
        trainmesh_with(arguments, "{apiVersion: v1, kind: Pod, metadata: {name: a}}", &[("KUBECONFIG", &kubeconfig)]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr.ends_with(" (context test) is no apiserver: check the server of the context, with its path\n"),
        "{run:#?}"
    );
    assert_eq!(run.stderr.lines().count(), 1, "{run:#?}");
}

/// The server may respond to other requests.
#[test]
fn a_request_without_a_response_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, UNREACHABLE.replace("https://127.0.0.1:1", &server)).unwrap();
    let arguments = ["sweep", "-A", "--trainmesh-namespace", "mesh"];
    let run = trainmesh_with(&arguments, "", &[("KUBECONFIG", path.to_str().unwrap())]);
    let request = format!("could not read ConfigMap mesh/trainmesh-config at {server} (context kind-x)");
    assert_eq!(run.stderr, format!("error: {request}: no response within 10s\n"));
}
