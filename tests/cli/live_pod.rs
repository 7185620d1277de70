//! `trainmesh preview POD --cluster`: pods of a cluster that a fake apiserver serves.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{Run, assert_exit, trainmesh_with};

const CREATED: &str = "2026-01-02T00:00:00Z";
const BEFORE: &str = "2026-01-01T00:00:00Z";
const AFTER: &str = "2026-01-03T00:00:00Z";
const POD_PATH: &str = "/api/v1/namespaces/team-a/pods/llama-0";
const CONFIG_MAP: &str = "/api/v1/namespaces/trainmesh-system/configmaps/trainmesh-config";
const WEBHOOK_CONFIGURATION: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/0-trainmesh";

/// Returns an injected pod with these labels and annotations, which requests GPUs.
pub fn pod(labels: &Value, annotations: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "llama-0", "namespace": "team-a", "creationTimestamp": CREATED, "labels": labels, "annotations": annotations},
        "spec": {"containers": [
            {"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}},
            {"name": "istio-proxy", "image": "p"},
        ]},
    });
    pod["metadata"]["annotations"]["sidecar.istio.io/status"] = r#"{"containers":["istio-proxy"]}"#.into();
    pod
}

/// Returns a pod whose main container has completed.
fn stuck_pod() -> Value {
    let terminated = json!({"terminated": {"exitCode": 0, "finishedAt": null}});
    json!({
        "metadata": {"namespace": "team-a", "name": "llama-pretrain-worker-0", "uid": "1", "labels": {"trainmesh.dev/inject": "disabled"}},
        "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "istio-proxy"}, {"name": "train"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "istio-proxy", "containerID": "c://1", "state": {"running": {}}},
            {"name": "train", "containerID": "c://2", "state": terminated},
        ]},
    })
}

/// Returns a cluster with `pod`, whose namespace has these labels since `labeled_at`.
pub fn cluster(pod: Value, labels: &Value, labeled_at: &str) -> Apiserver {
    let webhook = json!({"name": "inject.trainmesh.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "trainmesh-system", "name": "trainmesh-webhook"}, "caBundle": "YQ=="}});
    cluster_with_webhooks(pod, labels, labeled_at, Some(json!([webhook])))
}

/// Returns the same with other webhooks of trainmesh, or without its webhook configuration.
fn cluster_with_webhooks(pod: Value, labels: &Value, labeled_at: &str, webhooks: Option<Value>) -> Apiserver {
    let managed = json!([{"manager": "kubectl-label", "operation": "Update", "apiVersion": "v1", "time": labeled_at, "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:trainmesh.dev/inject": {}}}}}]);
    let namespace = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "team-a", "labels": labels, "managedFields": managed}});
    let missing = |what: &str| {
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
        "message": format!("{what} not found")})
    };
    let webhook_configuration = webhooks.map_or_else(
        || missing("0-trainmesh"),
        |webhooks| {
            json!({"kind": "MutatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1",
                "metadata": {"name": "0-trainmesh"}, "webhooks": webhooks})
        },
    );
    Apiserver::start(vec![
        (POD_PATH, pod),
        (
            "/api/v1/namespaces/team-a/pods",
            json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [stuck_pod()]}),
        ),
        ("/api/v1/namespaces/team-a", namespace.clone()),
        ("/api/v1/namespaces", json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": [namespace]})),
        ("/version", json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "", "buildDate": "",
            "goVersion": "", "compiler": "", "platform": ""})),
        ("/api/v1/namespaces/team-a/pods/large", json!({"metadata": {"annotations": {"a": "x".repeat(4 << 20)}}})),
        ("/api/v1/namespaces/team-a/pods/gone", missing("pods \"gone\"")),
        ("/api/v1/namespaces/team-a/pods/job.yaml", missing("pods \"job.yaml\"")),
        ("/api/v1/namespaces/default/pods/llama-0", missing("pods \"llama-0\"")),
        (CONFIG_MAP, missing("configmaps \"trainmesh-config\"")),
        (WEBHOOK_CONFIGURATION, webhook_configuration),
    ])
    .with_message("pods \"secret\" is forbidden: User \"jane\" cannot get resource \"pods\"")
}

fn enabled() -> Value {
    json!({"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"})
}

fn run(apiserver: &Apiserver, command: &str) -> Run {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let kubeconfig = apiserver.kubeconfig(folder.path());
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let run = trainmesh_with(&arguments, "", &[("KUBECONFIG", &kubeconfig)]);
    fs::remove_dir_all(folder).unwrap();
    run
}

const EXPLAIN: &str = "preview llama-0 -n team-a --cluster";

