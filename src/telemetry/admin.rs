//! The plain port of a server: `/healthz`, `/readyz`, `/metrics`.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::{Metrics, Readiness};

/// The media type of the text format that `Metrics::encode` writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes of the plain port. `/healthz` says that the process runs its tasks, `/readyz` that it may be given work.
pub fn router(readiness: Readiness, metrics: Arc<Metrics>) -> Router {
    let readiness = Arc::new(readiness);
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { ready(&readiness) }))
        .route("/metrics", get(move || async move { ([(header::CONTENT_TYPE, OPEN_METRICS)], metrics.encode()) }))
}

fn ready(readiness: &Readiness) -> Response {
    let unmet = readiness.unmet();
    if unmet.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {}\n", unmet.join(", "))).into_response()
}
