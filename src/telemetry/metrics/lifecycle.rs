//! What the controller counts.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds in seconds: most proxies end a tenth of a second after the settle window, which is 1 s unless it is set;
/// one that takes minutes is a person's business.
const SECONDS: [f64; 12] = [0.25, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0];
/// The result of a method after which the proxy was seen to have ended.
const ENDED: &str = "ended";

/// Pods, and the ends of their proxies.
#[derive(Debug)]
pub struct LifecycleMetrics {
    ends: Family<EndLabels, Counter>,
    delay: Histogram,
    pods: Family<StateLabels, Gauge>,
    skips: Family<SkipLabels, Counter>,
    premature_ends: Counter,
    missed_pods: Counter,
    leader: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
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
    /// Counts an attempt to end a proxy by `method`, and what was answered.
    pub fn attempt(&self, method: &'static str, result: &'static str) {
        self.ends.get_or_create(&EndLabels { method, result }).inc();
    }

    /// Counts a proxy that was seen to have ended after `method`, and the time since its payload had.
    pub fn proxy_ended(&self, method: &'static str, delay: Option<Duration>) {
        self.attempt(method, ENDED);
        if let Some(delay) = delay {
            self.delay.observe(delay.as_secs_f64());
        }
    }

    /// Counts a pod that is left alone.
    pub fn skipped(&self, reason: &'static str) {
        self.skips.get_or_create(&SkipLabels { reason }).inc();
    }

    /// Counts a payload that ran again after its proxy was told to end.
    pub fn premature_end(&self) {
        self.premature_ends.inc();
    }

    /// Counts a pod that the webhook should have changed and did not see.
    pub fn missed(&self) {
        self.missed_pods.inc();
    }

    /// Says whether this replica leads.
    pub fn leader(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Moves a pod from one state to another; none is that of a pod that is not there.
    pub fn state_changed(&self, from: Option<&'static str>, to: Option<&'static str>) {
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
        let ends = Family::default();
        let delay = Histogram::new(SECONDS);
        let pods = Family::default();
        let skips = Family::default();
        let premature_ends = Counter::default();
        let missed_pods = Counter::default();
        let leader = Gauge::default();
        registry.register("proxy_end", "Attempts to end a proxy by method and result", ends.clone());
        registry.register_with_unit(
            "proxy_end_delay",
            "Time from the end of the payload to the end of the proxy",
            Unit::Seconds,
            delay.clone(),
        );
        registry.register("pods", "Pods that are watched by their state", pods.clone());
        registry.register("skips", "Pods that are left alone by the reason", skips.clone());
        registry.register(
            "premature_end",
            "Payloads that ran again after their proxy was told to end",
            premature_ends.clone(),
        );
        registry.register("missed_pods", "Pods that the webhook should have changed", missed_pods.clone());
        registry.register("leader", "Whether this replica leads", leader.clone());
        Self { ends, delay, pods, skips, premature_ends, missed_pods, leader }
    }
}
