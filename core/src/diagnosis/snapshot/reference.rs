//! References to objects.

use std::fmt;

use serde_json::Value;

use super::read::{items, name};

/// Maximum number of owners of an object.
const MAX_OWNERS: usize = 16;

/// A reference to an object of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) struct Reference {
    pub(in crate::diagnosis) kind: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    is_controller: bool,
}

/// Name of a workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadName {
    /// Kind.
    pub kind: String,
    /// Namespace; empty for objects without one.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Reference {
    /// Reads kind and name of `value`.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let is_controller = value.get("controller").and_then(Value::as_bool) == Some(true);
        Some(Self { kind: name(value, "/kind")?, name: name(value, "/name")?, is_controller })
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        if namespace.is_empty() {
            write!(formatter, "{kind} {name}")
        } else {
            write!(formatter, "{kind} {namespace}/{name}")
        }
    }
}

/// Returns the owners of an object.
pub(super) fn owners(object: &Value) -> Vec<Reference> {
    items(object, "/metadata/ownerReferences", MAX_OWNERS).filter_map(Reference::read).collect()
}

/// Returns the controlling owner of an object.
pub(super) fn controller(object: &Value) -> Option<Reference> {
    owners(object).into_iter().find(|owner| owner.is_controller)
}
