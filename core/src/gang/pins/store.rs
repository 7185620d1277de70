//! Stored form of the pins: JSON, one entry per revision in use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Pins;
use crate::config::{self, Profile};
use crate::gang::{Assignment, GangId};

/// Size of the document without entries.
pub(super) const EMPTY_SIZE: usize = "[]".len();
/// Size of an entry without its values: field names, punctuation, and a comma.
const ENTRY_OVERHEAD: usize = r#"{"profile":,"revision":,"body":,"gangs":[]},"#.len();

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    profile: String,
    revision: String,
    body: Value,
    /// Namespace and ID of each gang, separated by a slash.
    gangs: BTreeSet<String>,
}

impl Pins {
    /// Serializes the pins. Equal pins yield the same text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let entries = self.entries.iter().map(|(assignment, entry)| StoredEntry {
            profile: assignment.profile.clone(),
            revision: assignment.revision.clone(),
            body: json!(entry.body),
            gangs: entry.gangs.iter().map(stored_gang).collect(),
        });
        json!(entries.collect::<Vec<_>>()).to_string()
    }

    /// Parses stored pins. Ignores bodies whose hash differs from their revision: another version of trainmesh may
    /// parse or render them differently.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let mut pins = Self::default();
        for StoredEntry { profile, revision, body, gangs } in serde_json::from_str::<Vec<StoredEntry>>(text)? {
            let entry = if body.is_null() { None } else { config::ProfileEntry::parse(&body.to_string()).ok() };
            let entry = entry.filter(|entry| entry.revision == revision && entry.profile.name.as_str() == profile);
            // Earlier versions did not validate the annotations of pods.
            let Some(assignment) = Assignment::new(&profile, &revision) else { continue };
            let body = entry.map(|entry| entry.profile);
            let gangs = gangs.iter().filter_map(|gang| gang.split_once('/'));
            for gang in gangs.filter_map(|(namespace, id)| GangId::new(namespace, id)) {
                pins.insert(&assignment, body.clone(), gang);
            }
        }
        Ok(pins)
    }
}

/// Returns the size of an entry without its gangs, in bytes.
pub(super) fn size_of_entry(assignment: &Assignment, body: Option<&Profile>) -> usize {
    ENTRY_OVERHEAD + size(&json!(assignment.profile)) + size(&json!(assignment.revision)) + size(&json!(body))
}

/// Returns the size of a gang and a comma, in bytes.
pub(super) fn size_of_gang(gang: &GangId) -> usize {
    size(&json!(stored_gang(gang))) + ",".len()
}

/// Returns the size of `value` in JSON, in bytes.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Returns the stored form of a gang.
fn stored_gang(gang: &GangId) -> String {
    format!("{}/{}", gang.namespace, gang.id)
}
