//! Metrics of the controller's diagnosis and inventory.

use std::collections::BTreeMap;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use trainmesh_core::diagnosis::{DiagnosisCode, InventoryCounts, RelatedObjects, WasteCause, WorkloadClass};

/// Metrics of findings about workloads, and of the workloads themselves.
#[derive(Debug)]
pub struct DiagnosisMetrics {
    findings: Family<FindingLabels, Gauge>,
    wasted: Family<CauseLabels, Counter>,
    workloads: Family<ClassLabels, Gauge>,
    accelerators: Family<ClassLabels, Gauge>,
    failed_scans: Family<ScanLabels, Counter>,
    unread: Family<ObjectsLabels, Gauge>,
}

/// A scan of the pods of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceScan {
    /// The diagnosis.
    Diagnosis,
    /// The comparison of the fabric profiles of gangs.
    Fabric,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    id: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScanLabels {
    scan: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectsLabels {
    objects: &'static str,
}

impl NamespaceScan {
    /// Every scan.
    const ALL: [Self; 2] = [Self::Diagnosis, Self::Fabric];

    fn name(self) -> &'static str {
        match self {
            Self::Diagnosis => "diagnosis",
            Self::Fabric => "fabric",
        }
    }
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

    /// Sets the number of workloads that use accelerators, and of these accelerators.
    pub fn set_inventory(&self, counts: &InventoryCounts) {
        for class in WorkloadClass::ALL {
            let labels = ClassLabels { class: class.name() };
            let (workloads, accelerators) = counts.of(class);
            self.workloads.get_or_create(&labels).set(i64::try_from(workloads).unwrap_or(i64::MAX));
            self.accelerators.get_or_create(&labels).set(i64::try_from(accelerators).unwrap_or(i64::MAX));
        }
    }

    /// Counts a scan of a namespace that failed or took too long.
    pub fn count_failed_scan(&self, scan: NamespaceScan) {
        self.failed_scans(scan).inc();
    }

    /// Sets whether the last scan lacks `objects`, because they could not be read.
    pub fn set_unread(&self, objects: RelatedObjects, is_unread: bool) {
        self.unread.get_or_create(&ObjectsLabels { objects: objects.name() }).set(is_unread.into());
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            findings: Family::default(),
            wasted: Family::default(),
            workloads: Family::default(),
            accelerators: Family::default(),
            failed_scans: Family::default(),
            unread: Family::default(),
        };
        registry.register("findings", "Workloads with a problem, by finding", metrics.findings.clone());
        registry.register(
            "gpu_seconds_wasted",
            "Seconds for which accelerators were idle, times their number, by cause",
            metrics.wasted.clone(),
        );
        registry.register(
            "inventory_workloads",
            "Workloads that use accelerators, by probable class",
            metrics.workloads.clone(),
        );
        registry.register(
            "inventory_accelerators",
            "Accelerators that workloads request, by probable class",
            metrics.accelerators.clone(),
        );
        registry.register(
            "namespace_scans_failed",
            "Scans of a namespace that failed or took too long",
            metrics.failed_scans.clone(),
        );
        registry.register(
            "diagnosis_unread_objects",
            "1 if the last diagnosis lacks these objects, because they could not be read",
            metrics.unread.clone(),
        );
        // Export the series from the start, so that the first seconds count as an increase.
        for cause in WasteCause::ALL {
            metrics.add_waste(cause, 0);
        }
        for scan in NamespaceScan::ALL {
            metrics.failed_scans(scan).inc_by(0);
        }
        for objects in RelatedObjects::ALL {
            metrics.set_unread(objects, false);
        }
        metrics
    }

    fn failed_scans(&self, scan: NamespaceScan) -> Counter {
        self.failed_scans.get_or_create_owned(&ScanLabels { scan: scan.name() })
    }
}
