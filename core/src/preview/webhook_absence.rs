//! Reason why the apiserver calls no webhook of trainmesh, whatever the pod.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

/// Returns why the apiserver cannot call the webhook with `found`, its `MutatingWebhookConfiguration`; `None` if it can.
#[must_use]
pub fn webhook_absence(found: Option<&MutatingWebhookConfiguration>) -> Option<&'static str> {
    // Without a bundle, the apiserver verifies the certificate with the system's roots, which have not issued that of a Service.
    let lacks_bundle = |webhook: &MutatingWebhook| {
        let bundle = webhook.client_config.ca_bundle.as_ref();
        webhook.client_config.service.is_some() && bundle.is_none_or(|bundle| bundle.0.is_empty())
    };
    match found.map(|found| found.webhooks.as_deref().unwrap_or_default()) {
        None => Some("MutatingWebhookConfiguration 0-trainmesh does not exist"),
        Some([]) => Some("MutatingWebhookConfiguration 0-trainmesh has no webhooks"),
        Some(webhooks) if webhooks.iter().all(lacks_bundle) => {
            Some("MutatingWebhookConfiguration 0-trainmesh has no caBundle")
        }
        Some(_) => None,
    }
}
