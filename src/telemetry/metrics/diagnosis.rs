//! Metrics of the controller's diagnosis.

use std::collections::BTreeMap;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use trainmesh_core::diagnosis::{DiagnosisCode, WasteCause};

/// Metrics of findings about workloads.
#[derive(Debug)]
pub struct DiagnosisMetrics {
    findings: Family<FindingLabels, Gauge>,
    wasted: Family<CauseLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    id: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    cause: &'static str,
}

impl DiagnosisMetrics {
    /// Sets the number of workloads with each finding.
    pub fn set_findings(&self, counts: &BTreeMap<DiagnosisCode, usize>) {
        for (code, count) in counts {
            let labels = FindingLabels { id: code.code() };
            self.findings.get_or_create(&labels).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
    }

    /// Counts accelerator-seconds that were lost.
    pub fn add_waste(&self, cause: WasteCause, seconds: u64) {
        self.wasted.get_or_create(&CauseLabels { cause: cause.name() }).inc_by(seconds);
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { findings: Family::default(), wasted: Family::default() };
        registry.register("findings", "Workloads with a problem, by finding", metrics.findings.clone());
        registry.register(
            "gpu_seconds_wasted",
            "Seconds for which accelerators were idle, times their number, by cause",
            metrics.wasted.clone(),
        );
        // Export the series from the start, so that the first seconds count as an increase.
        for cause in WasteCause::ALL {
            metrics.add_waste(cause, 0);
        }
        metrics
    }
}
