//! Handles an admission review. Pure: no clock, socket or runtime.

use serde_json::Value;
use thiserror::Error;

use super::response::AdmissionResponse;
use super::review::Review;
use super::warnings;
use crate::mutate::{Outcome, Snapshot, Verdict, Verification, mutate_with};
use crate::scope::Mode;

/// Response to a review.
#[derive(Debug)]
pub struct ReviewResponse {
    /// Body of the HTTP response.
    pub body: Vec<u8>,
    /// Outcome of the review, for metrics.
    pub outcome: ReviewOutcome,
    /// Outcome of the rules. `None` if they did not run.
    pub mutation: Option<Outcome>,
}

/// Outcome of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReviewOutcome {
    /// A patch was sent.
    Patched,
    /// No rule applied: no change was needed, or the rules refused the change.
    Unchanged,
    /// A patch was built but not sent, because the namespace is in audit mode.
    Audited,
    /// The object is not a valid Pod. The apiserver rejects it.
    NotAPod,
    /// The patch was withheld, because the pod's annotations leave no space for it.
    AnnotationsTooLarge,
    /// The patch was withheld, because verification failed.
    Withheld,
    /// The rules did not run, because the object is not a new pod.
    Ignored,
}

/// The response could not be encoded.
#[derive(Debug, Error)]
#[error("encode the admission response")]
pub struct EncodeError(#[source] serde_json::Error);

/// Admits an object that is not a new pod.
pub fn admit_unchanged(review: &Review) -> Result<ReviewResponse, EncodeError> {
    let body = AdmissionResponse::unchanged(&review.uid).to_body().map_err(EncodeError)?;
    Ok(ReviewResponse { body, outcome: ReviewOutcome::Ignored, mutation: None })
}

/// Runs the rules on `pod`, the new pod of `review`.
pub fn respond(review: &Review, pod: &Value, snapshot: &Snapshot<'_>) -> Result<ReviewResponse, EncodeError> {
    let outcome = mutate_with(pod, snapshot, Verification::Affected);
    let warnings = warnings::truncate(&outcome.warnings);
    let mut response = AdmissionResponse::unchanged(&review.uid).with_detail(&warnings, &outcome.audit);
    if !outcome.patch.is_empty() {
        response = response.with_patch(serde_json::to_vec(&outcome.patch).map_err(EncodeError)?);
    }
    let body = response.to_body().map_err(EncodeError)?;
    Ok(ReviewResponse { body, outcome: ReviewOutcome::new(&outcome, snapshot.mode), mutation: Some(outcome) })
}

impl ReviewOutcome {
    /// Returns the name of the outcome in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Patched => "patched",
            Self::Unchanged => "unchanged",
            Self::Audited => "rehearsed",
            Self::NotAPod => "not_a_pod",
            Self::AnnotationsTooLarge => "annotations_too_large",
            Self::Withheld => "withheld",
            Self::Ignored => "passed_over",
        }
    }

    fn new(outcome: &Outcome, mode: Mode) -> Self {
        let applied = || outcome.rules.iter().any(|rule| rule.outcome == Verdict::Applied);
        if let Some(failure) = &outcome.failure {
            if failure.is_annotation_overflow() {
                Self::AnnotationsTooLarge
            } else if failure.is_invalid_input() {
                Self::NotAPod
            } else {
                Self::Withheld
            }
        } else if !outcome.patch.is_empty() {
            Self::Patched
        } else if mode == Mode::Audit && applied() {
            Self::Audited
        } else {
            Self::Unchanged
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::ByteString;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::cluster_facts::ClusterView;
    use crate::config::Configuration;

    fn run(mode: Mode, pod: &Value) -> (ReviewOutcome, Value) {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u-1", "operation": "CREATE", "namespace": "team-a",
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "object": pod}});
        let review = Review::parse(&serde_json::to_vec(&review).unwrap()).unwrap();
        let pod = review.new_pod().unwrap().unwrap();
        let labels = BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]);
        let config = Configuration::embedded();
        let snapshot = Snapshot {
            mode,
            namespace: pod.namespace,
            namespace_labels: &labels,
            labels_assumed: false,
            config: &config,
            config_hash: "0123456789ab",
            replicas: None,
            cluster: ClusterView::default(),
        };
        let response = respond(&review, pod.pod, &snapshot).unwrap();
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        (response.outcome, body["response"].clone())
    }

    fn pod(metadata: &Value) -> Value {
        json!({"metadata": metadata, "spec": {"containers": [{"name": "train", "image": "i"}]}})
    }

    #[rstest]
    #[case::patched(Mode::Enabled, pod(&json!({})), ReviewOutcome::Patched, "enabled")]
    #[case::for_istio_aux(Mode::IstioAux, pod(&json!({})), ReviewOutcome::Patched, "istio-aux")]
    #[case::audited(Mode::Audit, pod(&json!({})), ReviewOutcome::Audited, "audit")]
    #[case::nothing_to_do(Mode::Enabled, pod(&json!({"labels": {"sidecar.istio.io/inject": "false"}})), ReviewOutcome::Unchanged, "enabled")]
    #[case::nothing_to_audit(Mode::Audit, pod(&json!({"labels": {"sidecar.istio.io/inject": "false"}})), ReviewOutcome::Unchanged, "audit")]
    #[case::not_a_pod(Mode::Enabled, json!({"spec": {"containers": "none"}}), ReviewOutcome::NotAPod, "enabled")]
    #[case::annotations_too_large(Mode::Enabled, pod(&json!({"annotations": {"a": "x".repeat(250 * 1024)}})), ReviewOutcome::AnnotationsTooLarge, "enabled")]
    #[case::not_an_object(Mode::Enabled, json!("pod"), ReviewOutcome::NotAPod, "enabled")]
    fn every_pod_is_admitted(
        #[case] mode: Mode,
        #[case] pod: Value,
        #[case] expected: ReviewOutcome,
        #[case] mode_annotation: &str,
    ) {
        let (outcome, response) = run(mode, &pod);
        assert_eq!(outcome, expected, "{response}");
        assert_eq!(response["uid"], "u-1");
        assert_eq!(response["allowed"], true);
        assert_eq!(response["auditAnnotations"]["mode"], mode_annotation);
        assert_eq!(response["auditAnnotations"]["config"], "0123456789ab");
        let patched = expected == ReviewOutcome::Patched;
        assert_eq!(response.get("patch").is_some(), patched);
        assert_eq!(response.get("patchType"), patched.then_some(&json!("JSONPatch")));
        let warns =
            matches!(expected, ReviewOutcome::Audited | ReviewOutcome::NotAPod | ReviewOutcome::AnnotationsTooLarge);
        assert_eq!(response.get("warnings").is_some(), warns, "{response}");
    }

    #[test]
    fn the_response_contains_the_patch_of_the_engine() {
        let (_, response) = run(Mode::Enabled, &pod(&json!({})));
        let ByteString(patch) = serde_json::from_value(response["patch"].clone()).unwrap();
        let operations: Vec<Value> = serde_json::from_slice(&patch).unwrap();
        assert_eq!(operations[0], json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
}
