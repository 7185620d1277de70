//! Handles one call: reads the body, responds within the deadline, counts and logs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use tokio::time::timeout;

use super::body::BufferedBody;
use super::budget::Budget;
use super::excerpt::excerpt;
use super::failure::Failure;
use super::limiter::ReviewLimiter;
use super::{body, deadline};
use crate::bucket::Bucket;
use crate::cluster::fabric::SharedFacts;
use crate::cluster::namespaces::{Labels, Namespaces};
use crate::cluster::workloads::{LookedUp, LookupKey, Workloads};
use crate::reload::{Active, Settings};
use crate::telemetry::{Metrics, ReviewResult};
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::error::chain;
use trainmesh_core::gang::{GangFacts, GangId, GangView, ModePin, WorkloadLookup};
use trainmesh_core::mutate::{Outcome, Snapshot, workload_to_read};
use trainmesh_core::pod::Pod;
use trainmesh_core::scope::Mode;
use trainmesh_core::webhook::handler::{ReviewResponse, admit_unchanged, respond};
use trainmesh_core::webhook::review::{NewPod, Review, ReviewError};
use trainmesh_core::workload;

/// Rate per second and burst of logged failures: any client that reaches the port can cause them. The metric counts
/// all.
const WARNING_RATE: (u32, u32) = (5, 50);

/// Handler of admission calls.
pub(super) struct AdmissionHandler {
    reviewer: Arc<Reviewer>,
    metrics: Arc<Metrics>,
    budget: Budget,
    limiter: ReviewLimiter,
    warnings: Bucket,
}

/// Computes the responses to reviews.
pub(super) struct Reviewer {
    pub(super) namespaces: Arc<dyn Namespaces>,
    pub(super) facts: SharedFacts,
    pub(super) workloads: Arc<dyn Workloads>,
    pub(super) gangs: Arc<ArcSwap<GangFacts>>,
    pub(super) settings: Arc<Settings>,
    /// Maximum number of JSON nodes in an object.
    pub(super) max_nodes: u32,
}

/// Result of an attempt to review a body.
enum ReviewAttempt {
    Complete(ReviewResponse),
    /// The labels of the namespace are not cached. The body is parsed again once they are known; keeping the parsed
    /// object meanwhile would take too much memory.
    NamespaceUnknown {
        namespace: String,
        body: BufferedBody,
    },
    /// The workload of the pod is not cached. The same holds for it.
    WorkloadUnknown {
        key: LookupKey,
        body: BufferedBody,
    },
}

/// Results of the lookups of earlier attempts.
#[derive(Clone, Default)]
struct Known {
    labels: Option<Arc<Labels>>,
    workload: Option<LookedUp>,
}

impl AdmissionHandler {
    pub(super) fn new(reviewer: Reviewer, metrics: Arc<Metrics>) -> Self {
        Self {
            reviewer: Arc::new(reviewer),
            metrics,
            budget: Budget::new(),
            limiter: ReviewLimiter::new(),
            warnings: Bucket::new(WARNING_RATE.0, WARNING_RATE.1),
        }
    }

    /// Responds to a call in `mode`, whatever happens.
    pub(super) async fn call(&self, mode: Mode, request: Request) -> Response {
        let started = Instant::now();
        let time_limit = deadline::time_limit(request.uri());
        // Unwind-safe: the shared state is swapped as a whole, so a panic cannot leave it inconsistent.
        let review = AssertUnwindSafe(self.review(mode, request.into_body(), started, time_limit)).catch_unwind();
        let result = match timeout(time_limit, review).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Failure::Panicked),
            Err(_) => Err(Failure::DeadlineExceeded),
        };
        match result {
            Ok(response) => {
                if let Some(outcome) = &response.mutation {
                    self.metrics.admission.record_rules(outcome);
                }
                self.metrics.admission.record_review(ReviewResult(response.outcome.name()), started.elapsed());
                ([(header::CONTENT_TYPE, "application/json")], response.body).into_response()
            }
            Err(failure) => {
                self.metrics.admission.record_review(ReviewResult(failure.name()), started.elapsed());
                if self.warnings.try_take() {
                    tracing::warn!(mode = mode.name(), "review failed: {}", excerpt(&chain(&failure)));
                }
                failure.into_response()
            }
        }
    }

    async fn review(
        &self,
        mode: Mode,
        body: Body,
        started: Instant,
        time_limit: Duration,
    ) -> Result<ReviewResponse, Failure> {
        let mut body = body::read(body, &self.budget, time_limit).await?;
        let mut known = Known::default();
        // Each attempt has one lookup more, so that the third completes.
        loop {
            let (reviewer, length) = (Arc::clone(&self.reviewer), body.bytes.len());
            let found = known.clone();
            let attempt = move || reviewer.try_review(mode, body, found, started);
            match self.limiter.run(length, attempt).await?? {
                ReviewAttempt::Complete(response) => return Ok(response),
                ReviewAttempt::NamespaceUnknown { namespace, body: returned } => {
                    known.labels = Some(self.reviewer.namespaces.look_up(&namespace).await?);
                    body = returned;
                }
                ReviewAttempt::WorkloadUnknown { key, body: returned } => {
                    known.workload = Some(self.reviewer.workloads.look_up(key).await);
                    body = returned;
                }
            }
        }
    }
}

