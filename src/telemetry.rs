//! What the servers say about themselves: logs, metrics, readiness.

mod admin;
mod log;
mod metrics;
mod readiness;

pub use admin::router;
pub use log::{Format, LISTENING, Levels, start};
pub use metrics::{
    AdmissionMetrics, CertificateMetrics, FabricMetrics, LifecycleMetrics, Metrics, ReloadResult, ReviewResult,
};
pub use readiness::Readiness;
