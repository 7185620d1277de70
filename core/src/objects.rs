//! The objects of an installation: their names and, as plain data, their content.
//!
//! The module `cluster` of the binary reads and writes them.

pub mod secret;
mod webhook_configuration;

pub use secret::Secret;
pub use webhook_configuration::WebhookConfiguration;

/// The `MutatingWebhookConfiguration` of the webhook. The apiserver calls configurations in the order of their names;
/// this one sorts before Istio's.
pub const WEBHOOK_CONFIGURATION: &str = "0-trainmesh";
/// Default Service of the webhook.
pub const SERVICE: &str = "trainmesh-webhook";
/// The Secret of the CAs and their keys; only the controller may read it.
pub const CA_SECRET: &str = "trainmesh-ca";
/// The Secret of the webhook's serving certificate.
pub const SERVING_SECRET: &str = "trainmesh-webhook-tls";
/// The `ConfigMap` with the configuration.
pub const CONFIG_MAP: &str = "trainmesh-config";
/// Key of the configuration in [`CONFIG_MAP`].
pub const CONFIG_KEY: &str = "config.yaml";
/// The `ConfigMap` with the fabric profiles of active gangs.
pub const FABRIC_CONFIG_MAP: &str = "trainmesh-fabric";
/// The Lease for leader election of the controller.
pub const LEASE: &str = "trainmesh-controller";
/// The Deployment of the webhook; no chart value changes its name.
pub const WEBHOOK_DEPLOYMENT: &str = "trainmesh-webhook";
/// The Deployment of the controller.
pub const CONTROLLER_DEPLOYMENT: &str = "trainmesh-controller";
/// The `ValidatingAdmissionPolicy` that limits the controller's exec, and its binding.
pub const EXEC_POLICY: &str = "trainmesh-controller";
/// The `MutatingWebhookConfiguration` of network-resources-injector.
pub const NETWORK_RESOURCES_INJECTOR: &str = "network-resources-injector-config";

/// The outcome of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The object was written.
    Written,
    /// The object was changed or deleted since it was read: read it again.
    Conflict,
}

/// Returns the DNS name under which the apiserver calls a Service, and which its certificate must contain.
#[must_use]
pub fn service_host(service: &str, namespace: &str) -> String {
    format!("{service}.{namespace}.svc")
}
