//! One call: its body, its facts, its answer, within its time; then counted and logged.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use tokio::time::timeout;

use super::answer::{Answer, answer, pass_over};
use super::failure::Failure;
use super::pool::Pool;
use super::review::{NewPod, Review, ReviewError};
use super::{body, deadline};
use crate::cluster::fabric::SharedFacts;
use crate::cluster::namespaces::{Labels, Namespaces};
use crate::error::chain;
use crate::fabric::Facts;
use crate::fabric::pins::GangKey;
use crate::mutate::{Mode, Outcome, Snapshot};
use crate::pod::Pod;
use crate::reload::{Active, Settings};
use crate::telemetry::{Metrics, ReviewResult};
use crate::workload;

/// What a call is answered from.
pub(super) struct Admission {
    namespaces: Arc<dyn Namespaces>,
    facts: SharedFacts,
    settings: Arc<Settings>,
    metrics: Arc<Metrics>,
    pool: Pool,
}

impl Admission {
    pub(super) fn new(
        namespaces: Arc<dyn Namespaces>,
        facts: SharedFacts,
        settings: Arc<Settings>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { namespaces, facts, settings, metrics, pool: Pool::new() }
    }

    /// Answers a call in `mode`, always.
    pub(super) async fn call(&self, mode: Mode, request: Request) -> Response {
        let began = Instant::now();
        let time = deadline::of(request.uri());
        // Nothing is shared that a panic could leave half done: the state behind these references is swapped whole.
        let review = AssertUnwindSafe(self.review(mode, request.into_body(), began)).catch_unwind();
        let answered = match timeout(time, review).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err(Failure::Panicked),
            Err(_) => Err(Failure::Deadline),
        };
        match answered {
            Ok(answer) => {
                if let Some(outcome) = &answer.outcome {
                    self.metrics.admission.outcome(outcome);
                }
                self.metrics.admission.review(ReviewResult(answer.result.name()), began.elapsed());
                ([(header::CONTENT_TYPE, "application/json")], answer.body).into_response()
            }
            Err(failure) => {
                self.metrics.admission.review(ReviewResult(failure.name()), began.elapsed());
                tracing::warn!(mode = mode.name(), "review failed: {}", chain(&failure));
                failure.into_response()
            }
        }
    }

    async fn review(&self, mode: Mode, body: Body, began: Instant) -> Result<Answer, Failure> {
        let (bytes, place) = body::read(body, &self.pool).await?;
        let review = self.pool.run(&place, move || Review::parse(&bytes)).await??;
        let Some(namespace) = review.new_pod()?.map(|new| new.namespace) else { return Ok(pass_over(&review)?) };
        let active = self.settings.active().ok_or(Failure::NoConfiguration)?;
        let labels = match self.namespaces.known(namespace) {
            Some(labels) => labels,
            None => self.namespaces.look_up(namespace).await?,
        };
        let facts = self.facts.load_full();
        self.pool.run(&place, move || decide(mode, &review, &labels, &facts, &active, began)).await?
    }
}

fn decide(
    mode: Mode,
    review: &Review,
    labels: &Labels,
    facts: &Facts,
    active: &Active,
    began: Instant,
) -> Result<Answer, Failure> {
    let NewPod { namespace, pod } = review.new_pod()?.ok_or(ReviewError::Missing("object"))?;
    let Active { config, hash, catalogue: _ } = active;
    let site = facts.site(namespace, gang(facts, Pod::new(pod), namespace).as_ref());
    let snapshot = Snapshot { mode, namespace, labels, config, config_hash: hash, replicas: None, site };
    let answer = answer(review, pod, &snapshot)?;
    if let Some(outcome) = &answer.outcome {
        log(review, Pod::new(pod), namespace, outcome, began.elapsed());
    }
    Ok(answer)
}

/// The gang of `pod`, where anything is known of gangs.
fn gang(facts: &Facts, pod: Pod<'_>, namespace: &str) -> Option<GangKey> {
    if facts.pins.is_empty() {
        return None;
    }
    GangKey::new(namespace, &workload::gang_uid(pod)?)
}

/// One line for each review, and one of another level when a patch was held back.
fn log(review: &Review, pod: Pod<'_>, namespace: &str, outcome: &Outcome, took: Duration) {
    if let Some(failure) = outcome.failure.as_ref().filter(|failure| !failure.is_of_the_input()) {
        tracing::error!(uid = review.uid, namespace, owner = owner(pod), "patch held back: {}", chain(failure));
    }
    if tracing::enabled!(tracing::Level::DEBUG) {
        let rules = outcome.audit.get("rules").map_or("", String::as_str);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(uid = review.uid, namespace, owner = owner(pod), rules, microseconds, "reviewed");
    }
}

/// The workload of `pod`, else the object that controls it, else itself.
fn owner(pod: Pod<'_>) -> String {
    if let Some(member) = workload::identify(pod) {
        return format!("{}/{}", member.kind, member.job);
    }
    match pod.controller() {
        Some(controller) => format!("{}/{}", controller.kind, controller.name),
        None => format!("Pod/{}", pod.name().or(pod.generate_name()).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::alone(json!({"metadata": {"name": "a"}}), "Pod/a")]
    #[case::unnamed(json!({"metadata": {"generateName": "a-"}}), "Pod/a-")]
    #[case::controlled(
        json!({"metadata": {"name": "a", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": true}]}}),
        "Job/j"
    )]
    fn owners(#[case] pod: Value, #[case] expected: &str) {
        assert_eq!(owner(Pod::new(&pod)), expected);
    }
}
