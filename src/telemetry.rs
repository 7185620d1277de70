//! Logs, metrics and readiness of the servers.

mod admin;
mod log;
mod metrics;
mod readiness;

pub use admin::router;
pub use log::{LISTENING, LogFormat, LogLevels, init_logging};
pub use metrics::{
    AdmissionMetrics, CertificateMetrics, ConnectionMetrics, DiagnosisMetrics, EvictionReason, FabricMetrics,
    GangMetrics, HandshakeFailure, LifecycleMetrics, Metrics, NamespaceScan, ReloadResult, ReviewResult, ServerKind,
};
pub use readiness::Readiness;
