//! Metrics with the names and units of Prometheus conventions: one registry, and one file for each part of the process.

mod admission;
mod certificates;
mod connections;
mod diagnosis;
mod fabric;
mod gang;
mod lifecycle;

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub use admission::{AdmissionMetrics, ReviewResult};
pub use certificates::CertificateMetrics;
pub use connections::{ConnectionMetrics, EvictionReason, HandshakeFailure, ServerKind};
pub use diagnosis::{DiagnosisMetrics, NamespaceScan};
pub use fabric::FabricMetrics;
pub use gang::GangMetrics;
pub use lifecycle::LifecycleMetrics;

/// All metrics of the process; passed to the code that records them, instead of a global.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Admission metrics of the webhook.
    pub admission: AdmissionMetrics,
    /// Connection metrics of both servers.
    pub connections: ConnectionMetrics,
    /// Certificate metrics of both servers.
    pub certificates: CertificateMetrics,
    /// Termination metrics of the controller.
    pub lifecycle: LifecycleMetrics,
    /// Fabric metrics of the controller.
    pub fabric: FabricMetrics,
    /// Gang metrics of the controller.
    pub gang: GangMetrics,
    /// Metrics of the controller's diagnosis.
    pub diagnosis: DiagnosisMetrics,
    config_reloads: Family<ReloadLabels, Counter>,
}

/// Result of a configuration update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReloadResult {
    /// The new configuration is in use.
    Applied,
    /// The new configuration is invalid; the current one stays in use.
    Rejected,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    result: ReloadResult,
}

impl Metrics {
    /// Counts a configuration update.
    pub fn record_config_reload(&self, result: ReloadResult) {
        self.config_reloads.get_or_create(&ReloadLabels { result }).inc();
    }

    /// Returns all metrics in the `OpenMetrics` text format.
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
        let config_reloads = Family::default();
        // The encoder adds the suffixes `_total` of counters and `_info` of infos.
        registry.register("build", "Version of the binary", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("config_reloads", "Configuration updates by result", config_reloads.clone());
        let admission = AdmissionMetrics::register(&mut registry);
        let connections = ConnectionMetrics::register(&mut registry);
        let certificates = CertificateMetrics::register(&mut registry);
        let lifecycle = LifecycleMetrics::register(&mut registry);
        let fabric = FabricMetrics::register(&mut registry);
        let gang = GangMetrics::register(&mut registry);
        let diagnosis = DiagnosisMetrics::register(&mut registry);
        Self { registry, admission, connections, certificates, lifecycle, fabric, gang, diagnosis, config_reloads }
    }
}

impl EncodeLabelValue for ReloadResult {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let name = match self {
            Self::Applied => "applied",
            Self::Rejected => "refused",
        };
        name.encode(encoder)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use trainmesh_core::diagnosis::{DiagnosisCode, RelatedObjects, WasteCause};

