//! How the apiserver handles every kind of response. This is why the engine verifies its own patch, why an internal
//! error is HTTP 500, and why `allowed: false` is never sent: `Ignore` covers neither a broken patch nor a rejection.

use rstest::rstest;
use serde_json::json;

use super::faulty_webhook::{Fault, FaultyWebhook, patch};
use trainmesh_testing::cluster::{Cluster, Namespace};
use trainmesh_testing::pods::{creation, pod};
use trainmesh_testing::webhook::{Scope, WebhookConfiguration, failed_open};

/// Result of creating the pod.
#[derive(Clone, Copy, Debug)]
enum Creation {
    /// Created unchanged; the audit log records a failed call.
    FailedOpen,
    /// Created unchanged; the apiserver records no failure.
    Unchanged,
    /// Rejected with this message.
    Rejected(&'static str),
}

use Creation::{FailedOpen, Rejected, Unchanged};

const FAILED: Creation = Rejected("failed calling webhook");

#[rstest]
#[case::http_500(Fault::Http(500, "{}"), FailedOpen, FAILED)]
#[case::http_400(Fault::Http(400, "{}"), FailedOpen, FAILED)]
#[case::not_json(Fault::Http(200, "good morning"), FailedOpen, FAILED)]
#[case::no_response(
    Fault::Http(200, r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#),
    FailedOpen,
    FAILED
)]
#[case::wrong_uid(Fault::Response(|| json!({"uid": "another"})), FailedOpen, FAILED)]
#[case::patch_without_type(Fault::Response(|| json!({"patch": "W10="})), FailedOpen, FAILED)]
#[case::type_without_patch(Fault::Response(|| json!({"patchType": "JSONPatch"})), FailedOpen, FAILED)]
#[case::invalid_patch(Fault::Response(|| patch(&json!({"op": "add"}))), FailedOpen, Rejected("InternalError"))]
#[case::empty_patch(Fault::Response(|| patch(&json!([]))), Unchanged, Unchanged)]
#[case::unknown_field(
    Fault::Response(|| patch(&json!([{"op": "add", "path": "/spec/fooBar", "value": 1}]))),
    Unchanged,
    Unchanged
)]
#[case::path_is_missing(
    Fault::Response(|| patch(&json!([{"op": "add", "path": "/metadata/nowhere/x", "value": "y"}]))),
    Rejected("InternalError"),
    Rejected("InternalError")
)]
#[case::test_fails(
    Fault::Response(|| patch(&json!([{"op": "test", "path": "/metadata/name", "value": "y"}]))),
    Rejected("InternalError"),
    Rejected("InternalError")
)]
#[case::result_does_not_decode(
    Fault::Response(|| patch(&json!([{"op": "replace", "path": "/spec/containers", "value": "none"}]))),
    Rejected("InternalError"),
    Rejected("InternalError")
)]
#[case::invalid_value(
    Fault::Response(|| patch(&json!([{"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "bad name="}]}]))),
    Rejected("is invalid: spec.containers[0].env[0].name"),
    Rejected("is invalid: spec.containers[0].env[0].name")
)]
#[case::not_allowed(Fault::Response(|| json!({"allowed": false})), Rejected("denied the request"), Rejected("denied the request"))]
#[case::no_reply(Fault::NoReply, FailedOpen, FAILED)]
#[case::other_certificate(Fault::OtherCertificate, FailedOpen, FAILED)]
#[case::no_tls(Fault::NoTls, FailedOpen, FAILED)]
#[case::connection_refused(Fault::ConnectionRefused, FailedOpen, FAILED)]
fn the_pod_is_created_or_rejected_as_expected(
    #[case] fault: Fault,
    #[case] with_ignore: Creation,
    #[case] with_fail: Creation,
) {
    for (policy, outcome) in [("Ignore", with_ignore), ("Fail", with_fail)] {
        let webhook_server = FaultyWebhook::start(fault);
        let webhook = webhook_server.webhook("faulty.trainmesh.dev", &json!({"failurePolicy": policy}));
        let configuration = WebhookConfiguration::new(Scope::new(), "faulty", vec![webhook]);
        check(&configuration.namespace(&[]), policy, outcome);
    }
}

/// Creates a pod and compares the outcome.
fn check(namespace: &Namespace, policy: &str, outcome: Creation) {
    let created = namespace.create(&pod("train"));
    if let Rejected(message) = outcome {
        assert!(!created.status.success(), "{policy}: the pod was created");
        assert!(created.stderr.contains(message), "{policy}: {}", created.stderr);
        return;
    }
    let _ = created.success();
    let stored = namespace.get("pod", "train").expect("the pod was created");
    let sent = Cluster::get().namespace(&[]);
    let _ = sent.create(&pod("train")).success();
    let unprocessed = sent.get("pod", "train").expect("a pod that no webhook has seen");
    let env = |pod: &serde_json::Value| pod["spec"]["containers"][0]["env"].clone();
    assert_eq!(stored["metadata"]["annotations"], unprocessed["metadata"]["annotations"], "{policy}");
    assert_eq!(env(&stored), env(&unprocessed), "{policy}");
    let request = creation(namespace, "train");
    let failed = failed_open(&request);
    let expected: &[&str] = if matches!(outcome, FailedOpen) { &["faulty.trainmesh.dev"] } else { &[] };
    assert_eq!(failed, expected, "{policy}");
}
