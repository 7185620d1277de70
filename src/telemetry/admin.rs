//! The plain port of a server: `/healthz`, `/readyz`, `/metrics`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::{Metrics, Readiness};

/// The media type of the text format that `Metrics::encode` writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How often `/metrics` is encoded within [`INTERVAL`]. Scrapers take one text in seconds; anyone who reaches the port can
/// send requests of 20 bytes, and each would cost a text of tens of kilobytes. Beyond it, all share the last one.
const ENCODINGS: u32 = 20;
const INTERVAL: Duration = Duration::from_secs(1);

/// The text of `/metrics`, encoded a bounded number of times.
#[derive(Default)]
struct Text {
    encoded: Bytes,
    began: Option<Instant>,
    encodings: u32,
}

/// The routes of the plain port. `/healthz` says that the process runs its tasks, `/readyz` that it may be given work.
pub fn router(readiness: Readiness, metrics: Arc<Metrics>) -> Router {
    let readiness = Arc::new(readiness);
    let text = Arc::new(Mutex::new(Text::default()));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || async move { ready(&readiness) }))
        .route(
            "/metrics",
            get(move || async move {
                // A panic while encoding leaves the previous text.
                let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                ([(header::CONTENT_TYPE, OPEN_METRICS)], text.at(Instant::now(), || metrics.encode()))
            }),
        )
}

impl Text {
    /// The text at `now`: a new one, or the last one where there have been enough.
    fn at(&mut self, now: Instant, encode: impl FnOnce() -> String) -> Bytes {
        if self.began.is_none_or(|began| now.duration_since(began) >= INTERVAL) {
            (self.began, self.encodings) = (Some(now), 0);
        }
        if self.encodings < ENCODINGS {
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
    fn scrapes_beyond_the_limit_share_a_text() {
        let began = Instant::now();
        let (mut text, mut encoded) = (Text::default(), 0);
        let mut scrape = |now| {
            text.at(now, || {
                encoded += 1;
                encoded.to_string()
            })
        };
        let texts: Vec<Bytes> = (0..1_000).map(|_| scrape(began)).collect();
        assert_eq!((&texts[0], &texts[19], &texts[999]), (&"1".into(), &"20".into(), &"20".into()));
        assert_eq!(scrape(began + INTERVAL), "21", "a second later there is a new one");
    }
}
