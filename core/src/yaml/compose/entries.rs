//! The entries of a mapping that is being read.

use std::collections::HashSet;

use serde_json::map::Entry;
use serde_json::{Map, Value};

/// The entries of a mapping, and which of them are from a merge.
#[derive(Default)]
pub(super) struct Entries {
    map: Map<String, Value>,
    /// Keys set only by a merge, which the mapping may still set itself.
    merged: HashSet<String>,
}

impl Entries {
    /// Sets a key of the mapping itself. Returns it if it is a duplicate.
    pub(super) fn set(&mut self, key: String, value: Value) -> Option<String> {
        match self.map.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                None
            }
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                (!self.merged.remove(entry.key())).then(|| entry.key().clone())
            }
        }
    }

    /// Sets a key by a merge.
    pub(super) fn merge(&mut self, key: String, value: Value) {
        if !self.map.contains_key(&key) {
            self.merged.insert(key.clone());
        }
        self.map.insert(key, value);
    }

    pub(super) fn into_map(self) -> Map<String, Value> {
        self.map
    }
}
