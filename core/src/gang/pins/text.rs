//! The text that is kept in the cluster: JSON, one entry for each revision in use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Pins;
use crate::config::{Entry, Profile};
use crate::gang::{Assignment, GangId};

/// The text without any entry: its brackets.
pub(super) const EMPTY: usize = "[]".len();
/// What an entry takes beside its values: the names of its fields, what surrounds them, and a comma.
const ENTRY: usize = r#"{"profile":,"revision":,"body":,"gangs":[]},"#.len();

#[derive(Serialize, Deserialize)]
struct Written {
    profile: String,
    revision: String,
    body: Value,
    /// Namespace and id, with a slash between them: no namespace has one.
    gangs: BTreeSet<String>,
}

impl Pins {
    /// The text, the same for the same pins.
    #[must_use]
    pub fn write(&self) -> String {
        let entries = self.kept.iter().map(|(assignment, kept)| Written {
            profile: assignment.profile.clone(),
            revision: assignment.revision.clone(),
            body: json!(kept.body),
            gangs: kept.gangs.iter().map(name).collect(),
        });
        json!(entries.collect::<Vec<_>>()).to_string()
    }

    /// Reads the text. A body that is not what its revision says is not believed: another version of trainmesh may read
    /// or render it in another way.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut pins = Self::default();
        for Written { profile, revision, body, gangs } in serde_json::from_str::<Vec<Written>>(text)? {
            let entry = if body.is_null() { None } else { Entry::parse(&body.to_string()).ok() };
            let entry = entry.filter(|entry| entry.revision == revision && entry.profile.name.as_str() == profile);
            // An earlier version did not validate what pods carry.
            let Some(assignment) = Assignment::new(&profile, &revision) else { continue };
            let body = entry.map(|entry| entry.profile);
            let gangs = gangs.iter().filter_map(|gang| gang.split_once('/'));
            for gang in gangs.filter_map(|(namespace, id)| GangId::new(namespace, id)) {
                pins.keep(&assignment, body.clone(), gang);
            }
        }
        Ok(pins)
    }
}

/// Bytes of an entry without its gangs.
pub(super) fn size_of_entry(assignment: &Assignment, body: Option<&Profile>) -> usize {
    ENTRY + size(&json!(assignment.profile)) + size(&json!(assignment.revision)) + size(&json!(body))
}

/// Bytes of a gang and a comma.
pub(super) fn size_of_gang(gang: &GangId) -> usize {
    size(&json!(name(gang))) + ",".len()
}

/// Bytes of `value` as it is stored, escapes included.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

fn name(gang: &GangId) -> String {
    format!("{}/{}", gang.namespace, gang.id)
}
