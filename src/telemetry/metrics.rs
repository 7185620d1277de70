//! Metrics, in the names and units that Prometheus asks for.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::mutate::{Outcome, VerifyError};

/// Upper bounds in seconds: a review takes a tenth of a millisecond, a lookup some, and 10 s is the longest that the
/// apiserver waits unless it is told otherwise.
const SECONDS: [f64; 16] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// All metrics of the process. No globals: who counts is handed this.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    reviews: Family<ReviewLabels, Counter>,
    duration: Histogram,
    rules: Family<RuleLabels, Counter>,
    verification_failures: Counter,
    handshake_failures: Counter,
    config_reloads: Family<ReloadLabels, Counter>,
    certificate_expiry: Family<CertificateLabels, Gauge>,
}

/// How a call of the webhook ended: one value for each way, made by the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReviewResult(pub &'static str);

/// What became of a configuration that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReloadResult {
    /// It is in force.
    Applied,
    /// It is not, and the running one is kept.
    Refused,
}

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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    result: ReloadResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CertificateLabels {
    cert: &'static str,
}

impl Metrics {
    /// Counts a call of the webhook and the time from its head to its answer.
    pub fn review(&self, result: ReviewResult, took: Duration) {
        self.reviews.get_or_create(&ReviewLabels { outcome: result }).inc();
        self.duration.observe(took.as_secs_f64());
    }

    /// Counts what every rule decided.
    pub fn outcome(&self, outcome: &Outcome) {
        for rule in &outcome.rules {
            let labels =
                RuleLabels { rule: rule.rule.name(), outcome: rule.outcome.name(), reason: rule.reason.code() };
            self.rules.get_or_create(&labels).inc();
        }
        // An object that is no Pod is nobody's patch gone wrong.
        if outcome.failure.as_ref().is_some_and(|failure| !matches!(failure, VerifyError::Original(_))) {
            self.verification_failures.inc();
        }
    }

    /// Counts a connection on which TLS was tried and failed.
    pub fn handshake_failure(&self) {
        self.handshake_failures.inc();
    }

    /// Counts a configuration that was offered.
    pub fn config_reload(&self, result: ReloadResult) {
        self.config_reloads.get_or_create(&ReloadLabels { result }).inc();
    }

    /// Keeps the time, in seconds since 1970, at which the certificate that is served expires.
    pub fn certificate_expiry(&self, seconds: i64) {
        self.certificate_expiry.get_or_create(&CertificateLabels { cert: "leaf" }).set(seconds);
    }

    /// Keeps the time, in seconds since 1970, at which the CA expires that signs certificates.
    pub fn authority_expiry(&self, seconds: i64) {
        self.certificate_expiry.get_or_create(&CertificateLabels { cert: "ca" }).set(seconds);
    }

    /// All metrics in the `OpenMetrics` text format.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("trainmesh");
        let reviews = Family::default();
        let duration = Histogram::new(SECONDS);
        let rules = Family::default();
        let verification_failures = Counter::default();
        let handshake_failures = Counter::default();
        let config_reloads = Family::default();
        let certificate_expiry = Family::default();
        // The counters' suffix `_total` and the information's `_info` are added where they are written.
        registry.register("build", "Version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("admission_reviews", "Calls of the webhook by how they ended", reviews.clone());
        registry.register_with_unit(
            "admission_duration",
            "Time from the head of a call to its answer",
            Unit::Seconds,
            duration.clone(),
        );
        registry.register("rule_outcomes", "Decisions of the rules and their reasons", rules.clone());
        registry.register(
            "patch_verification_failures",
            "Patches held back because they did not pass their own check",
            verification_failures.clone(),
        );
        registry.register(
            "tls_handshake_failures",
            "Connections whose TLS handshake failed",
            handshake_failures.clone(),
        );
        registry.register("config_reloads", "Configurations offered by what became of them", config_reloads.clone());
        registry.register_with_unit(
            "certificate_expiry_timestamp",
            "When the certificate that is served, and its CA, expire",
            Unit::Seconds,
            certificate_expiry.clone(),
        );
        Self {
            registry,
            reviews,
            duration,
            rules,
            verification_failures,
            handshake_failures,
            config_reloads,
            certificate_expiry,
        }
    }
}

impl EncodeLabelValue for ReviewResult {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

impl EncodeLabelValue for ReloadResult {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let name = match self {
            Self::Applied => "applied",
            Self::Refused => "refused",
        };
        name.encode(encoder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        let metrics = Metrics::default();
        metrics.review(ReviewResult("patched"), Duration::from_micros(120));
        metrics.handshake_failure();
        metrics.config_reload(ReloadResult::Refused);
        metrics.certificate_expiry(1_800_000_000);
        let text = metrics.encode();
        for line in [
            concat!("trainmesh_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "trainmesh_admission_reviews_total{outcome=\"patched\"} 1",
            "trainmesh_admission_duration_seconds_bucket{le=\"0.0001\"} 0",
            "trainmesh_admission_duration_seconds_bucket{le=\"0.00025\"} 1",
            "trainmesh_admission_duration_seconds_count 1",
            "trainmesh_patch_verification_failures_total 0",
            "trainmesh_tls_handshake_failures_total 1",
            "trainmesh_config_reloads_total{result=\"refused\"} 1",
            "trainmesh_certificate_expiry_timestamp_seconds{cert=\"leaf\"} 1800000000",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }
}
