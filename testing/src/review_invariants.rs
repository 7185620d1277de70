//! Invariants of the webhook's response to any request body.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::webhook::handler::{ReviewResponse, admit_unchanged, respond};
use trainmesh_core::webhook::review::Review;

use crate::snapshot::{injection_labels, snapshot};

static CONFIG: LazyLock<Configuration> = LazyLock::new(Configuration::embedded);
static LABELS: LazyLock<BTreeMap<String, String>> = LazyLock::new(injection_labels);

/// Result of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReviewOutcome {
    /// An HTTP error: the body is not a review of a complete pod. The failure policy decides.
    Invalid,
    Unchanged,
    Patched,
}

/// Returns the JSON of a review of `pod`.
pub fn review(pod: &Value) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": "team-a",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": pod, "oldObject": null, "dryRun": false}});
    serde_json::to_vec(&review).expect("serialize the review")
}

/// Asserts that a valid review in `body` is allowed, that the patch applies to its pod, and that a patch is withheld
/// only because of the pod itself.
pub fn check(body: &[u8]) -> ReviewOutcome {
    let Ok(review) = Review::parse(body) else { return ReviewOutcome::Invalid };
    let (answer, pod) = match review.new_pod() {
        Err(_) => return ReviewOutcome::Invalid,
        Ok(None) => (admit_unchanged(&review), None),
        Ok(Some(new)) => {
            let snapshot = Snapshot { namespace: new.namespace, ..snapshot(&LABELS, &CONFIG) };
            (respond(&review, new.pod, &snapshot), Some(new.pod))
        }
    };
    let ReviewResponse { body, mutation, .. } = answer.expect("the response serializes");
    let failure = mutation.and_then(|outcome| outcome.failure);
    assert!(
        failure.iter().all(trainmesh_core::mutate::VerifyError::is_invalid_input),
        "a patch failed verification: {failure:?}"
    );
    let answer: Value = serde_json::from_slice(&body).expect("the response is JSON");
    let response = &answer["response"];
    assert_eq!(response["allowed"], true, "{answer}");
    assert_eq!(response["uid"], *review.uid, "{answer}");
    let Some(patch) = response.get("patch") else { return ReviewOutcome::Unchanged };
    let ByteString(patch) = serde_json::from_value(patch.clone()).expect("the patch is base64");
    let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("the patch is a list of operations");
    let mut pod = pod.expect("only new pods are patched").clone();
    json_patch::patch(&mut pod, &patch).expect("the patch applies");
    ReviewOutcome::Patched
}
