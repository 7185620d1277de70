//! What the rules want written: the only thing that a rule may change.

use json_patch::jsonptr::PointerBuf;
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
    /// Keys, and indices of lists, from the root of the pod, unescaped.
    pub path: Vec<String>,
    /// What is to stand there.
    pub value: Value,
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
    /// Sets annotation `key`, and returns the field's JSON pointer.
    pub fn set_annotation(&mut self, key: &str, value: impl Into<Value>) -> String {
        self.set(&["metadata", "annotations", key], value)
    }

    /// Sets label `key`, and returns the field's JSON pointer.
    pub fn set_label(&mut self, key: &str, value: impl Into<Value>) -> String {
        self.set(&["metadata", "labels", key], value)
    }

    /// Sets what stands at `path`, the keys and list indices from the root of the pod, and returns the field's JSON pointer.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) -> String {
        self.write(Manner::Set, path, value.into())
    }

    /// Adds an item to the end of the list at `path`, which is made where it is absent, and returns the list's JSON
    /// pointer.
    pub fn append(&mut self, path: &[&str], item: impl Into<Value>) -> String {
        self.write(Manner::Append, path, item.into())
    }

    /// The value planned for label `key`.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        let path = ["metadata", "labels", key];
        self.writes.iter().find(|write| write.path == path)?.value.as_str()
    }

    /// The value planned for annotation `key`.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        let path = ["metadata", "annotations", key];
        self.writes.iter().find(|write| write.path == path)?.value.as_str()
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

    fn write(&mut self, manner: Manner, path: &[&str], value: Value) -> String {
        self.writes.push(Write { manner, path: path.iter().map(|key| (*key).to_owned()).collect(), value });
        PointerBuf::from_tokens(path.iter().copied()).to_string()
    }
}
