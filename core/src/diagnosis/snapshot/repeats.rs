//! Objects that the input contains several times: dumps of one cluster overlap, and may be from different times.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use super::read::name;

/// The objects of a snapshot by their names.
#[derive(Debug, Default)]
pub(super) struct ObjectIndex {
    entries: HashMap<Box<str>, Stored>,
    /// Number of objects that replaced another version, or were replaced by it.
    pub(super) repeats: usize,
}

/// Name and version of an object.
#[derive(Debug)]
pub(super) struct ObjectKey {
    /// Group, kind, namespace and name; `None` without a name.
    text: Option<Box<str>>,
    version: Option<u64>,
}

/// Position of an object in the list of its kind.
#[derive(Clone, Copy, Debug)]
struct Stored {
    position: usize,
    version: Option<u64>,
}

/// Position for the record of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// At the end of its list.
    New,
    /// In place of an older version.
    Replaced(usize),
    /// None: a newer version is in the list.
    Outdated,
}

impl ObjectKey {
    /// Reads the key of an object of a kind.
    pub(super) fn read(object: &Value, group: &str, kind: &str, namespace: &str) -> Self {
        // Events have two groups.
        let group = if kind == "Event" { "" } else { group };
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(namespace);
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.and_then(|version| version.parse().ok());
        let name = name(object, "/metadata/name");
        Self { text: name.map(|name| format!("{group}/{kind}/{namespace}/{name}").into()), version }
    }
}

impl ObjectIndex {
    /// Returns the position for the object with this key, whose list has `length` records. A name belongs to one object at a time,
    /// so of two objects with the same name one has replaced the other. The higher `resourceVersion` is newer; without it, or if
    /// they are equal, the later object of the input counts.
    pub(super) fn slot(&mut self, key: ObjectKey, length: usize) -> Slot {
        let ObjectKey { text: Some(text), version } = key else { return Slot::New };
        match self.entries.entry(text) {
            Entry::Vacant(entry) => {
                entry.insert(Stored { position: length, version });
                Slot::New
            }
            Entry::Occupied(mut entry) => {
                self.repeats += 1;
                let stored = entry.get_mut();
                if version.is_some() && version < stored.version {
                    return Slot::Outdated;
                }
                stored.version = version;
                Slot::Replaced(stored.position)
            }
        }
    }
}

impl Slot {
    /// Puts `record` into the list of its kind.
    pub(super) fn put<T>(self, list: &mut Vec<T>, record: T) {
        match self {
            Self::New => list.push(record),
            Self::Replaced(position) => list[position] = record,
            Self::Outdated => {}
        }
    }
}
