//! Routes of the webhook.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, post};

use super::admission::AdmissionHandler;
use trainmesh_core::scope::Mode;

/// Returns the router, with one path for each mode: the selectors of the webhook configuration decide which one the
/// apiserver calls.
pub(super) fn router(admission: &Arc<AdmissionHandler>) -> Router {
    let call = |mode| -> MethodRouter {
        let admission = Arc::clone(admission);
        post(move |request: Request| async move { admission.call(mode, request).await })
    };
    Router::new()
        .route("/mutate", call(Mode::Enabled))
        .route("/audit", call(Mode::Audit))
        .route("/istio-aux", call(Mode::IstioAux))
}
