//! What the servers say about themselves: logs, metrics, readiness.

mod admin;
mod log;
mod metrics;
mod readiness;

pub use admin::router;
pub use log::{Format, LISTENING, Levels, start};
pub use metrics::{
    AdmissionMetrics, CertificateMetrics, ConnectionMetrics, EvictionReason, FabricMetrics, HandshakeFailure,
    LifecycleMetrics, Metrics, ReloadResult, ReviewResult, ServerKind,
};
pub use readiness::Readiness;