#[rstest]
#[case::applied(
    pod(&json!({}), &json!({
        "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true",
        "trainmesh.dev/applied": "mesh.hold,fabric=tcp",
        "trainmesh.dev/fabric-revision": "0123456789ab",
    })),
    enabled(),
    &[
        "Pod team-a/llama-0\n",
        "fabric               applied  RecordedAsApplied  the annotation trainmesh.dev/applied records the rule: profile tcp, revision \
         0123456789ab; new jobs get revision ",
        "webhook: handled the pod when it was created\n",
    ]
)]
#[case::refused(
    pod(&json!({"trainmesh.dev/fabric": "eks-efa"}), &json!({"trainmesh.dev/refused": "fabric=FabricContradicted"})),
    enabled(),
    &[
        "fabric               refused  FabricContradicted",
        "add a nodeSelector for node.kubernetes.io/instance-type",
        "webhook: handled the pod when it was created\n",
    ]
)]
#[case::refused_for_another_reason(
    pod(&json!({}), &json!({"trainmesh.dev/refused": "fabric=UnknownFabric"})),
    enabled(),
    &[
        "refused  UnknownFabric    no fabric profile has this name: with the current labels and configuration: skipped: neither the pod \
         nor the namespace selects a fabric profile",
    ]
)]
#[case::refused_and_corrected_since(
    pod(&json!({"trainmesh.dev/fabric": "tcp"}), &json!({"trainmesh.dev/refused": "fabric=UnknownFabric"})),
    enabled(),
    &[
        "refused  UnknownFabric    no fabric profile has this name: when the pod was created; a new pod gets it, so recreate the job: \
         the fabric profile is applied: tcp",
    ]
)]
#[case::ignored_by_istio(
    pod(&json!({}), &json!({
        "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true", "trainmesh.dev/applied": "mesh.hold",
    })),
    enabled(),
    &["mesh.hold            refused  HoldNotRendered"]
)]
#[case::missed(
    pod(&json!({}), &json!({})),
    enabled(),
    &[
        "mesh.hold            skipped  MissedByWebhook  the pod lacks the change: ",
        "webhook: has not changed the pod, although rules would change it: the webhook was not available when the pod was created \
         (failurePolicy: Ignore), or the configuration was changed afterwards. Create it again\n",
    ]
)]
#[case::not_opted_in(
    pod(&json!({}), &json!({})),
    json!({}),
    &["mesh.hold            skipped  NamespaceNotOptedIn", "webhook: not called for the pod: the namespace is not labeled"]
)]
#[case::copied_annotations(
    pod(&json!({"trainmesh.dev/inject": "disabled"}), &json!({"trainmesh.dev/applied": "mesh.hold"})),
    enabled(),
    &["skipped  PodOptedOut", "warning the annotations trainmesh.dev/applied and trainmesh.dev/refused are from another pod"]
)]
#[case::audit_mode(
    pod(&json!({}), &json!({})),
    json!({"trainmesh.dev/inject": "audit", "istio-injection": "enabled"}),
    &["applied  HoldAdded", "audit, not applied", "webhook: changes no pods: the namespace is in audit mode\n"]
)]
#[case::nothing_to_do(
    pod(&json!({"sidecar.istio.io/inject": "false"}), &json!({})),
    json!({"trainmesh.dev/inject": "enabled"}),
    &["webhook: wrote no annotation, and none is needed: no rule would change the pod\n"]
)]
#[case::unknown_label(
    pod(&json!({"trainmesh.dev/injct": "disabled"}), &json!({})),
    enabled(),
    &["FP045 W label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?"]
)]
fn pods_are_explained(#[case] pod: Value, #[case] labels: Value, #[case] expected: &[&str]) {
    let _ = explain(&cluster(pod, &labels, BEFORE), expected, "");
}

/// Explains the pod of the cluster, and checks parts of the output. The widths of its columns depend on the names of all rules and
/// reasons.
fn explain(apiserver: &Apiserver, stdout: &[&str], stderr: &str) -> Run {
    let squeeze = |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let run = run(apiserver, EXPLAIN);
    let run = Run { stdout: squeeze(&run.stdout), ..run };
    let expected: Vec<String> = stdout.iter().map(|part| squeeze(part)).collect();
    assert_exit(&run, 0, &expected.iter().map(String::as_str).collect::<Vec<_>>(), stderr);
    run
}

