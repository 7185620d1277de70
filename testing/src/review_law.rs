//! What must hold for every body that reaches the webhook, whatever stands in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::Snapshot;
use trainmesh_core::webhook::answer::{Answer, answer, pass_over};
use trainmesh_core::webhook::review::Review;

use crate::snapshot::{injected, snapshot};

static CONFIG: LazyLock<Configuration> = LazyLock::new(Configuration::embedded);
static LABELS: LazyLock<BTreeMap<String, String>> = LazyLock::new(injected);

/// How a body was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answered {
    /// Not at all: it is no review, or not of a whole pod. The failure policy decides.
    No,
    Unchanged,
    Patched,
}

/// The bytes of a review of `pod`.
pub fn review(pod: &Value) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": "team-a",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": pod, "oldObject": null, "dryRun": false}});
    serde_json::to_vec(&review).expect("JSON")
}

/// Panics unless `body` is passed over or admitted, and its patch applies to the pod in it; a patch is withheld only where
/// the pod is to blame.
pub fn check(body: &[u8]) -> Answered {
    let Ok(review) = Review::parse(body) else { return Answered::No };
    let (answer, pod) = match review.new_pod() {
        Err(_) => return Answered::No,
        Ok(None) => (pass_over(&review), None),
        Ok(Some(new)) => {
            let snapshot = Snapshot { namespace: new.namespace, ..snapshot(&LABELS, &CONFIG) };
            (answer(&review, new.pod, &snapshot), Some(new.pod))
        }
    };
    let Answer { body, outcome, .. } = answer.expect("an answer can be written");
    let failure = outcome.and_then(|outcome| outcome.failure);
    assert!(
        failure.iter().all(trainmesh_core::mutate::VerifyError::is_of_the_input),
        "a patch of ours failed its own check: {failure:?}"
    );
    let answer: Value = serde_json::from_slice(&body).expect("an answer is JSON");
    let response = &answer["response"];
    assert_eq!(response["allowed"], true, "{answer}");
    assert_eq!(response["uid"], *review.uid, "{answer}");
    let Some(patch) = response.get("patch") else { return Answered::Unchanged };
    let ByteString(patch) = serde_json::from_value(patch.clone()).expect("a patch is base64");
    let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("a patch is a list of operations");
    let mut pod = pod.expect("only a new pod is patched").clone();
    json_patch::patch(&mut pod, &patch).expect("a patch applies");
    Answered::Patched
}
