//! What the servers say about themselves: logs, metrics, readiness.

mod admin;
mod log;
mod metrics;
mod readiness;

use std::error::Error;

pub use admin::router;
pub use log::{Format, LISTENING, Levels, start};
pub use metrics::{Metrics, ReloadResult, ReviewResult};
pub use readiness::Readiness;

/// `error` with its causes, in one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
