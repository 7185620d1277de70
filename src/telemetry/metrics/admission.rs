//! Admission metrics of the webhook.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use trainmesh_core::mutate::Outcome;

/// Bucket bounds in seconds: a review takes 0.1 ms, a lookup a few milliseconds, and 10 s is the default timeout of the
/// apiserver.
const BUCKETS: [f64; 16] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Metrics of reviews and rule decisions.
#[derive(Debug)]
pub struct AdmissionMetrics {
    reviews: Family<ReviewLabels, Counter>,
    duration: Histogram,
    rules: Family<RuleLabels, Counter>,
    verification_failures: Counter,
}

/// Outcome of a call of the webhook; the webhook defines the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReviewResult(pub &'static str);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewLabels {
    outcome: ReviewResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    rule: &'static str,
    outcome: &'static str,
    reason: &'static str,
}

impl AdmissionMetrics {
    /// Counts a call of the webhook, and observes the time from its header to the response.
    pub fn record_review(&self, result: ReviewResult, elapsed: Duration) {
        self.reviews.get_or_create(&ReviewLabels { outcome: result }).inc();
        self.duration.observe(elapsed.as_secs_f64());
    }

    /// Counts the decision of every rule.
    pub fn record_rules(&self, outcome: &Outcome) {
        for decision in &outcome.rules {
            let labels = RuleLabels {
                rule: decision.rule.name(),
                outcome: decision.outcome.name(),
                reason: decision.reason.code(),
            };
            self.rules.get_or_create(&labels).inc();
        }
        if outcome.failure.as_ref().is_some_and(|failure| !failure.is_invalid_input()) {
            self.verification_failures.inc();
        }
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let reviews = Family::default();
        let duration = Histogram::new(BUCKETS);
        let rules = Family::default();
        let verification_failures = Counter::default();
        registry.register("admission_reviews", "Calls of the webhook by outcome", reviews.clone());
        registry.register_with_unit(
            "admission_duration",
            "Time from the header of a call to its response",
            Unit::Seconds,
            duration.clone(),
        );
        registry.register("rule_outcomes", "Rule decisions by rule, outcome and reason", rules.clone());
        registry.register(
            "patch_verification_failures",
            "Patches withheld because they did not pass verification",
            verification_failures.clone(),
        );
        Self { reviews, duration, rules, verification_failures }
    }
}

impl EncodeLabelValue for ReviewResult {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}
