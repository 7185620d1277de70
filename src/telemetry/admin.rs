//! The admin port of a server: `/healthz`, `/readyz`, `/metrics`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::{Metrics, Readiness};

/// Media type of the text from `Metrics::encode`.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Maximum number of encodings of `/metrics` within [`INTERVAL`]; further requests get the last text. Scrapers need one
/// text every few seconds, but any client that reaches the port can send requests of 20 bytes, each of which costs tens
/// of kilobytes.
const MAX_ENCODINGS: u32 = 20;
const INTERVAL: Duration = Duration::from_secs(1);

/// The cached text of `/metrics`, with a limit on the encoding rate.
#[derive(Default)]
struct MetricsCache {
    encoded: Bytes,
    interval_start: Option<Instant>,
    encodings: u32,
}

/// Returns the routes of the admin port. `/healthz` succeeds while the process is alive, `/readyz` while it can serve.
pub fn router(readiness: Readiness, metrics: Arc<Metrics>) -> Router {
    let readiness = Arc::new(readiness);
    let cache = Arc::new(Mutex::new(MetricsCache::default()));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { ready(&readiness) }))
        .route(
            "/metrics",
            get(move || async move {
                // After a panic while encoding, the previous text is still valid.
                let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
                ([(header::CONTENT_TYPE, OPEN_METRICS)], cache.text_at(Instant::now(), || metrics.encode()))
            }),
        )
}

impl MetricsCache {
    /// Returns the text at `now`: a new one, or the last one if the limit is reached.
    fn text_at(&mut self, now: Instant, encode: impl FnOnce() -> String) -> Bytes {
        if self.interval_start.is_none_or(|start| now.duration_since(start) >= INTERVAL) {
            (self.interval_start, self.encodings) = (Some(now), 0);
        }
        if self.encodings < MAX_ENCODINGS {
            self.encodings += 1;
            self.encoded = Bytes::from(encode());
        }
        self.encoded.clone()
    }
}

fn ready(readiness: &Readiness) -> Response {
    let unmet = readiness.unmet();
    if unmet.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {}\n", unmet.join(", "))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrapes_beyond_the_limit_get_the_last_text() {
        let start = Instant::now();
        let (mut cache, mut encoded) = (MetricsCache::default(), 0);
        let mut scrape = |now| {
            cache.text_at(now, || {
                encoded += 1;
                encoded.to_string()
            })
        };
        let texts: Vec<Bytes> = (0..1_000).map(|_| scrape(start)).collect();
        assert_eq!((&texts[0], &texts[19], &texts[999]), (&"1".into(), &"20".into(), &"20".into()));
        assert_eq!(scrape(start + INTERVAL), "21", "a new interval");
    }
}
