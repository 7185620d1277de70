//! Kubeconfigs that are broken or unusual: the cause, the entry and the fix, each once, and no secret.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, trainmesh_with};
use trainmesh_testing::webhook::base64;

const SERVER: &str = "/clusters/0/cluster/server";
const CLUSTER: &str = "/clusters/0/cluster";
const CONTEXT: &str = "/contexts/0/context";
const USER: &str = "/users/0/user";
/// A value that no output may contain.
const SECRET: &str = "s3cr3t";

/// Runs `command` with a kubeconfig for a server that refuses connections, in which `value` replaces the one at `pointer`.
fn run(command: &str, pointer: &str, value: &Value, variables: &[(&str, &str)]) -> Run {
    let mut config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "gpu", "user": "jane"}}],
        "clusters": [{"name": "gpu", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "jane", "user": {}}]});
    *config.pointer_mut(pointer).unwrap() = value.clone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    let variables = [&[("KUBECONFIG", path.to_str().unwrap())], variables].concat();
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let run = trainmesh_with(&arguments, "{apiVersion: v1, kind: Pod, metadata: {name: a}}", &variables);
    assert!(!format!("{run:?}").contains(SECRET), "{run:#?}");
    run
}

#[track_caller]
fn check(run: &Run, expected: &str) {
    assert_eq!((run.code, run.stderr.as_str()), (Some(2), format!("error: {expected}\n").as_str()), "{run:#?}");
}

fn exec(command: &str, arguments: &[&str]) -> Value {
    json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": arguments, "interactiveMode": "Never"}})
}

#[rstest]
#[case::port(
    SERVER,
    "https://127.0.0.1:64430000",
    "the server of cluster gpu has the invalid port 64430000: write a number up to 65535"
)]
#[case::port_of_ipv6(
    SERVER,
    "https://[::1]:65536",
    "the server of cluster gpu has the invalid port 65536: write a number up to 65535"
)]
#[case::signed_port(
    SERVER,
    "https://127.0.0.1:+6443",
    "the server of cluster gpu has the invalid port +6443: write a number up to 65535"
)]
#[case::named_port(
    SERVER,
    "https://127.0.0.1:https",
    "the server of cluster gpu has the invalid port https: write a number up to 65535"
)]
#[case::scheme(
    SERVER,
    "htps://127.0.0.1:1",
    "the server of cluster gpu has the unsupported scheme htps: write https://"
)]
#[case::only_a_port(SERVER, "https://:6443", "the server of cluster gpu has no host: write https://HOST:PORT")]
#[case::only_a_path(SERVER, "/k8s", "the server of cluster gpu has no host: write https://HOST:PORT")]
#[case::line_break(
    SERVER,
    "https://127.0.0.1:1\n",
    "the server of cluster gpu is not a valid URL: invalid uri character"
)]
#[case::empty_server(SERVER, "", "the server of cluster gpu is not a valid URL: empty string")]
#[case::authority(CLUSTER, json!({"server": "https://127.0.0.1:1", "certificate-authority-data": base64("foo").as_str()}),
    "the certificate-authority of cluster gpu contains no certificate in PEM: set it to the CA of the server")]
#[case::authority_that_is_a_key(CLUSTER, json!({"server": "https://127.0.0.1:1",
    "certificate-authority-data": base64("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n").as_str()}),
    "the certificate-authority of cluster gpu contains no certificate in PEM: set it to the CA of the server")]
#[case::tls_server_name(CLUSTER, json!({"server": "https://127.0.0.1:1", "tls-server-name": "a b"}), "the tls-server-name of cluster gpu is not a name: invalid dns name")]
#[case::missing_user(CONTEXT, json!({"cluster": "gpu", "user": "bob"}), "the kubeconfig has no user bob, which the context names")]
#[case::token(USER, json!({"token": "s3cr3t\n"}), "the token of user jane contains characters that no token has, such as a line break")]
#[case::plugin_without_command(USER, exec("", &[]), "the credential plugin of user jane has no command")]
#[case::plugin_without_output(USER, exec("true", &[]), "the credential plugin true (user jane) printed no ExecCredential: check its apiVersion and arguments")]
#[case::plugin_with_text(USER, exec("echo", &["s3cr3t"]), "the credential plugin echo (user jane) printed no ExecCredential: check its apiVersion and arguments")]
#[case::plugin_without_status(USER, exec("echo", &["{apiVersion: client.authentication.k8s.io/v1, kind: ExecCredential}"]), "the credential plugin echo (user jane) returned no credentials")]
#[case::auth_provider(USER, json!({"auth-provider": {"name": "oidc", "config": {"client-secret": SECRET}}}),
    "the auth-provider of user jane cannot be used (failed exec auth: No id-token for oidc Authentication provider): use the credential plugin of the provider (exec)")]
fn an_unusable_entry_is_named(
    #[case] pointer: &str,
    #[case] value: impl Into<Value>,
    #[case] expected: &str,
    #[values("doctor", "sweep -A", "diagnose -A", "inventory -A", "preview -f - --cluster")] command: &str,
) {
    let run = run(command, pointer, &value.into(), &[]);
    check(&run, &format!("could not use the context prod: {expected}"));
}

