//! What the rules want written: the only thing that a rule may change.

use std::sync::Arc;

use json_patch::jsonptr::{Pointer, PointerBuf};
use serde_json::Value;

use crate::config::Traffic;

/// The writes that the rules asked for, in the order they asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    writes: Vec<Write>,
    /// What the pod's fabric says of its traffic, for the rule that decides it.
    traffic: Option<Traffic>,
}

/// One value at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Whether the value is set, or comes after what a list holds.
    pub manner: Manner,
    /// The place, from the root of the pod.
    pub path: PointerBuf,
    /// What is to stand there. The containers of a pod mostly get the same, and share it.
    pub value: Arc<Value>,
}

/// How a value comes to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It stands at the path.
    Set,
    /// It is an item at the end of the list that stands at the path.
    Append,
}

impl Plan {
    /// Sets annotation `key`, and returns the field's place.
    pub fn set_annotation(&mut self, key: &str, value: impl Into<Value>) -> &Pointer {
        self.set(annotation(key), value)
    }

    /// Sets label `key`, and returns the field's place.
    pub fn set_label(&mut self, key: &str, value: impl Into<Value>) -> &Pointer {
        self.set(label(key), value)
    }

    /// Sets what stands at `path`, and returns `path`.
    pub fn set(&mut self, path: PointerBuf, value: impl Into<Value>) -> &Pointer {
        &self.writes.push_mut(Write { manner: Manner::Set, path, value: Arc::new(value.into()) }).path
    }

    /// Adds an item to the end of the list at `path`, which is made where it is absent.
    pub fn append(&mut self, path: PointerBuf, item: impl Into<Value>) {
        self.append_to_each([path], item);
    }

    /// Adds the same item to the end of the list at each of `paths`.
    pub fn append_to_each(&mut self, paths: impl IntoIterator<Item = PointerBuf>, item: impl Into<Value>) {
        let item = Arc::new(item.into());
        let appended = |path| Write { manner: Manner::Append, path, value: Arc::clone(&item) };
        self.writes.extend(paths.into_iter().map(appended));
    }

    /// The value planned for label `key`.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.planned(&label(key))
    }

    /// The value planned for annotation `key`.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.planned(&annotation(key))
    }

    /// The writes, in the order they were asked for.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Adds the writes of `other` after its own.
    pub(super) fn absorb(&mut self, other: Self) {
        self.writes.extend(other.writes);
        self.traffic = other.traffic.or(self.traffic);
    }

    /// Says how the pod's fabric wants its traffic treated.
    pub(super) fn want_traffic(&mut self, traffic: Traffic) {
        self.traffic = Some(traffic);
    }

    /// How the pod's fabric wants its traffic treated; `None`: it does not care.
    pub(super) fn traffic(&self) -> Option<Traffic> {
        self.traffic
    }

    fn planned(&self, path: &Pointer) -> Option<&str> {
        self.writes.iter().find(|write| *write.path == *path)?.value.as_str()
    }
}

/// The place to which `keys` lead from the pod's `spec`.
pub(super) fn spec<const KEYS: usize>(keys: [&str; KEYS]) -> PointerBuf {
    PointerBuf::from_tokens(["spec"].into_iter().chain(keys))
}

/// The place of annotation `key`.
pub(super) fn annotation(key: &str) -> PointerBuf {
    PointerBuf::from_tokens(["metadata", "annotations", key])
}

/// The place of label `key`.
pub(super) fn label(key: &str) -> PointerBuf {
    PointerBuf::from_tokens(["metadata", "labels", key])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_is_found_by_its_key() {
        let mut plan = Plan::default();
        plan.set_label("a", "of the label");
        plan.set_annotation("a", "of the annotation");
        plan.set_annotation("b", "another");
        assert_eq!((plan.label("a"), plan.label("b")), (Some("of the label"), None));
        assert_eq!((plan.annotation("a"), plan.annotation("b")), (Some("of the annotation"), Some("another")));
    }

    #[test]
    fn a_plan_absorbs_another_after_its_own_and_leaves_it_the_last_word_on_traffic() {
        let mut own = Plan::default();
        own.set_label("a", "1");
        own.want_traffic(Traffic::DisableCapture);
        own.absorb(Plan::default());
        assert_eq!(own.traffic(), Some(Traffic::DisableCapture));
        let mut other = Plan::default();
        other.set_label("b", "2");
        other.want_traffic(Traffic::DisableInjection);
        own.absorb(other);
        assert_eq!(own.traffic(), Some(Traffic::DisableInjection));
        let values: Vec<Option<&str>> = own.writes().iter().map(|write| write.value.as_str()).collect();
        assert_eq!(values, [Some("1"), Some("2")]);
    }
}
