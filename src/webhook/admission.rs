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

use super::body::Received;
use super::budget::Budget;
use super::excerpt::excerpt;
use super::failure::Failure;
use super::pool::Pool;
use super::{body, deadline};
use crate::bucket::Bucket;
use crate::cluster::fabric::SharedFacts;
use crate::cluster::namespaces::{Labels, Namespaces};
use crate::reload::{Active, Settings};
use crate::telemetry::{Metrics, ReviewResult};
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::error::chain;
use trainmesh_core::gang::GangId;
use trainmesh_core::mutate::{Outcome, Snapshot};
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::Mode;
use trainmesh_core::webhook::answer::{Answer, answer, pass_over};
use trainmesh_core::webhook::review::{NewPod, Review, ReviewError};
use trainmesh_core::workload;

/// Warnings of failed calls a second, and how many may come at once: anybody who reaches the port can cause them. The
/// metric counts all.
const WARNINGS: (u32, u32) = (5, 50);

/// What answers calls.
pub(super) struct Admission {
    reviewer: Arc<Reviewer>,
    metrics: Arc<Metrics>,
    budget: Budget,
    pool: Pool,
    warnings: Bucket,
}

/// What a review is answered from.
pub(super) struct Reviewer {
    pub(super) namespaces: Arc<dyn Namespaces>,
    pub(super) facts: SharedFacts,
    pub(super) settings: Arc<Settings>,
    /// How many nodes an object may have.
    pub(super) max_nodes: u32,
}

/// What one look at a review comes to.
enum Look {
    Answered(Answer),
    /// The labels of its namespace are not known. The object is parsed again when they are: it would take too much memory
    /// to be kept meanwhile.
    Unknown {
        namespace: String,
        body: Received,
    },
}

impl Admission {
    pub(super) fn new(reviewer: Reviewer, metrics: Arc<Metrics>) -> Self {
        Self {
            reviewer: Arc::new(reviewer),
            metrics,
            budget: Budget::new(),
            pool: Pool::new(),
            warnings: Bucket::new(WARNINGS.0, WARNINGS.1),
        }
    }

    /// Answers a call in `mode`, always.
    pub(super) async fn call(&self, mode: Mode, request: Request) -> Response {
        let began = Instant::now();
        let time = deadline::of(request.uri());
        // Nothing is shared that a panic could leave half done: the state behind these references is swapped whole.
        let review = AssertUnwindSafe(self.review(mode, request.into_body(), began, time)).catch_unwind();
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
                if self.warnings.try_take() {
                    tracing::warn!(mode = mode.name(), "review failed: {}", excerpt(&chain(&failure)));
                }
                failure.into_response()
            }
        }
    }

    async fn review(&self, mode: Mode, body: Body, began: Instant, time: Duration) -> Result<Answer, Failure> {
        let mut body = body::read(body, &self.budget, time).await?;
        let mut labels = None;
        // The second look has labels, and therefore answers.
        loop {
            let (reviewer, length) = (Arc::clone(&self.reviewer), body.bytes.len());
            let look = move || reviewer.look(mode, body, labels, began);
            match self.pool.run(length, look).await?? {
                Look::Answered(answer) => return Ok(answer),
                Look::Unknown { namespace, body: same } => {
                    labels = Some(self.reviewer.namespaces.look_up(&namespace).await?);
                    body = same;
                }
            }
        }
    }
}

impl Reviewer {
    /// Parses and answers the review in `body`, for a pod in a namespace that carries `labels`, where they were looked up.
    fn look(&self, mode: Mode, body: Received, labels: Option<Arc<Labels>>, began: Instant) -> Result<Look, Failure> {
        let review = Review::parse_within(&body.bytes, self.max_nodes)?;
        let Some(namespace) = review.new_pod()?.map(|new| new.namespace) else {
            return Ok(Look::Answered(pass_over(&review)?));
        };
        let active = self.settings.active().ok_or(Failure::NoConfiguration)?;
        let Some(labels) = labels.or_else(|| self.namespaces.known(namespace)) else {
            return Ok(Look::Unknown { namespace: namespace.to_owned(), body });
        };
        // The object is parsed: its bytes make room for it.
        drop(body);
        decide(mode, &review, &labels, &self.facts.load_full(), &active, began).map(Look::Answered)
    }
}

fn decide(
    mode: Mode,
    review: &Review,
    labels: &Labels,
    facts: &ClusterFacts,
    active: &Active,
    began: Instant,
) -> Result<Answer, Failure> {
    let NewPod { namespace, pod } = review.new_pod()?.ok_or(ReviewError::Missing("object"))?;
    let Active { config, hash, catalogue: _ } = active;
    let cluster = facts.view(namespace, gang(facts, Pod::new(pod), namespace).as_ref());
    let snapshot = Snapshot { mode, namespace, labels, config, config_hash: hash, replicas: None, cluster };
    let answer = answer(review, pod, &snapshot)?;
    if let Some(outcome) = &answer.outcome {
        log(review, Pod::new(pod), namespace, outcome, began.elapsed());
    }
    Ok(answer)
}

/// The gang of `pod`, where anything is known of gangs.
fn gang(facts: &ClusterFacts, pod: Pod<'_>, namespace: &str) -> Option<GangId> {
    if facts.pins.is_empty() {
        return None;
    }
    GangId::of(pod, namespace)
}

/// One line for each review, and one of another level when a patch was held back.
fn log(review: &Review, pod: Pod<'_>, namespace: &str, outcome: &Outcome, took: Duration) {
    if let Some(failure) = outcome.failure.as_ref().filter(|failure| !failure.is_of_the_input()) {
        tracing::error!(
            uid = review.uid,
            namespace,
            owner = owner(pod),
            "patch held back: {}",
            excerpt(&chain(failure))
        );
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
        return excerpt(&format!("{}/{}", member.kind.kind, member.job));
    }
    excerpt(&match pod.controller() {
        Some(controller) => format!("{}/{}", controller.kind, controller.name),
        None => format!("Pod/{}", pod.name().or(pod.generate_name()).unwrap_or_default()),
    })
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