impl Reviewer {
    /// Parses the review in `body` and computes the response, with what is `known` from earlier attempts.
    fn try_review(
        &self,
        mode: Mode,
        body: BufferedBody,
        known: Known,
        started: Instant,
    ) -> Result<ReviewAttempt, Failure> {
        let review = Review::parse_with_limit(&body.bytes, self.max_nodes)?;
        let Some(NewPod { namespace, pod }) = review.new_pod()? else {
            return Ok(ReviewAttempt::Complete(admit_unchanged(&review)?));
        };
        let active = self.settings.active().ok_or(Failure::NoConfiguration)?;
        let Some(labels) = known.labels.or_else(|| self.namespaces.cached(namespace)) else {
            return Ok(ReviewAttempt::NamespaceUnknown { namespace: namespace.to_owned(), body });
        };
        let facts = self.facts.load_full();
        let pin = facts.gang_modes.find(Pod::new(pod), namespace);
        let key = workload_to_read(Pod::new(pod), namespace, mode, &labels, &active.config, pin);
        let key = key.map(|workload| LookupKey::new(workload, Pod::new(pod)));
        let workload = key.as_ref().map(|key| known.workload.or_else(|| self.workloads.cached(key)));
        if let (Some(key), Some(None)) = (key, &workload) {
            return Ok(ReviewAttempt::WorkloadUnknown { key, body });
        }
        // Only the parsed object is needed from here on: release the body and its share of the memory budget.
        drop(body);
        let facts = ReviewFacts { cluster: &facts, gangs: &self.gangs.load_full(), pin };
        evaluate(mode, &review, &labels, facts, workload.flatten().as_ref(), &active, started)
            .map(ReviewAttempt::Complete)
    }
}

/// Known facts about the cluster.
#[derive(Clone, Copy)]
struct ReviewFacts<'a> {
    cluster: &'a ClusterFacts,
    gangs: &'a GangFacts,
    /// Gang modes of the job of the pod.
    pin: Option<ModePin<'a>>,
}

fn evaluate(
    mode: Mode,
    review: &Review,
    labels: &Labels,
    facts: ReviewFacts<'_>,
    workload: Option<&LookedUp>,
    active: &Active,
    started: Instant,
) -> Result<ReviewResponse, Failure> {
    let NewPod { namespace, pod } = review.new_pod()?.ok_or(ReviewError::Missing("object"))?;
    let Active { config, hash, catalog: _ } = active;
    let mut cluster = facts.cluster.view(namespace, gang(facts.cluster, Pod::new(pod), namespace).as_ref());
    let workload = match workload {
        None => WorkloadLookup::NotRead,
        Some(Ok(workload)) => WorkloadLookup::Read(workload),
        Some(Err(problem)) => WorkloadLookup::Failed(problem),
    };
    cluster.gang = GangView { pin: facts.pin, ..facts.gangs.view(namespace, workload) };
    let snapshot = Snapshot {
        mode,
        namespace,
        namespace_labels: labels,
        labels_assumed: false,
        config,
        config_hash: hash,
        replicas: None,
        cluster,
    };
    let response = respond(review, pod, &snapshot)?;
    if let Some(outcome) = &response.mutation {
        log(review, Pod::new(pod), namespace, outcome, started.elapsed());
    }
    Ok(response)
}

/// Returns the gang of `pod` if any gang is pinned.
fn gang(facts: &ClusterFacts, pod: Pod<'_>, namespace: &str) -> Option<GangId> {
    if facts.pins.is_empty() {
        return None;
    }
    GangId::from_pod(pod, namespace)
}

/// Logs the review, and an error if its patch was withheld.
fn log(review: &Review, pod: Pod<'_>, namespace: &str, outcome: &Outcome, elapsed: Duration) {
    if let Some(failure) = outcome.failure.as_ref().filter(|failure| !failure.is_invalid_input()) {
        tracing::error!(
            uid = review.uid,
            namespace,
            owner = owner(pod),
            "patch withheld: {}",
            excerpt(&chain(failure))
        );
    }
    if tracing::enabled!(tracing::Level::DEBUG) {
        let rules = outcome.audit.get("rules").map_or("", String::as_str);
        let microseconds = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(uid = review.uid, namespace, owner = owner(pod), rules, microseconds, "reviewed");
    }
}

/// Returns the workload of `pod`, or the object that controls it, or the pod itself.
fn owner(pod: Pod<'_>) -> String {
    if let Some(member) = workload::identify(pod) {
        return excerpt(&format!("{}/{}", member.kind.kind, member.workload));
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
    fn names_the_owner_of_a_pod(#[case] pod: Value, #[case] expected: &str) {
        assert_eq!(owner(Pod::new(&pod)), expected);
    }
}
