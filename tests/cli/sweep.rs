//! `trainmesh sweep` with a fake apiserver.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, assert_exit, trainmesh_with};

const WEBHOOK_CONFIGURATION: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/0-trainmesh";
const CONFIG_MAP: &str = "/api/v1/namespaces/mesh/configmaps/trainmesh-config";
const DEFAULT_CONFIG_MAP: &str = "/api/v1/namespaces/trainmesh-system/configmaps/trainmesh-config";
const POD: &str = "/api/v1/namespaces/team-a/pods/llama-0";

/// Returns a pod whose main container has completed while `sidecars` run.
fn pod(sidecars: &[&str]) -> Value {
    let completed = json!({"terminated": {"exitCode": 0, "finishedAt": "2026-01-01T00:00:00Z"}});
    let mut containers = vec![json!({"name": "train"})];
    let mut statuses = vec![json!({"name": "train", "containerID": "c://0", "state": completed})];
    for name in sidecars {
        containers.push(json!({"name": name}));
        statuses.push(json!({"name": name, "containerID": format!("c://{name}"), "state": {"running": {}}}));
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team-a", "name": "llama-0", "uid": "1"},
        "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": containers},
        "status": {"phase": "Running", "containerStatuses": statuses},
    })
}

/// Runs sweep in a cluster with `pod` and `objects`.
fn sweep(pod: Value, objects: Vec<(&'static str, Value)>, arguments: &[&str], message: &str) -> Run {
    sweep_with_requests(pod, objects, arguments, message).0
}

/// Like [`sweep`], with the paths of the requests.
fn sweep_with_requests(
    pod: Value,
    objects: Vec<(&'static str, Value)>,
    arguments: &[&str],
    message: &str,
) -> (Run, Vec<String>) {
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod.clone()]});
    let pods = [("/api/v1/namespaces/team-a/pods", list), (POD, pod)];
    let apiserver = Apiserver::start(pods.into_iter().chain(objects).collect()).with_message(message);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let arguments = [&["sweep", "-n", "team-a"], arguments].concat();
    let run = trainmesh_with(&arguments, "", &[("KUBECONFIG", &kubeconfig), ("COLUMNS", "400")]);
    (run, apiserver.requests())
}

/// The permissions are those of the user: no controller takes part.
#[test]
fn a_missing_permission_is_that_of_the_user() {
    let message = "User \"alice\" cannot create resource \"pods/exec\"";
    let run = sweep(pod(&["istio-proxy"]), Vec::new(), &["--apply", "--trainmesh-namespace", "mesh"], message);
    let expected =
        "failed: istio-proxy: no permission to terminate containers of this pod: requires create and get on pods/exec";
    assert_exit(&run, 2, &[expected, "User \"alice\" cannot create"], "");
}

/// Pods are listed whether their sidecars can be terminated or not: their jobs do not complete either way.
#[rstest]
#[case::port_forward(
    &["cloud-sql-proxy"],
    json!({}),
    "the main containers have completed, but cloud-sql-proxy is still running: its method needs a port-forward, and \
     termination.portForward is false: set it to true in trainmesh's configuration"
)]
#[case::several(
    &["cloud-sql-proxy", "vault-agent"],
    json!({}),
    "but cloud-sql-proxy and vault-agent are still running: their methods need a port-forward, and"
)]
#[case::beside_a_proxy(
    &["istio-proxy", "vault-agent"],
    json!({}),
    "but proxy istio-proxy is still running, and vault-agent is still running: its method needs a port-forward"
)]
#[case::without_an_entry(
    &["uploader"],
    json!({"trainmesh.dev/payload-containers": "train"}),
    "but uploader is still running: the catalog has no entry for it: see docs/termination.md#sidecar-containers"
)]
fn sidecars_that_cannot_be_terminated_are_listed(
    #[case] sidecars: &[&str],
    #[case] annotations: Value,
    #[case] expected: &str,
) {
    let mut pod = pod(sidecars);
    pod["metadata"]["annotations"] = annotations;
    let run = sweep(pod, Vec::new(), &["--trainmesh-namespace", "mesh"], "forbidden");
    assert_exit(&run, 0, &["llama-0", expected], "");
    assert!(!run.stderr.contains("no stuck pods"), "{run:#?}");
}

