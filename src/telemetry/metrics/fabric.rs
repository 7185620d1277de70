//! What the controller says of gangs with a fabric.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Gangs with a fabric.
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
    /// Says how many gangs have pods that were not set up alike.
    pub fn mixed(&self, gangs: usize) {
        self.mixed.set(whole(gangs));
    }

    /// Says how many gangs, and bodies of profiles, are not kept because there are too many.
    pub fn dropped(&self, gangs: usize, bodies: usize) {
        for (what, number) in [("gangs", gangs), ("profiles", bodies)] {
            self.dropped.get_or_create(&DroppedLabels { what }).set(whole(number));
        }
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let (mixed, dropped) = (Gauge::default(), Family::default());
        registry.register("fabric_mixed_gangs", "Jobs whose pods were not given the same fabric", mixed.clone());
        registry.register("fabric_unpinned", "What is not kept because there is too much", dropped.clone());
        Self { mixed, dropped }
    }
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
