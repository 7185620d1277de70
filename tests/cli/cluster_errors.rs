//! Requests that the apiserver, or what is in front of it, does not serve.

use rstest::rstest;
use serde_json::json;
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::trainmesh_with;

/// Responses of an apiserver, or of what is in front of it.
#[rstest]
#[case::leader(
    503,
    "etcdserver: leader changed",
    "at SERVER: etcdserver: leader changed: status 503: try again later\n"
)]
#[case::no_text(503, "", "at SERVER: status 503: try again later\n")]
#[case::overloaded(429, "too many requests", "at SERVER: too many requests: status 429: try again later\n")]
#[case::internal(500, "boom", "at SERVER: boom: status 500: try again later\n")]
#[case::page_of_a_proxy(
    502,
    "<html>Bad Gateway</html>",
    "error: SERVER responds with a web page of status 502, as of a proxy: try again later\n"
)]
#[case::unauthorized(
    401,
    "Unauthorized",
    ": Unauthorized: SERVER does not accept the credentials: they may have expired\n"
)]
#[case::forbidden(
    403,
    "pods is forbidden: User \"u\" cannot list",
    "at SERVER: pods is forbidden: User \"u\" cannot list\n"
)]
fn responses_are_explained(#[case] code: u16, #[case] message: &str, #[case] expected: &str) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message});
    for (path, command) in [
        ("/version", "doctor --trainmesh-namespace mesh"),
        ("/api/v1/pods", "sweep -A --trainmesh-namespace trainmesh-system"),
        ("/api/v1/pods", "diagnose -A --trainmesh-namespace trainmesh-system"),
        ("/api/v1/pods", "inventory -A --trainmesh-namespace trainmesh-system"),
        ("/api/v1/namespaces/default", "preview -f - --cluster --trainmesh-namespace trainmesh-system"),
    ] {
        // A version that may not be read, or that an apiserver does not return for a while, is a finding.
        let is_finding = code == 403 || code != 401 && !message.starts_with('<');
        if is_finding && command.starts_with("doctor") {
            continue;
        }
        let missing =
            json!({"kind": "Status", "code": 404, "status": "Failure", "reason": "NotFound", "message": "not found"});
        let version = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "", "buildDate": "",
            "goVersion": "", "compiler": "", "platform": ""});
        let apiserver = Apiserver::start(vec![
            (path, status.clone()),
            ("/version", version),
            ("/api/v1/namespaces/trainmesh-system/configmaps/trainmesh-config", missing),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = apiserver.kubeconfig(folder.path());
        let run = trainmesh_with(
            &command.split_whitespace().collect::<Vec<_>>(),
            "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
            &[("KUBECONFIG", &kubeconfig)],
        );
        let expected = expected.replace("SERVER", &format!("{} (context test)", apiserver.url()));
        assert_eq!(run.code, Some(2), "{command}: {run:#?}");
        assert!(run.stderr.contains(&expected), "{command}: {expected}\n{run:#?}");
        assert_eq!(run.stderr.matches(&apiserver.url()).count(), 1, "{command}: {run:#?}");
    }
}

/// A kind that cannot be read does not hide the findings about others.
#[rstest]
#[case::nodes("/api/v1/nodes", "not checked, because the requests failed: nodes: ")]
#[case::jobs(
    "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs",
    "not checked, because the requests failed: pytorchjobs: "
)]
#[case::configuration(
    "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
    "could not read ConfigMap mesh/trainmesh-config at "
)]
fn a_request_that_fails_leaves_the_findings(#[case] path: &'static str, #[case] expected: &str) {
    let status =
        json!({"kind": "Status", "status": "Failure", "code": 500, "message": "etcdserver: request timed out"});
    let pod = json!({"metadata": {"namespace": "team-a", "name": "llama-0", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n", "containers": [{"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
        "status": {"phase": "Pending", "containerStatuses": [
            {"name": "train", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "denied"}}}]}});
    let pods = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]});
    let apiserver = Apiserver::start(vec![(path, status), ("/api/v1/namespaces/team-a/pods", pods)]);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    for (command, output) in [("diagnose", "ImagePullFails"), ("inventory", "llama-0")] {
        let arguments = [command, "-n", "team-a", "--trainmesh-namespace", "mesh"];
        let run = trainmesh_with(&arguments, "", &[("KUBECONFIG", &kubeconfig)]);
        // The inventory reads no nodes.
        let fails = command == "diagnose" || !path.ends_with("nodes");
        assert_eq!(run.code, Some(if fails { 2 } else { 0 }), "{run:#?}");
        assert!(run.stdout.contains(output), "{run:#?}");
        assert_eq!(run.stderr.contains(expected), fails, "{run:#?}");
        assert_eq!(
            run.stderr.contains("etcdserver: request timed out: status 500: try again later"),
            fails,
            "{run:#?}"
        );
    }
}

/// As in kubectl, an address without a scheme is that of HTTP, unless the kubeconfig has certificates.
#[test]
fn an_address_without_a_scheme_is_completed() {
    let status = json!({"kind": "Status", "status": "Failure", "code": 503, "message": "etcdserver: leader changed"});
    let apiserver = Apiserver::start(vec![("/api/v1/pods", status)]);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    assert!(text.contains("http://"), "{text}");
    std::fs::write(&kubeconfig, text.replace("http://", "")).unwrap();
    let run = trainmesh_with(
        &["sweep", "-A", "--trainmesh-namespace", "trainmesh-system"],
        "",
        &[("KUBECONFIG", &kubeconfig)],
    );
    let expected = format!("at {} (context test): etcdserver: leader changed", apiserver.url());
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.stderr.contains(&expected), "{expected}\n{run:#?}");
}
