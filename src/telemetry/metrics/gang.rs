//! Gang metrics of the controller.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics of the `PodGroups` that the controller manages.
#[derive(Debug)]
pub struct GangMetrics {
    groups: Gauge,
    missing: Gauge,
    announced: Gauge,
    writes: Family<WriteLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    verb: &'static str,
    result: &'static str,
}

impl GangMetrics {
    /// Sets the number of `PodGroups` that the controller manages.
    pub fn set_groups(&self, groups: usize) {
        self.groups.set(to_i64(groups));
    }

    /// Sets the number of gangs whose pods wait for a `PodGroup` that does not exist.
    pub fn set_missing(&self, gangs: usize) {
        self.missing.set(to_i64(gangs));
    }

    /// Sets whether a controller announces to this webhook that it creates `PodGroups`.
    pub fn set_announced(&self, announced: bool) {
        self.announced.set(announced.into());
    }

    /// Counts a write of a `PodGroup`.
    pub fn record_write(&self, verb: &'static str, result: &'static str) {
        self.writes.get_or_create(&WriteLabels { verb, result }).inc();
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            groups: Gauge::default(),
            missing: Gauge::default(),
            announced: Gauge::default(),
            writes: Family::default(),
        };
        registry.register("gang_groups", "PodGroups that the controller manages", metrics.groups.clone());
        registry.register(
            "gang_groups_missing",
            "Gangs whose pods have waited for their PodGroup for more than 90 seconds",
            metrics.missing.clone(),
        );
        registry.register(
            "gang_announced",
            "1 while a controller announces to this webhook that it creates PodGroups",
            metrics.announced.clone(),
        );
        registry.register("gang_writes", "Writes of PodGroups by verb and result", metrics.writes.clone());
        // Export the series of an alert from the start.
        for verb in ["create", "update", "delete"] {
            drop(metrics.writes.get_or_create(&WriteLabels { verb, result: "failed" }));
        }
        metrics
    }
}

fn to_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