/// Most users may not read the namespace of the installation, and what the defaults would do is not what its webhook does.
#[rstest]
#[case::applied(
    pod(&json!({"trainmesh.dev/injct": "disabled"}), &json!({
        "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true",
        "trainmesh.dev/applied": "mesh.hold,fabric=tcp",
        "trainmesh.dev/fabric-revision": "0123456789ab",
    })),
    enabled(),
    &[
        "mesh.hold refused HoldNotRendered",
        "fabric applied RecordedAsApplied the annotation trainmesh.dev/applied records the rule: profile tcp, revision 0123456789ab\n",
        "gang skipped ConfigurationUnknown no annotation of the pod records the rule",
        "webhook: handled the pod when it was created\n",
    ]
)]
#[case::refused(
    pod(&json!({"trainmesh.dev/fabric": "eks-efa"}), &json!({"trainmesh.dev/refused": "fabric=FabricContradicted"})),
    enabled(),
    &["fabric refused FabricContradicted", "add a nodeSelector for node.kubernetes.io/instance-type"]
)]
#[case::refused_for_another_reason(
    pod(&json!({"trainmesh.dev/fabric": "own"}), &json!({"trainmesh.dev/refused": "fabric=FabricNotAllowed"})),
    enabled(),
    &["fabric refused FabricNotAllowed the fabric profile is not available in this namespace\n"]
)]
#[case::nothing_recorded(
    pod(&json!({}), &json!({})),
    enabled(),
    &["mesh.hold skipped ConfigurationUnknown", "webhook: wrote no annotation; whether a rule would change the pod depends"]
)]
#[case::not_opted_in(pod(&json!({}), &json!({})), json!({}), &["mesh.hold skipped NamespaceNotOptedIn"])]
#[case::audit_mode(
    pod(&json!({}), &json!({})),
    json!({"trainmesh.dev/inject": "audit", "istio-injection": "enabled"}),
    &["mesh.hold skipped ConfigurationUnknown", "webhook: changes no pods: the namespace is in audit mode\n"]
)]
fn annotations_count_without_the_configuration(#[case] pod: Value, #[case] labels: Value, #[case] expected: &[&str]) {
    let apiserver = cluster(pod, &labels, BEFORE);
    apiserver.replace(CONFIG_MAP, failure(403, "Forbidden"));
    let run = explain(&apiserver, expected, "; only what the annotations of the pod record is shown\n");
    for computed in ["MissedByWebhook", "HoldAdded", "new jobs", "current", "FP0"] {
        assert!(!run.stdout.contains(computed), "{computed}: {run:#?}");
    }
}

/// Returns the response of an apiserver that fails.
fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": code})
}

#[test]
fn a_configuration_that_may_be_read_later_is_an_error() {
    let apiserver = cluster(pod(&json!({}), &json!({})), &enabled(), BEFORE);
    apiserver.replace(CONFIG_MAP, failure(503, "ServiceUnavailable"));
    assert_exit(&run(&apiserver, EXPLAIN), 2, &[], "try again later");
}

/// The embedded configuration may differ from that of an installation in another namespace. A cluster without an installation has none.
#[rstest]
#[case::installed(true, "", true)]
#[case::not_installed(false, "", false)]
#[case::namespace_given(false, " --trainmesh-namespace trainmesh-system", true)]
fn a_missing_configuration_is_noted(#[case] is_installed: bool, #[case] flag: &str, #[case] expected: bool) {
    let apiserver = cluster(pod(&json!({}), &json!({})), &enabled(), BEFORE);
    if !is_installed {
        apiserver.replace(WEBHOOK_CONFIGURATION, failure(404, "NotFound"));
    }
    let run = run(&apiserver, &format!("{EXPLAIN}{flag}"));
    let note = "note: ConfigMap trainmesh-system/trainmesh-config does not exist; set --trainmesh-namespace to change the namespace; \
                using the embedded configuration\n";
    assert_exit(&run, 0, &["mesh.hold"], if expected { note } else { "" });
    assert_eq!(run.stderr.contains(note), expected, "{run:#?}");
}

/// Its namespace is that of the installation, and its absence the cause of a missed pod.
#[rstest]
#[case::pod(EXPLAIN)]
#[case::namespace_given("preview llama-0 -n team-a --cluster --trainmesh-namespace trainmesh-system")]
fn the_webhook_configuration_is_read_once(#[case] command: &str) {
    let apiserver = cluster(pod(&json!({}), &json!({})), &enabled(), BEFORE);
    assert_exit(&run(&apiserver, command), 0, &["webhook: has not changed the pod"], "");
    let requests = apiserver.requests();
    let count = requests.iter().filter(|path| path.starts_with(WEBHOOK_CONFIGURATION)).count();
    assert_eq!(count, 1, "{requests:#?}");
}

