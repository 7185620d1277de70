//! The text that is kept in the cluster: JSON, one entry for each revision in use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Carried, GangKey, Pins};
use crate::fabric::{Entry, Profile};

/// What a gang takes beside its names: quotation marks and commas.
const GANG: usize = 4;
/// The names of an entry's fields, and what surrounds them.
const ENTRY: usize = 64;

#[derive(Serialize, Deserialize)]
struct Written {
    profile: String,
    revision: String,
    body: Value,
    /// Namespace and uid, with a slash between them: no namespace has one.
    gangs: BTreeSet<String>,
}

impl Pins {
    /// The text, the same for the same pins.
    #[must_use]
    pub fn write(&self) -> String {
        let entries = self.kept.iter().map(|(carried, kept)| Written {
            profile: carried.profile.clone(),
            revision: carried.revision.clone(),
            body: json!(kept.body),
            gangs: kept.gangs.iter().map(|gang| format!("{}/{}", gang.namespace, gang.uid)).collect(),
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
            let (carried, body) = (Carried { profile, revision }, entry.map(|entry| entry.profile));
            for (namespace, uid) in gangs.iter().filter_map(|gang| gang.split_once('/')) {
                let gang = GangKey { namespace: namespace.to_owned(), uid: uid.to_owned() };
                pins.keep(&carried, body.clone(), gang);
            }
        }
        Ok(pins)
    }
}

pub(super) fn size_of_body(body: &Profile) -> usize {
    json!(body).to_string().len()
}

pub(super) fn size_of_carried(carried: &Carried) -> usize {
    carried.profile.len() + carried.revision.len() + ENTRY
}

pub(super) fn size_of_gang(gang: &GangKey) -> usize {
    gang.namespace.len() + gang.uid.len() + GANG
}
