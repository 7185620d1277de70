//! References to objects.

use std::fmt;

use serde_json::Value;

use super::read::{items, name};
use crate::workload::kind_qualifier;

/// Maximum number of owners of an object.
const MAX_OWNERS: usize = 16;

/// A reference to an object of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::diagnosis) struct Reference {
    pub(in crate::diagnosis) kind: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    qualifier: &'static str,
    is_controller: bool,
}

/// Kind, namespace and name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::diagnosis) struct ObjectKey<'a> {
    pub(in crate::diagnosis) kind: &'a str,
    pub(in crate::diagnosis) namespace: &'a str,
    pub(in crate::diagnosis) name: &'a str,
    /// API group of a kind that has the name of a built-in one, such as Volcano's Job; else empty.
    pub(in crate::diagnosis) qualifier: &'static str,
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
    /// That of [`ObjectKey`].
    pub(in crate::diagnosis) qualifier: &'static str,
}

impl Reference {
    /// Reads kind and name of `value`.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let is_controller = value.get("controller").and_then(Value::as_bool) == Some(true);
        let kind = name(value, "/kind")?;
        let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let qualifier = version.split_once('/').map_or("", |(group, _)| kind_qualifier(group, &kind));
        Some(Self { kind, name: name(value, "/name")?, qualifier, is_controller })
    }

    /// Returns the key of the object, which is in `namespace`.
    pub(in crate::diagnosis) fn key<'a>(&'a self, namespace: &'a str) -> ObjectKey<'a> {
        ObjectKey { qualifier: self.qualifier, ..ObjectKey::new(&self.kind, namespace, &self.name) }
    }
}

impl<'a> ObjectKey<'a> {
    /// Returns the key of an object of a built-in kind, or of one with a unique name.
    pub(in crate::diagnosis) fn new(kind: &'a str, namespace: &'a str, name: &'a str) -> Self {
        Self { kind, namespace, name, qualifier: "" }
    }

    /// Returns the name of a workload with this key.
    pub(in crate::diagnosis) fn workload_name(self) -> WorkloadName {
        let Self { kind, namespace, name, qualifier } = self;
        WorkloadName { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned(), qualifier }
    }
}

impl WorkloadName {
    /// Returns the key of the workload.
    pub(in crate::diagnosis) fn key(&self) -> ObjectKey<'_> {
        ObjectKey { qualifier: self.qualifier, ..ObjectKey::new(&self.kind, &self.namespace, &self.name) }
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, qualifier: _ } = self;
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
