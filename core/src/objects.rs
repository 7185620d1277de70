//! The objects of an installation: their names, and as plain data what is read of them.
//!
//! Who reads and writes them is the room `cluster` of the binary.

pub mod secret;
mod webhook_configuration;

pub use secret::Secret;
pub use webhook_configuration::WebhookConfiguration;

/// The `MutatingWebhookConfiguration` of the webhook. It sorts before Istio's, because they are called in that order.
pub const WEBHOOK_CONFIGURATION: &str = "0-trainmesh";
/// The Service of the webhook, unless its operator says otherwise.
pub const SERVICE: &str = "trainmesh-webhook";
/// The Secret of the authorities, which none but the controller may read.
pub const CA_SECRET: &str = "trainmesh-ca";
/// The Secret of the webhook's certificate.
pub const SERVING_SECRET: &str = "trainmesh-webhook-tls";
/// The `ConfigMap` with the configuration.
pub const CONFIG_MAP: &str = "trainmesh-config";
/// The key of [`CONFIG_MAP`] that holds the configuration.
pub const CONFIG_KEY: &str = "config.yaml";
/// The `ConfigMap` with what living gangs carry.
pub const FABRIC_CONFIG_MAP: &str = "trainmesh-fabric";
/// The Lease of the controller that acts.
pub const LEASE: &str = "trainmesh-controller";
/// The Deployment of the webhook, which no value of the chart renames.
pub const WEBHOOK_DEPLOYMENT: &str = "trainmesh-webhook";
/// The Deployment of the controller.
pub const CONTROLLER_DEPLOYMENT: &str = "trainmesh-controller";
/// The `MutatingWebhookConfiguration` by which network-resources-injector is known.
pub const NETWORK_RESOURCES_INJECTOR: &str = "network-resources-injector-config";

/// What became of a write that holds only for the version that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is written.
    Written,
    /// Somebody else has written, or deleted, since: read again.
    Conflict,
}

/// The DNS name by which the apiserver calls a Service; it looks for no other in a certificate.
#[must_use]
pub fn service_host(service: &str, namespace: &str) -> String {
    format!("{service}.{namespace}.svc")
}