#[rstest]
#[case::not_installed(None, "does not exist")]
#[case::no_webhooks(Some(json!([])), "has no webhooks")]
#[case::no_bundle(
    Some(json!([{"name": "inject.trainmesh.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "trainmesh-system", "name": "trainmesh-webhook"}}}])),
    "has no caBundle"
)]
fn a_webhook_that_is_never_called_is_the_cause(#[case] webhooks: Option<Value>, #[case] cause: &str) {
    let apiserver = cluster_with_webhooks(pod(&json!({}), &json!({})), &enabled(), BEFORE, webhooks);
    let expected = format!(
        "webhook: has not changed the pod, although rules would change it: MutatingWebhookConfiguration 0-trainmesh {cause}, so that \
         no new pod is changed either: run trainmesh doctor, and then create the pod again\n"
    );
    assert_exit(&run(&apiserver, EXPLAIN), 0, &[&expected], "");
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("pod.yaml");
    fs::write(&manifest, pod(&json!({}), &json!({})).to_string()).unwrap();
    let expected = format!(
        "warning: MutatingWebhookConfiguration 0-trainmesh {cause}: the cluster changes no pods: run trainmesh doctor\n"
    );
    let output = run(&apiserver, &format!("preview -f {} --cluster", manifest.display()));
    assert!(output.stderr.contains(&expected), "{output:#?}");
}

#[rstest]
#[case::pod_slash_name("preview pod/llama-0 -n team-a --cluster", 0, "")]
#[case::fail_on("preview llama-0 -n team-a --cluster --fail-on unknown", 0, "")]
#[case::not_found("preview gone -n team-a --cluster", 2, "error: pod team-a/gone not found\n")]
#[case::too_large(
    "preview large -n team-a --cluster",
    2,
    "error: could not read pod team-a/large: it is larger than the limit of 4 MiB\n"
)]
#[case::namespace_of_the_context("preview llama-0 --cluster", 2, "error: pod default/llama-0 not found\n")]
#[case::a_manifest(
    "preview job.yaml -n team-a --cluster",
    2,
    "error: pod team-a/job.yaml not found; to read a manifest, use '-f job.yaml'\n"
)]
#[case::forbidden(
    "preview secret -n team-a --cluster",
    2,
    " (context test): pods \"secret\" is forbidden: User \"jane\" cannot get resource \"pods\"\n"
)]
#[case::no_cluster(
    "preview llama-0",
    2,
    "error: a pod is read from the cluster: add --cluster; to read the manifest 'llama-0', use '-f llama-0'\n"
)]
#[case::another_kind(
    "preview pytorchjob/llama -n team-a --cluster",
    2,
    "error: 'pytorchjob/llama' is not a pod: for another object, use 'kubectl get pytorchjob/llama -o yaml | trainmesh preview -f - --cluster'"
)]
#[case::invalid_name("preview pod/Llama -n team-a --cluster", 2, "error: 'Llama' is not a valid pod name\n")]
#[case::patch(
    "preview llama-0 -n team-a --cluster -o patch",
    2,
    "error: a pod that exists has no patch: use -o explain or -o json\n"
)]
#[case::fabric("preview llama-0 -n team-a --cluster --fabric tcp", 2, "cannot be used with")]
#[case::manifest_too("preview llama-0 -f pod.yaml --cluster", 2, "cannot be used with")]
fn errors_name_the_problem(#[case] command: &str, #[case] code: i32, #[case] stderr: &str) {
    let apiserver = cluster(pod(&json!({}), &json!({})), &enabled(), BEFORE);
    assert_exit(&run(&apiserver, command), code, &[], stderr);
}

#[test]
fn labels_that_were_added_after_the_pod_are_the_cause() {
    let apiserver = cluster(pod(&json!({}), &json!({})), &enabled(), AFTER);
    let cause = "the labels of the namespace were changed at 2026-01-03T00:00:00Z, after the pod was created. Create it again\n";
    assert_exit(&run(&apiserver, EXPLAIN), 0, &[cause], "");
}

#[test]
fn refusals_fail_on_request() {
    let refused = json!({"trainmesh.dev/refused": "fabric=FabricContradicted"});
    let apiserver = cluster(pod(&json!({"trainmesh.dev/fabric": "eks-efa"}), &refused), &enabled(), BEFORE);
    assert_exit(&run(&apiserver, &format!("{EXPLAIN} --fail-on refused")), 1, &[], "");
}

#[test]
fn json_contains_the_result_of_the_webhook() {
    let revision = json!({"trainmesh.dev/applied": "fabric=gone", "trainmesh.dev/fabric-revision": "0123456789ab"});
    let apiserver = cluster(pod(&json!({}), &revision), &enabled(), BEFORE);
    let run = run(&apiserver, &format!("{EXPLAIN} -o json"));
    let whole: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let result = &whole["results"][0];
    let expected = json!({
        "webhook": "Handled",
        "message": "handled the pod when it was created",
        "fabric": {"profile": "gone", "revision": "0123456789ab", "currentRevision": null},
    });
    assert_eq!((&result["live"], &result["changed"], &result["patch"]), (&expected, &json!(false), &json!([])));
}
