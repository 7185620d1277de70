//! Writes that the rules request. Rules change nothing else.

use std::sync::Arc;

use json_patch::jsonptr::{Pointer, PointerBuf};
use serde_json::Value;

use crate::config::Traffic;

/// Writes that the rules request, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    writes: Vec<Write>,
    /// Traffic mode that the pod's fabric profile requests, for the rule `mesh.traffic`.
    traffic: Option<Traffic>,
}

/// A value to write at a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Operation: set or append.
    pub kind: WriteKind,
    /// Path from the root of the pod.
    pub path: PointerBuf,
    /// Value to write. Shared, because the containers of a pod usually get the same values.
    pub value: Arc<Value>,
}

/// Kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Sets the field at the path.
    Set,
    /// Appends an item to the list at the path.
    Append,
}

impl Plan {
    /// Sets annotation `key`, and returns its path.
    pub fn set_annotation(&mut self, key: &str, value: impl Into<Value>) -> &Pointer {
        self.set(annotation_path(key), value)
    }

    /// Sets label `key`, and returns its path.
    pub fn set_label(&mut self, key: &str, value: impl Into<Value>) -> &Pointer {
        self.set(label_path(key), value)
    }

    /// Sets the field at `path`, and returns `path`.
    pub fn set(&mut self, path: PointerBuf, value: impl Into<Value>) -> &Pointer {
        &self.writes.push_mut(Write { kind: WriteKind::Set, path, value: Arc::new(value.into()) }).path
    }

    /// Appends an item to the list at `path`, which is created if absent.
    pub fn append(&mut self, path: PointerBuf, item: impl Into<Value>) {
        self.append_to_each([path], item);
    }

    /// Appends the same item to the list at each of `paths`.
    pub fn append_to_each(&mut self, paths: impl IntoIterator<Item = PointerBuf>, item: impl Into<Value>) {
        let item = Arc::new(item.into());
        let appended = |path| Write { kind: WriteKind::Append, path, value: Arc::clone(&item) };
        self.writes.extend(paths.into_iter().map(appended));
    }

    /// Returns the value planned for label `key`.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.planned_value(&label_path(key))
    }

    /// Returns the value planned for annotation `key`.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.planned_value(&annotation_path(key))
    }

    /// Returns the writes, in the order in which the rules requested them.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Appends the writes of `other`. Its traffic mode, if any, takes precedence.
    pub(super) fn merge(&mut self, other: Self) {
        self.writes.extend(other.writes);
        self.traffic = other.traffic.or(self.traffic);
    }

    /// Sets the traffic mode that the pod's fabric profile requests.
    pub(super) fn set_traffic(&mut self, traffic: Traffic) {
        self.traffic = Some(traffic);
    }

    /// Returns the traffic mode that the pod's fabric profile requests, if any.
    pub(super) fn traffic(&self) -> Option<Traffic> {
        self.traffic
    }

    fn planned_value(&self, path: &Pointer) -> Option<&str> {
        self.writes.iter().find(|write| *write.path == *path)?.value.as_str()
    }
}

/// Returns the path of a field below the pod's `spec`.
pub(super) fn spec_path<const KEYS: usize>(keys: [&str; KEYS]) -> PointerBuf {
    PointerBuf::from_tokens(["spec"].into_iter().chain(keys))
}

/// Returns the path of annotation `key`.
pub(super) fn annotation_path(key: &str) -> PointerBuf {
    PointerBuf::from_tokens(["metadata", "annotations", key])
}

/// Returns the path of label `key`.
pub(super) fn label_path(key: &str) -> PointerBuf {
    PointerBuf::from_tokens(["metadata", "labels", key])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_values_are_found_by_key() {
        let mut plan = Plan::default();
        plan.set_label("a", "label");
        plan.set_annotation("a", "annotation");
        plan.set_annotation("b", "another");
        assert_eq!((plan.label("a"), plan.label("b")), (Some("label"), None));
        assert_eq!((plan.annotation("a"), plan.annotation("b")), (Some("annotation"), Some("another")));
    }

    #[test]
    fn merge_appends_writes_and_overrides_the_traffic_mode() {
        let mut plan = Plan::default();
        plan.set_label("a", "1");
        plan.set_traffic(Traffic::DisableCapture);
        plan.merge(Plan::default());
        assert_eq!(plan.traffic(), Some(Traffic::DisableCapture));
        let mut other = Plan::default();
        other.set_label("b", "2");
        other.set_traffic(Traffic::DisableInjection);
        plan.merge(other);
        assert_eq!(plan.traffic(), Some(Traffic::DisableInjection));
        let values: Vec<Option<&str>> = plan.writes().iter().map(|write| write.value.as_str()).collect();
        assert_eq!(values, [Some("1"), Some("2")]);
    }
}
