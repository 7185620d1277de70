//! Istio's `PeerAuthentication`: whether plaintext connections are accepted.

use serde_json::Value;

use super::read::name;

/// Istio's default root namespace, whose policy without a selector applies to the whole mesh.
const ROOT: &str = "istio-system";

/// A `PeerAuthentication`.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct PeerAuthenticationRecord {
    namespace: Box<str>,
    name: Box<str>,
    mode: Option<Box<str>>,
    is_selective: bool,
}

impl PeerAuthenticationRecord {
    pub(super) fn read(raw: &Value, namespace: &str) -> Self {
        let labels = raw.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        Self {
            namespace: name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into()),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            mode: name(raw, "/spec/mtls/mode").filter(|mode| &**mode != "UNSET"),
            is_selective: labels.is_some_and(|labels| !labels.is_empty()),
        }
    }

    /// Returns kind, namespace and name.
    pub(in crate::diagnosis) fn title(&self) -> String {
        format!("PeerAuthentication {}/{}", self.namespace, self.name)
    }

    pub(in crate::diagnosis) fn is_strict(&self) -> bool {
        self.mode.as_deref() == Some("STRICT")
    }

    /// Returns the policy of a namespace, or else that of the mesh. `None` if there is none, or if another one selects pods of
    /// the namespace and may replace it.
    pub(in crate::diagnosis) fn effective<'a>(all: &'a [Self], namespace: &str) -> Option<&'a Self> {
        let of = |namespace: &str| {
            let namespace = namespace.to_owned();
            all.iter().filter(move |policy| *policy.namespace == *namespace)
        };
        if of(namespace).any(|policy| policy.is_selective) {
            return None;
        }
        let is_set = |policy: &&'a Self| policy.mode.is_some() && !policy.is_selective;
        of(namespace).find(is_set).or_else(|| of(ROOT).find(is_set))
    }
}
