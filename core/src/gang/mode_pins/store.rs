//! Stored form of the pins: JSON, the roles of gangs by the mode of their pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{Attempt, ModePins, Roles};
use crate::gang::{GangId, GangMode};
use crate::labels;

/// Size of the document with all modes and no gangs: the longest name is that of `coscheduling`.
pub(super) const EMPTY_SIZE: usize = r#"{"coscheduling":[],"#.len() * 9;
/// Size of a role without its text: quotation marks and a comma.
const OVERHEAD: usize = r#""","#.len();

impl ModePins {
    /// Serializes the pins. Equal pins yield the same text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut by_mode: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (key, roles) in &self.gangs {
            for (role, mode) in roles {
                by_mode.entry(mode.unwrap_or_default().name()).or_default().insert(stored(key, role));
            }
        }
        json!(by_mode).to_string()
    }

    /// Parses stored pins. Ignores what another version of trainmesh may have written: unknown modes and invalid names.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let mut pins = Self::default();
        for (mode, roles) in serde_json::from_str::<BTreeMap<String, BTreeSet<String>>>(text)? {
            let Some(mode) = GangMode::parse(&mode) else { continue };
            for (key, role) in roles.iter().filter_map(|role| parsed(role)) {
                let mode = Some(mode).filter(|mode| *mode != GangMode::None);
                pins.gangs.entry(key).or_default().insert(role, mode);
            }
        }
        Ok(pins)
    }
}

/// Returns the size of a gang with its roles, in bytes. All texts consist of characters that JSON does not escape.
pub(super) fn size_of(key: &Attempt, roles: &Roles) -> usize {
    roles.keys().map(|role| stored(key, role).len() + OVERHEAD).sum()
}

/// Returns the stored form of a role: namespace, restart attempt, role and ID of the gang. Only the ID can contain a slash.
fn stored((gang, attempt): &Attempt, role: &str) -> String {
    format!("{}/{attempt}/{role}/{}", gang.namespace, gang.id)
}

/// Parses the stored form of a role.
fn parsed(text: &str) -> Option<(Attempt, Box<str>)> {
    let mut parts = text.splitn(4, '/');
    let (namespace, attempt, role, id) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let gang = GangId::new(namespace, id).filter(|_| labels::is_value(namespace) && labels::is_value(role))?;
    Some(((gang, attempt.parse().ok()?), role.into()))
}
