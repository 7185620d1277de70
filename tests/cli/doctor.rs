//! `trainmesh doctor` with a fake apiserver that serves a part of what it reads.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, assert_exit, trainmesh_with};

pub const WEBHOOK_CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Returns a list without objects.
pub fn empty_list() -> Value {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []})
}

fn version() -> Value {
    json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
        "compiler": "", "platform": ""})
}

/// Runs doctor on a cluster that serves only `objects`, and its version.
fn doctor(objects: Vec<(&'static str, Value)>, arguments: &[&str]) -> Run {
    let objects = objects.into_iter().chain([("/version", version())]).collect();
    let apiserver = Apiserver::start(objects).with_message("forbidden");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let arguments = [&["doctor", "-n", "mesh", "-o", "json"], arguments].concat();
    trainmesh_with(&arguments, "", &[("KUBECONFIG", &kubeconfig)])
}

/// Returns the findings of a check, or of all if it is empty: level, code, and what they are about.
fn findings(run: &Run, check: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let all =
        report["findings"].as_array().unwrap().iter().filter(|finding| check.is_empty() || finding["check"] == check);
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let short = all.map(|finding| ["level", "code", "about"].map(|key| text(finding, key)).join(" "));
    short.map(|line| line.trim_end().to_owned()).collect()
}

/// A namespace that cannot be read may select the mode.
#[rstest]
#[case::readable(vec![("/api/v1/namespaces", empty_list())], "ok DirectUnused")]
#[case::forbidden(vec![], "note NotReadable list namespaces")]
fn the_mode_direct_is_unused_only_if_all_namespaces_are_known(
    #[case] objects: Vec<(&'static str, Value)>,
    #[case] expected: &str,
) {
    assert_eq!(findings(&doctor(objects, &[]), "PodNetwork"), [expected]);
}

/// Helm refuses to install a release that exists, as after an emergency stop.
#[test]
fn a_missing_webhook_configuration_may_be_a_stop() {
    let run = doctor(vec![(WEBHOOK_CONFIGURATIONS, empty_list())], &[]);
    assert_exit(&run, 2, &["RegistrationMissing", "docs/outage.md#stop-all-changes-at-once"], "");
}

const TIMEOUT: &str = "etcdserver: request timed out";

fn failure() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": TIMEOUT})
}

/// One part of the apiserver does not work: the other checks run.
#[rstest]
#[case::lease(
    "/apis/coordination.k8s.io/v1/namespaces/mesh/leases/trainmesh-controller",
    "Controller",
    "read Lease mesh/trainmesh-controller"
)]
#[case::namespaces("/api/v1/namespaces", "Namespaces", "list namespaces")]
#[case::namespaces_for_pods("/api/v1/namespaces", "PodSecurity", "list namespaces")]
#[case::secret(
    "/api/v1/namespaces/mesh/secrets/trainmesh-webhook-tls",
    "Certificate",
    "read Secret mesh/trainmesh-webhook-tls"
)]
#[case::configuration(
    "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
    "Configuration",
    "read ConfigMap mesh/trainmesh-config"
)]
#[case::endpoints(
    "/api/v1/namespaces/mesh/services/trainmesh-webhook",
    "Endpoints",
    "read Service mesh/trainmesh-webhook"
)]
#[case::deployment(
    "/apis/apps/v1/namespaces/mesh/deployments/trainmesh-webhook",
    "",
    "read Deployment mesh/trainmesh-webhook"
)]
#[case::istio("/apis/apps/v1/deployments", "Istio", "list Istio's Deployments in all namespaces")]
#[case::webhooks(WEBHOOK_CONFIGURATIONS, "IstioAux", "list MutatingWebhookConfigurations")]
#[case::validating(
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "Webhooks",
    "list ValidatingWebhookConfigurations"
)]
fn a_request_that_fails_leaves_the_other_checks(
    #[case] path: &'static str,
    #[case] check: &str,
    #[case] request: &str,
) {
    let readable = || vec![("/api/v1/namespaces", empty_list()), (WEBHOOK_CONFIGURATIONS, empty_list())];
    let run = doctor([vec![(path, failure())], readable()].concat(), &[]);
    let expected = format!("failure RequestFailed could not {request}: {TIMEOUT}: status 500");
    let found = findings(&run, check);
    assert_eq!(found.iter().filter(|line| **line == expected).count(), 1, "{expected}\n{found:#?}");
    assert_eq!((run.code, run.stderr.as_str()), (Some(2), ""), "{run:#?}");
    assert_eq!(findings(&run, "Kubernetes"), ["ok VersionServed v1.36.0"]);
    assert!(run.stdout.matches("\"check\"").count() >= 16, "{run:#?}");
}

/// The version needs no permission, but an apiserver may be overloaded or not ready.
#[test]
fn a_version_request_that_fails_leaves_the_other_checks() {
    let run = doctor(vec![("/version", failure()), ("/api/v1/namespaces", empty_list())], &[]);
    let expected = format!("failure RequestFailed could not read the version of the apiserver: {TIMEOUT}: status 500");
    assert_eq!(findings(&run, "Kubernetes"), [expected]);
    assert_eq!(findings(&run, "Namespaces"), ["note NoneOptedIn"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(2), ""), "{run:#?}");
}

