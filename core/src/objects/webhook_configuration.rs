//! A `MutatingWebhookConfiguration`, as far as certificates are concerned.

/// A `MutatingWebhookConfiguration` as it was at some version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfiguration {
    /// The version.
    pub resource_version: String,
    /// The `caBundle` of each webhook, in their order; empty where it has none.
    pub ca_bundles: Vec<Vec<u8>>,
}
