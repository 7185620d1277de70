//! Termination metrics of the controller.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Bucket bounds in seconds: most proxies terminate 0.1 s after the stabilization window, which is 1 s by default;
/// minutes indicate a problem.
const BUCKETS: [f64; 12] = [0.25, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Label value of a method after which the proxy was observed to terminate.
const ENDED: &str = "ended";

/// Metrics of pods and of the termination of their proxies.
#[derive(Debug)]
pub struct LifecycleMetrics {
    attempts: Family<AttemptLabels, Counter>,
    delay: Histogram,
    pods: Family<StateLabels, Gauge>,
    skips: Family<SkipLabels, Counter>,
    premature_ends: Counter,
    missed_pods: Counter,
    leader: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    method: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SkipLabels {
    reason: &'static str,
}

impl LifecycleMetrics {
    /// Counts an attempt to terminate a proxy or another sidecar.
    pub fn record_attempt(&self, method: &'static str, result: &'static str) {
        self.attempts.get_or_create(&AttemptLabels { method, result }).inc();
    }

    /// Counts a proxy that terminated after `method`, and observes the delay since the main containers completed.
    pub fn record_termination(&self, method: &'static str, delay: Option<Duration>) {
        self.record_attempt(method, ENDED);
        if let Some(delay) = delay {
            self.delay.observe(delay.as_secs_f64());
        }
    }

    /// Counts a skipped pod.
    pub fn record_skip(&self, reason: &'static str) {
        self.skips.get_or_create(&SkipLabels { reason }).inc();
    }

    /// Counts main containers that were restarted after their proxy or another sidecar was terminated.
    pub fn record_premature_end(&self) {
        self.premature_ends.inc();
    }

    /// Counts a new pod that lacks a change of the webhook.
    pub fn record_missed_pod(&self) {
        self.missed_pods.inc();
    }

    /// Sets whether this replica is the leader.
    pub fn set_leader(&self, is_leader: bool) {
        self.leader.set(i64::from(is_leader));
    }

    /// Moves a pod from one state to another; `None` stands for a pod that does not exist.
    pub fn move_pod(&self, from: Option<&'static str>, to: Option<&'static str>) {
        if from == to {
            return;
        }
        if let Some(state) = from {
            self.pods.get_or_create(&StateLabels { state }).dec();
        }
        if let Some(state) = to {
            self.pods.get_or_create(&StateLabels { state }).inc();
        }
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let attempts = Family::default();
        let delay = Histogram::new(BUCKETS);
        let pods = Family::default();
        let skips = Family::default();
        let premature_ends = Counter::default();
        let missed_pods = Counter::default();
        let leader = Gauge::default();
        registry.register(
            "proxy_end",
            "Attempts to terminate a proxy or another sidecar by method and result",
            attempts.clone(),
        );
        registry.register_with_unit(
            "proxy_end_delay",
            "Time from the completion of the main containers to the termination of the proxy",
            Unit::Seconds,
            delay.clone(),
        );
        registry.register("pods", "Watched pods by state", pods.clone());
        registry.register("skips", "Skipped pods by reason", skips.clone());
        registry.register(
            "premature_end",
            "Pods whose main containers were restarted after their proxy or another sidecar was terminated",
            premature_ends.clone(),
        );
        registry.register(
            "missed_pods",
            "New pods with Istio's sidecar that lack a change of the webhook",
            missed_pods.clone(),
        );
        registry.register("leader", "1 if this replica is the leader, else 0", leader.clone());
        Self { attempts, delay, pods, skips, premature_ends, missed_pods, leader }
    }
}
