//! Namespaces.

use serde_json::Value;

use super::read::name;

/// Label that enables trainmesh.
const INJECT: &str = "/metadata/labels/trainmesh.dev~1inject";

/// A namespace.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct NamespaceRecord {
    pub(in crate::diagnosis) name: Box<str>,
    /// True if trainmesh is enabled in it.
    pub(in crate::diagnosis) is_enabled: bool,
}

impl NamespaceRecord {
    pub(super) fn read(raw: &Value) -> Self {
        Self {
            name: name(raw, "/metadata/name").unwrap_or_default(),
            is_enabled: raw.pointer(INJECT).and_then(Value::as_str) == Some("enabled"),
        }
    }
}
