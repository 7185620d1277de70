//! Commands without a cluster that they can reach.

use rstest::rstest;
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
#[case::unknown_current_context("doctor", &UNREACHABLE.replace("current-context: kind-x", "current-context: zz"), "found no cluster: the kubeconfig has no context zz; it has kind-x, other")]
#[case::unknown_cluster("doctor", &UNREACHABLE.replace("- {name: c,", "- {name: d,"), "the kubeconfig has no cluster c, which the context names")]
#[case::not_yaml("doctor", "a: [", "/kubeconfig is not valid: line 1: unclosed bracket '['")]
#[case::wrong_type("doctor", "users: {}", "/kubeconfig is not valid: invalid type: map, expected a sequence")]
#[case::missing_plugin("sweep -A --trainmesh-namespace mesh", &UNREACHABLE.replace("user: {}", &PLUGIN.replace("get-token", "aws-nope")), "error: cannot run the credential plugin aws-nope (user u): it is not in the PATH\n")]
#[case::plugin("sweep -A --trainmesh-namespace mesh", &UNREACHABLE.replace("user: {}", PLUGIN), "configuration: the credential plugin get-token failed (exit status: 3): no profile")]
fn an_unusable_kubeconfig_is_explained(#[case] command: &str, #[case] kubeconfig: &str, #[case] expected: &str) {
    let (code, text) = run_with_tools(command, &[("get-token", "echo no profile >&2; exit 3")], kubeconfig);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
}

/// A credential plugin that fails.
const PLUGIN: &str = "user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, \
                      args: [--secret, x], env: [{name: VAULT_TOKEN, value: z}], interactiveMode: Never}}";

/// A proxy, or another server at the address of the apiserver, responds with a web page.
#[rstest]
#[case::doctor(&["doctor"])]
#[case::sweep(&["sweep", "-A"])]
#[case::preview(&["preview", "-f", "-", "--cluster"])]
fn another_server_is_named(#[case] arguments: &[&str]) {
    let apiserver = Apiserver::start(vec![]).with_message("<html>\n<body>404 page not found</body>\n</html>");
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
