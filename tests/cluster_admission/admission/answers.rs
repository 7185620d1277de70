//! What the apiserver does with every kind of answer. It is why the engine checks its own patch, why an internal error
//! is HTTP 500, and why `allowed: false` is never sent: neither a broken patch nor a refusal is subject to `Ignore`.

use rstest::rstest;
use serde_json::json;

use super::liar::{Liar, Lie, patch};
use trainmesh_testing::cluster::{Cluster, Namespace};
use trainmesh_testing::pods::{creation, pod};
use trainmesh_testing::webhook::{Registration, Scope, base64, failed_open};

/// What becomes of the pod.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// As it was sent, and the audit log says that a call failed.
    FailedOpen,
    /// As it was sent; to the apiserver, all went well.
    Unchanged,
    /// Refused, and the user reads this.
    Refused(&'static str),
}

use Fate::{FailedOpen, Refused, Unchanged};

const FAILED: Fate = Refused("failed calling webhook");

#[rstest]
#[case::http_500(Lie::Http(500, "{}"), FailedOpen, FAILED)]
#[case::http_400(Lie::Http(400, "{}"), FailedOpen, FAILED)]
#[case::not_json(Lie::Http(200, "good morning"), FailedOpen, FAILED)]
#[case::no_response(
    Lie::Http(200, r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#),
    FailedOpen,
    FAILED
)]
#[case::wrong_uid(Lie::Response(|| json!({"uid": "another"})), FailedOpen, FAILED)]
#[case::patch_without_type(Lie::Response(|| json!({"patch": "W10="})), FailedOpen, FAILED)]
#[case::type_without_patch(Lie::Response(|| json!({"patchType": "JSONPatch"})), FailedOpen, FAILED)]
#[case::patch_is_no_patch(Lie::Response(|| patch(&json!({"op": "add"}))), FailedOpen, Refused("InternalError"))]
#[case::empty_patch(Lie::Response(|| patch(&json!([]))), Unchanged, Unchanged)]
#[case::unknown_field(
    Lie::Response(|| patch(&json!([{"op": "add", "path": "/spec/fooBar", "value": 1}]))),
    Unchanged,
    Unchanged
)]
#[case::path_is_missing(
    Lie::Response(|| patch(&json!([{"op": "add", "path": "/metadata/nowhere/x", "value": "y"}]))),
    Refused("InternalError"),
    Refused("InternalError")
)]
#[case::test_fails(
    Lie::Response(|| patch(&json!([{"op": "test", "path": "/metadata/name", "value": "y"}]))),
    Refused("InternalError"),
    Refused("InternalError")
)]
#[case::result_does_not_decode(
    Lie::Response(|| patch(&json!([{"op": "replace", "path": "/spec/containers", "value": "none"}]))),
    Refused("InternalError"),
    Refused("InternalError")
)]
#[case::invalid_value(
    Lie::Response(|| patch(&json!([{"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "bad name="}]}]))),
    Refused("is invalid: spec.containers[0].env[0].name"),
    Refused("is invalid: spec.containers[0].env[0].name")
)]
#[case::not_allowed(Lie::Response(|| json!({"allowed": false})), Refused("denied the request"), Refused("denied the request"))]
#[case::silence(Lie::Silence, FailedOpen, FAILED)]
#[case::other_certificate(Lie::OtherCertificate, FailedOpen, FAILED)]
#[case::no_tls(Lie::NoTls, FailedOpen, FAILED)]
#[case::nobody(Lie::Refused, FailedOpen, FAILED)]
fn what_becomes_of_the_pod(#[case] lie: Lie, #[case] under_ignore: Fate, #[case] under_fail: Fate) {
    for (policy, fate) in [("Ignore", under_ignore), ("Fail", under_fail)] {
        let liar = Liar::start(lie);
        let webhook = json!({
            "name": "liar.trainmesh.dev",
            "clientConfig": {"url": format!("https://{}/", liar.address), "caBundle": base64(&liar.certificate.pem)},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 1, "failurePolicy": policy,
        });
        let registration = Registration::new(Scope::new(), "liar", vec![webhook]);
        check(&registration.namespace(&[]), policy, fate);
    }
}

/// Creates a pod and compares what became of it.
fn check(namespace: &Namespace, policy: &str, fate: Fate) {
    let created = namespace.create(&pod("train"));
    if let Refused(message) = fate {
        assert!(!created.status.success(), "{policy}: the pod was created");
        assert!(created.stderr.contains(message), "{policy}: {}", created.stderr);
        return;
    }
    let _ = created.success();
    let stored = namespace.get("pod", "train").expect("the pod was created");
    let sent = Cluster::get().namespace(&[]);
    let _ = sent.create(&pod("train")).success();
    let unasked = sent.get("pod", "train").expect("a pod that no webhook saw");
    let env = |pod: &serde_json::Value| pod["spec"]["containers"][0]["env"].clone();
    assert_eq!(stored["metadata"]["annotations"], unasked["metadata"]["annotations"], "{policy}");
    assert_eq!(env(&stored), env(&unasked), "{policy}");
    let request = creation(namespace, "train");
    let failed = failed_open(&request);
    let expected: &[&str] = if matches!(fate, FailedOpen) { &["liar.trainmesh.dev"] } else { &[] };
    assert_eq!(failed, expected, "{policy}");
}
