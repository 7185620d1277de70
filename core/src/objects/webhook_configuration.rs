//! The parts of a `MutatingWebhookConfiguration` that concern certificates.

/// A version of a `MutatingWebhookConfiguration`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookConfiguration {
    /// Resource version.
    pub resource_version: String,
    /// The `caBundle` of each webhook in order; empty if a webhook has none.
    pub ca_bundles: Vec<Vec<u8>>,
}
