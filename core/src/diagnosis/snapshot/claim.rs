//! `ResourceClaims`, and the references of pods to them.

use serde_json::Value;

use super::read::{items, name};

/// Maximum number of claims of a pod.
const MAX_CLAIMS: usize = 32;

/// A `ResourceClaim`.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct ClaimRecord {
    pub(in crate::diagnosis) namespace: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    /// True if the scheduler has assigned devices to it.
    pub(in crate::diagnosis) is_allocated: bool,
}

/// A claim in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) enum ClaimReference {
    /// A `ResourceClaim`.
    Claim(Box<str>),
    /// A template from which no claim has been created yet.
    Template(Box<str>),
}

impl ClaimRecord {
    /// Reads a claim. `namespace` is that of objects without one.
    pub(super) fn read(raw: &Value, namespace: &str) -> Self {
        Self {
            namespace: name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into()),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            is_allocated: raw.pointer("/status/allocation").is_some_and(Value::is_object),
        }
    }
}

impl ClaimReference {
    /// Reads the claims of a pod. Those that Kubernetes did not need to create are left out.
    pub(super) fn read(pod: &Value) -> Vec<Self> {
        let created = |entry: &Value| {
            let own = entry.get("name")?;
            items(pod, "/status/resourceClaimStatuses", MAX_CLAIMS).find(|status| status.get("name") == Some(own))
        };
        let references = items(pod, "/spec/resourceClaims", MAX_CLAIMS).filter_map(|entry| {
            if let Some(claim) = name(entry, "/resourceClaimName") {
                return Some(Self::Claim(claim));
            }
            let template = name(entry, "/resourceClaimTemplateName")?;
            match created(entry) {
                Some(status) => name(status, "/resourceClaimName").map(Self::Claim),
                None => Some(Self::Template(template)),
            }
        });
        references.collect()
    }
}