#[rstest]
#[case::context_without_entries(CONTEXT, json!(null), "the context prod is empty: set its cluster and user")]
#[case::context_without_cluster(CONTEXT, json!({"cluster": "", "user": "jane"}), "the context names no cluster: set its cluster")]
#[case::missing_cluster(CONTEXT, json!({"cluster": "old", "user": "jane"}), "the kubeconfig has no cluster old, which the context names")]
#[case::no_contexts("/contexts", json!([]), "the kubeconfig has no context prod; it has none")]
#[case::unset_context("/current-context", json!(""), "the kubeconfig has no current context: set KUBECONFIG, or use --context")]
fn an_unusable_context_is_named(#[case] pointer: &str, #[case] value: Value, #[case] expected: &str) {
    check(&run("doctor", pointer, &value, &[]), &format!("found no cluster: {expected}"));
}

/// The client connects: what is unusual is not an error.
#[rstest]
#[case::no_user(CONTEXT, json!({"cluster": "gpu"}), "https://127.0.0.1:1")]
#[case::empty_authority(CLUSTER, json!({"server": "https://127.0.0.1:1", "certificate-authority-data": ""}), "https://127.0.0.1:1")]
#[case::path(SERVER, json!("https://127.0.0.1:1/k8s/clusters/c-1/"), "https://127.0.0.1:1/k8s/clusters/c-1")]
#[case::password(SERVER, json!("https://u:s3cr3t@127.0.0.1:1"), "https://127.0.0.1:1")]
#[case::password_and_path(SERVER, json!("https://u:s3cr3t@127.0.0.1:1/a@b"), "https://127.0.0.1:1/a@b")]
#[case::upper_case(SERVER, json!("HTTPS://127.0.0.1:1"), "https://127.0.0.1:1")]
#[case::no_scheme(SERVER, json!("127.0.0.1:1"), "http://127.0.0.1:1")]
fn the_server_is_named_without_secrets(#[case] pointer: &str, #[case] value: Value, #[case] server: &str) {
    check(&run("doctor", pointer, &value, &[]), &format!("cannot reach {server} (context prod): connection refused"));
}

const PROXY: (&str, &str) = ("HTTPS_PROXY", "http://u:s3cr3t@proxy.test:3128");
const PROXIED: &str = "could not use the context prod: trainmesh does not connect through a proxy (proxy.test): ";
const UNRESOLVED: &str = "cannot reach https://api.invalid:6443 (context prod): its name cannot be resolved: ";

/// The names of the domain `invalid` are never resolved, so that the text shows that no proxy is used.
#[rstest]
#[case::proxied("https://api.invalid:6443", "https_proxy", "", &[PROXIED, "add the server of cluster gpu to NO_PROXY, if it can be reached without, or use kubectl proxy\n"])]
#[case::another_name("https://api.invalid:6443", "https_proxy", ".valid,10.0.0.0/8", &[PROXIED])]
#[case::listed("https://api.invalid:6443", "NO_PROXY", "10.0.0.0/8,.invalid", &[UNRESOLVED])]
#[case::listed_in_lower_case("https://api.invalid:6443", "no_proxy", "api.invalid:6443", &[UNRESOLVED])]
#[case::all("https://api.invalid:6443", "no_proxy", "*", &[UNRESOLVED])]
#[case::loopback("https://127.0.0.1:1", "NO_PROXY", "", &["cannot reach https://127.0.0.1:1 (context prod): connection refused\n"])]
fn a_proxy_of_the_environment_is_that_of_kubectl(
    #[case] server: &str,
    #[case] variable: &str,
    #[case] list: &str,
    #[case] expected: &[&str],
) {
    let run = run("doctor", SERVER, &json!(server), &[PROXY, (variable, list)]);
    assert_eq!(run.code, Some(2), "{run:#?}");
    for part in expected {
        assert!(run.stderr.contains(part), "{part}\n{run:#?}");
    }
}

/// kubectl does not exclude a server from the proxy of its cluster.
#[test]
fn the_proxy_of_a_cluster_counts_for_every_server() {
    let cluster = json!({"server": "https://127.0.0.1:1", "proxy-url": "http://u:s3cr3t@proxy.test:3128"});
    let run = run("doctor", CLUSTER, &cluster, &[("NO_PROXY", "*")]);
    check(&run, &format!("{PROXIED}remove proxy-url of cluster gpu, or use kubectl proxy"));
}

/// As of `kubectl proxy`.
#[test]
fn the_proxy_for_https_is_not_used_for_http() {
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []});
    let apiserver = Apiserver::start(vec![("/api/v1/namespaces/default/pods", list)]);
    let run = run("sweep --trainmesh-namespace mesh", SERVER, &json!(apiserver.url()), &[PROXY]);
    assert_eq!(run.code, Some(0), "{run:#?}");
}
