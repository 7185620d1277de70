//! Fabric metrics of the controller.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics of gangs with a fabric.
#[derive(Debug)]
pub struct FabricMetrics {
    mixed: Gauge,
    dropped: Family<DroppedLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DroppedLabels {
    what: &'static str,
}

impl FabricMetrics {
    /// Sets the number of gangs whose pods got different fabric profiles.
    pub fn set_mixed_gangs(&self, gangs: usize) {
        self.mixed.set(to_i64(gangs));
    }

    /// Sets the number of gangs, of profile revisions, and of gangs without a pinned mode, because of the limits.
    pub fn set_unpinned(&self, gangs: usize, profiles: usize, gang_modes: usize) {
        for (what, number) in [("gangs", gangs), ("profiles", profiles), ("gang_modes", gang_modes)] {
            self.dropped.get_or_create(&DroppedLabels { what }).set(to_i64(number));
        }
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let (mixed, dropped) = (Gauge::default(), Family::default());
        registry.register(
            "fabric_mixed_gangs",
            "Gangs whose pods have different fabric profiles or revisions",
            mixed.clone(),
        );
        registry.register(
            "fabric_unpinned",
            "Gangs, profile revisions and gang modes that are not pinned because of the size limit",
            dropped.clone(),
        );
        let metrics = Self { mixed, dropped };
        // Export all series from the start, not only after something has been dropped.
        metrics.set_unpinned(0, 0, 0);
        metrics
    }
}

fn to_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