/// Without the apiserver's clock, no date is compared.
#[test]
fn an_unknown_time_leaves_the_other_checks() {
    let lease = json!({"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "trainmesh-controller"},
        "spec": {"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2026-11-22T06:18:30.000000Z"}});
    let apiserver = Apiserver::start(vec![("/version", version()), (LEASE, lease)]).without_date();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let run = trainmesh_with(&["doctor", "-n", "mesh", "-o", "json"], "", &[("KUBECONFIG", &kubeconfig)]);
    let expected = "failure RequestFailed could not read the apiserver's time: the response is malformed";
    for check in ["Controller", "Certificate"] {
        assert_eq!(findings(&run, check), [expected]);
    }
    assert_eq!(findings(&run, "Kubernetes"), ["ok VersionServed v1.36.0"]);
}

/// Every other request would fail alike: one message instead of a finding for each check.
#[rstest]
#[case::credentials(json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401, "message": "Unauthorized"}), "does not accept the credentials: they may have expired")]
#[case::web_page(json!("<html>sign in</html>"), "is no apiserver: check the server of the context, with its path")]
fn a_response_that_concerns_all_requests_is_one_error(#[case] response: Value, #[case] expected: &str) {
    let run = doctor(vec![("/api/v1/namespaces", response)], &[]);
    assert_exit(&run, 2, &[], expected);
    assert_eq!(run.stdout, "", "{run:#?}");
}

/// The namespace of the installation is not known either.
#[test]
fn the_default_namespace_is_assumed_if_the_request_fails() {
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/0-trainmesh";
    let apiserver = Apiserver::start(vec![("/version", version()), (path, failure())]);
    let folder = tempfile::tempdir().unwrap();
    let run = trainmesh_with(&["doctor"], "", &[("KUBECONFIG", &apiserver.kubeconfig(folder.path()))]);
    assert_exit(&run, 2, &["supported version"], "status 500: try again later; assuming namespace trainmesh-system; ");
}

/// Anonymous users may read it, but not in every cluster.
#[test]
fn a_version_that_may_not_be_read_is_a_note() {
    let apiserver = Apiserver::start(vec![("/api/v1/namespaces", empty_list())]).with_message("forbidden");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let run = trainmesh_with(&["doctor", "-n", "mesh", "-o", "json"], "", &[("KUBECONFIG", &kubeconfig)]);
    assert_eq!(findings(&run, "Kubernetes"), ["note NotReadable read the version of the apiserver"]);
    assert_eq!(findings(&run, "PodNetwork"), ["ok DirectUnused"]);
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/mesh/leases/trainmesh-controller";

/// The fake apiserver's clock shows 07:00.
#[rstest]
#[case::released(json!({"holderIdentity": ""}), "failure LeaseFree")]
#[case::seconds(json!({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2026-11-22T06:58:20.000000Z"}), "failure LeaseStale a_1, for 100s")]
#[case::minutes(json!({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2026-11-22T06:18:30.000000Z"}), "failure LeaseStale a_1, for 41m")]
#[case::hours(json!({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2026-11-21T01:59:00.000000Z"}), "failure LeaseStale a_1, for 29h")]
fn commands_of_fixes_have_the_namespace(#[case] spec: Value, #[case] expected: &str) {
    let lease = json!({"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "trainmesh-controller"}, "spec": spec});
    let run = doctor(vec![(LEASE, lease)], &[]);
    assert_eq!(findings(&run, "Controller"), [expected], "{run:#?}");
    assert_exit(&run, 2, &["kubectl -n mesh get pods -l app.kubernetes.io/component=controller"], "");
}

/// All of them, so that the roles can be corrected at once, those on pods first.
#[test]
fn missing_permissions_are_listed_by_resource() {
    let denied = json!({"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {},
        "status": {"allowed": false}});
    let reviews = ("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", denied);
    let namespace = |name: &str| json!({"metadata": {"name": name, "labels": {"trainmesh.dev/inject": "enabled"}}});
    let items = [namespace("a"), namespace("b")];
    let namespaces = json!({"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": items});
    let run = doctor(vec![reviews, ("/api/v1/namespaces", namespaces)], &[]);
    let found = findings(&run, "");
    let missing = found.iter().find(|line| line.contains("RightsMissing")).unwrap();
    assert!(missing.starts_with("failure RightsMissing controller: get, create pods/exec in a, b; "), "{missing}");
    for expected in [
        "controller: list, watch, create, patch, delete podgroups.scheduling.volcano.sh",
        "webhook: get, list, watch namespaces",
        "controller: create, patch events.events.k8s.io in mesh",
    ] {
        assert!(missing.split("; ").any(|part| part == expected), "{expected}: {missing}");
    }
    assert!(!missing.contains("more"), "{missing}");
}
