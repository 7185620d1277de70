//! Result of the webhook for a pod that exists.

use serde::{Serialize, Serializer};

use crate::codes::codes;

/// Result of the webhook for a pod, and the fabric profile that it applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTrace {
    /// Result of the webhook.
    pub webhook: WebhookResult,
    /// The result in words, with its cause.
    pub message: String,
    /// Fabric profile that the webhook applied.
    pub fabric: Option<AppliedFabric>,
}

codes! {
    /// Result of the webhook for a pod.
    pub enum WebhookResult {
        /// The pod has an annotation of the webhook.
        Handled => "handled the pod when it was created",
        /// No rule applies, so the webhook leaves no annotation.
        NotNeeded => "wrote no annotation, and none is needed: no rule would change the pod",
        /// The apiserver's selectors exclude the pod.
        Excluded => "not called for the pod",
        /// The namespace is in audit mode.
        Audited => "changes no pods: the namespace is in audit mode",
        /// The pod has no annotation of the webhook, and the configuration is not known.
        Unknown => "wrote no annotation; whether a rule would change the pod depends on the configuration, which could not be read",
        /// A rule applies, but the pod has no annotation of the webhook.
        Missed => "has not changed the pod, although rules would change it",
    }
}

/// A fabric profile that was applied to a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AppliedFabric {
    /// Name of the profile.
    pub profile: String,
    /// Revision of the profile when it was applied.
    pub revision: String,
    /// Revision of the profile in the current configuration; `None` if it contains no such profile, or is not known.
    pub current_revision: Option<String>,
}

impl WebhookTrace {
    pub(super) fn new(webhook: WebhookResult, cause: Option<&str>) -> Self {
        let message = cause.map_or_else(|| webhook.text().to_owned(), |cause| format!("{}: {cause}", webhook.text()));
        Self { webhook, message, fabric: None }
    }
}

impl AppliedFabric {
    /// Describes the profile and its revision.
    pub(super) fn describe(&self) -> String {
        let current_state = match &self.current_revision {
            None => "; the configuration no longer contains the profile".to_owned(),
            Some(current) if *current == self.revision => ", which is the current one".to_owned(),
            Some(current) => format!("; new jobs get revision {current}"),
        };
        format!("{}{current_state}", self.describe_assignment())
    }

    /// Describes the profile and its revision without the current one, which is not known.
    pub(super) fn describe_assignment(&self) -> String {
        format!("profile {}, revision {}", self.profile, self.revision)
    }
}

impl Serialize for WebhookResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}
