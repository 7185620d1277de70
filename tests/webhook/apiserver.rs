//! A minimal apiserver with two namespaces and an optional `ConfigMap`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trainmesh::serve::{Server, Shutdown};
use trainmesh::telemetry::Metrics;

/// An apiserver that runs until the test ends.
pub(crate) struct Apiserver {
    pub(crate) address: SocketAddr,
    /// Number of GETs of a single namespace.
    pub(crate) lookups: Arc<AtomicUsize>,
    leases: Arc<AtomicUsize>,
}

impl Apiserver {
    /// Returns the number of attempts to create a lease; all fail, because the namespace is missing.
    pub(crate) fn leases(&self) -> usize {
        self.leases.load(Ordering::Relaxed)
    }
}

/// Starts an apiserver. It lists only `team-a`; `late` can be read, like a namespace that the watch has not delivered
/// yet.
pub(crate) async fn start(config: Option<&str>) -> Apiserver {
    start_with(config, Router::new()).await
}

/// Like [`start`], with other routes.
pub(crate) async fn start_with(config: Option<&str>, others: Router) -> Apiserver {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let lookups = Arc::new(AtomicUsize::new(0));
    let config_maps = match config {
        None => json!([]),
        Some(text) => {
            json!([{"metadata": {"name": "trainmesh-config", "resourceVersion": "1"}, "data": {"config.yaml": text}}])
        }
    };
    let leases = Arc::new(AtomicUsize::new(0));
    let attempts = Arc::clone(&leases);
    let (counter, namespaces) = (Arc::clone(&lookups), json!([namespace("team-a")]));
    let router = others.fallback(move |request: Request| async move {
        let watch = request.uri().query().unwrap_or_default().contains("watch=true");
        match request.uri().path() {
            "/api/v1/namespaces" => list_or_watch(watch, "PartialObjectMetadataList", "meta.k8s.io/v1", &namespaces),
            "/api/v1/namespaces/trainmesh-system/configmaps" => {
                list_or_watch(watch, "ConfigMapList", "v1", &config_maps)
            }
            "/api/v1/namespaces/late" => {
                counter.fetch_add(1, Ordering::Relaxed);
                namespace("late").to_string().into_response()
            }
            "/apis/coordination.k8s.io/v1/namespaces/missing/leases" => {
                attempts.fetch_add(1, Ordering::Relaxed);
                not_found()
            }
            "/apis/coordination.k8s.io/v1/namespaces/missing/leases/trainmesh-controller" => not_found(),
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    });
    let server = Server::plain(listener, router, Arc::new(Metrics::default()));
    tokio::spawn(server.run(Shutdown::default(), Duration::ZERO));
    Apiserver { address, lookups, leases }
}

/// Returns the reply for an object or namespace that does not exist.
fn not_found() -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
    (StatusCode::NOT_FOUND, status.to_string()).into_response()
}

/// Returns a list, or a watch without events.
pub(crate) fn list_or_watch(watch: bool, kind: &str, api_version: &str, items: &Value) -> Response {
    if watch {
        return Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>()).into_response();
    }
    json!({"kind": kind, "apiVersion": api_version, "metadata": {"resourceVersion": "1"}, "items": items})
        .to_string()
        .into_response()
}

fn namespace(name: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": name, "resourceVersion": "1", "labels": {"istio-injection": "enabled"}}})
}
