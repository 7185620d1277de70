//! The entries of a mapping that is being read.

use std::collections::{HashMap, HashSet};

use serde_json::map::Entry;
use serde_json::{Map, Value};

/// The entries of a mapping, and which of them are from a merge.
#[derive(Default)]
pub(super) struct Entries {
    map: Map<String, Value>,
    /// Keys set only by a merge, which the mapping may still set itself.
    merged: HashSet<String>,
    /// Indexes of the first keys. They are needed only after a key was replaced, which is rare.
    indexes: HashMap<String, usize>,
}

/// A key whose value was replaced.
pub(super) struct Replaced {
    pub(super) key: String,
    /// True if a merge had set the value.
    pub(super) by_merge: bool,
}

impl Entries {
    /// Sets a key of the mapping itself. Returns it if it exists.
    pub(super) fn set(&mut self, key: String, value: Value) -> Option<Replaced> {
        match self.map.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                None
            }
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                let by_merge = self.merged.remove(entry.key());
                Some(Replaced { key: entry.key().clone(), by_merge })
            }
        }
    }

    /// Sets a key by a merge. Returns it if it exists.
    pub(super) fn merge(&mut self, key: String, value: Value) -> Option<String> {
        if self.map.contains_key(&key) {
            self.map.insert(key.clone(), value);
            return Some(key);
        }
        self.merged.insert(key.clone());
        self.map.insert(key, value);
        None
    }

    /// Returns the index of `key`, which exists: a replaced entry keeps its index.
    pub(super) fn index(&mut self, key: &str) -> usize {
        let known = self.indexes.len();
        self.indexes.extend(self.map.keys().enumerate().skip(known).map(|(index, key)| (key.clone(), index)));
        self.indexes.get(key).copied().unwrap_or_default()
    }

    pub(super) fn into_map(self) -> Map<String, Value> {
        self.map
    }
}