    #[test]
    fn exports_the_documented_series() {
        let metrics = Metrics::default();
        metrics.admission.record_review(ReviewResult("patched"), Duration::from_micros(120));
        metrics.connections.record_handshake_failure(HandshakeFailure::NotTls);
        metrics.connections.record_eviction(ServerKind::Admin, EvictionReason::Unread);
        metrics.record_config_reload(ReloadResult::Rejected);
        metrics.certificates.set_serving_validity(&(1_790_000_000..=1_800_000_000));
        metrics.certificates.set_ca_validity(&(1_780_000_000..=1_900_000_000));
        metrics.lifecycle.record_attempt("exec", "sent");
        metrics.lifecycle.record_termination("exec", Some(Duration::from_millis(1_100)));
        metrics.lifecycle.record_skip("BeingDeleted");
        metrics.lifecycle.record_premature_end();
        metrics.lifecycle.record_missed_pod();
        metrics.lifecycle.set_leader(true);
        metrics.fabric.set_mixed_gangs(2);
        metrics.diagnosis.count_failed_scan(NamespaceScan::Fabric);
        metrics.fabric.set_unpinned(3, 1, 2);
        metrics.gang.set_groups(4);
        metrics.gang.set_missing(1);
        metrics.gang.set_announced(true);
        metrics.gang.record_write("create", "written");
        metrics.diagnosis.set_unread(RelatedObjects::Nodes, true);
        metrics.diagnosis.set_findings(&[(DiagnosisCode::ImagePullFails, 2), (DiagnosisCode::CrashLoop, 0)].into());
        metrics.diagnosis.add_waste(WasteCause::PeersWaiting, 480);
        metrics.lifecycle.move_pod(None, Some("waiting"));
        metrics.lifecycle.move_pod(Some("waiting"), Some("ending"));
        let text = metrics.encode();
        for line in [
            concat!("trainmesh_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "trainmesh_admission_reviews_total{outcome=\"patched\"} 1",
            "trainmesh_admission_duration_seconds_bucket{le=\"0.0001\"} 0",
            "trainmesh_admission_duration_seconds_bucket{le=\"0.00025\"} 1",
            "trainmesh_admission_duration_seconds_count 1",
            "trainmesh_patch_verification_failures_total 0",
            "trainmesh_tls_handshake_failures_total{reason=\"not_tls\"} 1",
            "trainmesh_tls_handshake_failures_total{reason=\"certificate_rejected\"} 0",
            "trainmesh_connection_evictions_total{server=\"admin\",reason=\"unread\"} 1",
            "trainmesh_config_reloads_total{result=\"refused\"} 1",
            "trainmesh_certificate_not_before_timestamp_seconds{cert=\"leaf\"} 1790000000",
            "trainmesh_certificate_not_before_timestamp_seconds{cert=\"ca\"} 1780000000",
            "trainmesh_certificate_expiry_timestamp_seconds{cert=\"leaf\"} 1800000000",
            "trainmesh_certificate_expiry_timestamp_seconds{cert=\"ca\"} 1900000000",
            "trainmesh_proxy_end_total{method=\"exec\",result=\"sent\"} 1",
            "trainmesh_proxy_end_total{method=\"exec\",result=\"ended\"} 1",
            "trainmesh_proxy_end_delay_seconds_bucket{le=\"1.0\"} 0",
            "trainmesh_proxy_end_delay_seconds_bucket{le=\"1.25\"} 1",
            "trainmesh_skips_total{reason=\"BeingDeleted\"} 1",
            "trainmesh_premature_end_total 1",
            "trainmesh_missed_pods_total 1",
            "trainmesh_leader 1",
            "trainmesh_fabric_mixed_gangs 2",
            "trainmesh_fabric_unpinned{what=\"profiles\"} 1",
            "trainmesh_fabric_unpinned{what=\"gang_modes\"} 2",
            "trainmesh_gang_groups 4",
            "trainmesh_gang_groups_missing 1",
            "trainmesh_gang_announced 1",
            "trainmesh_gang_writes_total{verb=\"create\",result=\"written\"} 1",
            "trainmesh_gang_writes_total{verb=\"delete\",result=\"failed\"} 0",
            "trainmesh_findings{id=\"ImagePullFails\"} 2",
            "trainmesh_findings{id=\"CrashLoop\"} 0",
            "trainmesh_diagnosis_unread_objects{objects=\"podgroups\"} 0",
            "trainmesh_diagnosis_unread_objects{objects=\"nodes\"} 1",
            "trainmesh_gpu_seconds_wasted_total{cause=\"peers_waiting\"} 480",
            "trainmesh_gpu_seconds_wasted_total{cause=\"sidecar_running\"} 0",
            "trainmesh_namespace_scans_failed_total{scan=\"diagnosis\"} 0",
            "trainmesh_namespace_scans_failed_total{scan=\"fabric\"} 1",
            "trainmesh_pods{state=\"waiting\"} 0",
            "trainmesh_pods{state=\"ending\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
        }
    }
}
