//! The mesh rules, which order the start of istio-proxy and the application and configure traffic capture.

pub(super) mod consequence;
mod direct;
pub(super) mod hold;
pub(super) mod native;
mod tls_mode;
pub(super) mod traffic;