/// A scheduled run does not fail for a pod that it can never change.
#[test]
fn a_sidecar_that_cannot_be_terminated_is_no_failure() {
    let arguments = ["--apply", "--trainmesh-namespace", "mesh"];
    let run = sweep(pod(&["vault-agent"]), Vec::new(), &arguments, "forbidden");
    let expected = "not possible: vault-agent is still running: its method needs a port-forward, and \
         termination.portForward is false: set it to true in trainmesh's configuration";
    assert_exit(&run, 0, &[expected], "");
    // The proxy of such a pod must be terminated nevertheless.
    let run = sweep(pod(&["istio-proxy", "vault-agent"]), Vec::new(), &arguments, "forbidden");
    assert_exit(&run, 2, &["failed: istio-proxy: no permission"], "");
    // Its main container runs again, or it may complete by itself.
    let mut running = pod(&["vault-agent"]);
    running["status"]["containerStatuses"][0]["state"] = json!({"running": {}});
    let run = sweep(running, Vec::new(), &arguments, "forbidden");
    assert_exit(&run, 0, &[], "no stuck pods");
}

/// The webhook configuration and the `ConfigMap` only determine names and methods, and the usual ones are known. They suffice for a
/// list, but the settings of the cluster may exclude a container.
#[rstest]
#[case::webhook_configuration(
    WEBHOOK_CONFIGURATION,
    &[],
    "assuming namespace trainmesh-system; set --trainmesh-namespace to change it"
)]
#[case::configuration(CONFIG_MAP, &["--trainmesh-namespace", "mesh"], "using the embedded configuration")]
fn assumed_settings_list_pods_and_terminate_nothing(
    #[case] path: &'static str,
    #[case] arguments: &[&str],
    #[case] expected: &str,
) {
    let failure = json!({"kind": "Status", "status": "Failure", "code": 503, "message": "etcdserver: leader changed"});
    let objects = vec![(path, failure)];
    let run = sweep(pod(&["istio-proxy"]), objects.clone(), arguments, "forbidden");
    assert_exit(&run, 2, &["llama-0", "istio-proxy is still running"], expected);
    assert!(run.stderr.contains("status 503: try again later; "), "{run:#?}");
    // No stuck pod was found under settings that may differ from those of the cluster.
    let run = sweep(pod(&[]), objects.clone(), arguments, "forbidden");
    assert_exit(&run, 2, &[], "no stuck pods found in namespace team-a");

    let arguments = [arguments, &["--apply"]].concat();
    let (run, requests) = sweep_with_requests(pod(&["istio-proxy"]), objects, &arguments, "forbidden");
    let error = "error: --apply needs the cluster's settings: try again later, or list the pods without --apply\n";
    assert_exit(&run, 2, &[], error);
    assert!(run.stdout.is_empty() && run.stderr.contains(expected), "{run:#?}");
    assert!(!requests.iter().any(|path| path.contains("/pods")), "{requests:#?}");
}

/// No namespace was selected.
#[test]
fn an_empty_cluster_has_another_context() {
    let list = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []});
    let apiserver = Apiserver::start(vec![("/api/v1/pods", list)]);
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["sweep", "-A", "--trainmesh-namespace", "mesh"];
    let run = trainmesh_with(&arguments, "", &[("KUBECONFIG", &apiserver.kubeconfig(folder.path()))]);
    assert_exit(&run, 0, &[], "note: no pods in the cluster: check the context\n");
}

/// The defaults may select other containers and methods than the settings of an installation in another namespace.
#[test]
fn a_missing_configuration_is_noted() {
    let absent = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404});
    let objects =
        vec![(WEBHOOK_CONFIGURATION, absent.clone()), (CONFIG_MAP, absent.clone()), (DEFAULT_CONFIG_MAP, absent)];
    for (arguments, namespace) in [(&["--trainmesh-namespace", "mesh"][..], "mesh"), (&[], "trainmesh-system")] {
        let run = sweep(pod(&["istio-proxy"]), objects.clone(), arguments, "forbidden");
        let note = format!("note: ConfigMap {namespace}/trainmesh-config does not exist; set --trainmesh-namespace");
        assert_exit(&run, 0, &["istio-proxy is still running"], &note);
    }
}
