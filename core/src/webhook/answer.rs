//! From a review to its answer: pure, without a clock, a socket or a runtime.

use serde_json::Value;
use thiserror::Error;

use super::admitted::AdmissionResponse;
use super::review::Review;
use super::warnings;
use crate::mutate::{Outcome, Snapshot, Verdict, mutate};
use crate::scope::Mode;

/// The answer to one review.
#[derive(Debug)]
pub struct Answer {
    /// What is sent.
    pub body: Vec<u8>,
    /// How it went, for the metrics.
    pub result: ReviewOutcome,
    /// What the rules decided; none where they were not asked.
    pub outcome: Option<Outcome>,
}

/// How a review was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReviewOutcome {
    /// With a patch.
    Patched,
    /// Without one: there is nothing to do.
    Unchanged,
    /// Without one: the namespace rehearses, and a patch was ready.
    Rehearsed,
    /// What came is no Pod: the apiserver will say so.
    NotAPod,
    /// Without one: the pod's annotations leave no room for ours.
    AnnotationsTooLarge,
    /// Without one: the patch did not pass its own check.
    Withheld,
    /// Without a look at the rules: not a new pod.
    PassedOver,
}

/// An answer could not be written.
#[derive(Debug, Error)]
#[error("could not write the answer")]
pub struct WriteError(#[source] serde_json::Error);

/// Admits what is no new pod.
pub fn pass_over(review: &Review) -> Result<Answer, WriteError> {
    let body = AdmissionResponse::unchanged(&review.uid).to_body().map_err(WriteError)?;
    Ok(Answer { body, result: ReviewOutcome::PassedOver, outcome: None })
}

/// Runs the rules over `pod`, the new pod of `review`.
pub fn answer(review: &Review, pod: &Value, snapshot: &Snapshot<'_>) -> Result<Answer, WriteError> {
    let outcome = mutate(pod, snapshot);
    let warnings = warnings::bounded(&outcome.warnings);
    let mut admitted = AdmissionResponse::unchanged(&review.uid).with_detail(&warnings, &outcome.audit);
    if !outcome.patch.is_empty() {
        admitted = admitted.patched(serde_json::to_vec(&outcome.patch).map_err(WriteError)?);
    }
    let body = admitted.to_body().map_err(WriteError)?;
    Ok(Answer { body, result: ReviewOutcome::of(&outcome, snapshot.mode), outcome: Some(outcome) })
}

impl ReviewOutcome {
    /// The name, as metrics write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Patched => "patched",
            Self::Unchanged => "unchanged",
            Self::Rehearsed => "rehearsed",
            Self::NotAPod => "not_a_pod",
            Self::AnnotationsTooLarge => "annotations_too_large",
            Self::Withheld => "withheld",
            Self::PassedOver => "passed_over",
        }
    }

    fn of(outcome: &Outcome, mode: Mode) -> Self {
        let applied = || outcome.rules.iter().any(|rule| rule.outcome == Verdict::Applied);
        if let Some(failure) = &outcome.failure {
            if failure.is_lack_of_room() {
                Self::AnnotationsTooLarge
            } else if failure.is_of_the_input() {
                Self::NotAPod
            } else {
                Self::Withheld
            }
        } else if !outcome.patch.is_empty() {
            Self::Patched
        } else if mode == Mode::Audit && applied() {
            Self::Rehearsed
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
            labels: &labels,
            config: &config,
            config_hash: "0123456789ab",
            replicas: None,
            cluster: ClusterView::default(),
        };
        let answer = answer(&review, pod.pod, &snapshot).unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        (answer.result, body["response"].clone())
    }

    fn pod(metadata: &Value) -> Value {
        json!({"metadata": metadata, "spec": {"containers": [{"name": "train", "image": "i"}]}})
    }

    #[rstest]
    #[case::patched(Mode::Enabled, pod(&json!({})), ReviewOutcome::Patched, "enabled")]
    #[case::for_istio_aux(Mode::IstioAux, pod(&json!({})), ReviewOutcome::Patched, "istio-aux")]
    #[case::rehearsed(Mode::Audit, pod(&json!({})), ReviewOutcome::Rehearsed, "audit")]
    #[case::nothing_to_do(Mode::Enabled, pod(&json!({"labels": {"sidecar.istio.io/inject": "false"}})), ReviewOutcome::Unchanged, "enabled")]
    #[case::nothing_to_rehearse(Mode::Audit, pod(&json!({"labels": {"sidecar.istio.io/inject": "false"}})), ReviewOutcome::Unchanged, "audit")]
    #[case::not_a_pod(Mode::Enabled, json!({"spec": {"containers": "none"}}), ReviewOutcome::NotAPod, "enabled")]
    #[case::no_room(Mode::Enabled, pod(&json!({"annotations": {"a": "x".repeat(250 * 1024)}})), ReviewOutcome::AnnotationsTooLarge, "enabled")]
    #[case::not_an_object(Mode::Enabled, json!("pod"), ReviewOutcome::NotAPod, "enabled")]
    fn every_pod_is_admitted(
        #[case] mode: Mode,
        #[case] pod: Value,
        #[case] expected: ReviewOutcome,
        #[case] audited: &str,
    ) {
        let (answered, response) = run(mode, &pod);
        assert_eq!(answered, expected, "{response}");
        assert_eq!(response["uid"], "u-1");
        assert_eq!(response["allowed"], true);
        assert_eq!(response["auditAnnotations"]["mode"], audited);
        assert_eq!(response["auditAnnotations"]["config"], "0123456789ab");
        let patched = expected == ReviewOutcome::Patched;
        assert_eq!(response.get("patch").is_some(), patched);
        assert_eq!(response.get("patchType"), patched.then_some(&json!("JSONPatch")));
        let told =
            matches!(expected, ReviewOutcome::Rehearsed | ReviewOutcome::NotAPod | ReviewOutcome::AnnotationsTooLarge);
        assert_eq!(response.get("warnings").is_some(), told, "{response}");
    }

    #[test]
    fn the_patch_that_is_sent_is_the_patch_of_the_engine() {
        let (_, response) = run(Mode::Enabled, &pod(&json!({})));
        let ByteString(patch) = serde_json::from_value(response["patch"].clone()).unwrap();
        let operations: Vec<Value> = serde_json::from_slice(&patch).unwrap();
        assert_eq!(operations[0], json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
}
