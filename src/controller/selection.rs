//! The selections of pods that the controller watches.

/// A selection of pods to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Pods that match the configured selector.
    Configured(String),
    /// Pods that the webhook has labeled.
    Managed,
}
