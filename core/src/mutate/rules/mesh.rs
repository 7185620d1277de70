//! The mesh rules: a training pod and its istio-proxy start in order and keep out of each other's way.

pub(super) mod hold;
pub(super) mod native;
pub(super) mod traffic;
