//! Objects that profiles refer to.

use std::collections::BTreeSet;

use crate::config::Profiles;

/// Names of the objects that profiles refer to, and whose existence affects the patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferencedObjects {
    /// Names of `ConfigMaps`.
    pub config_maps: BTreeSet<String>,
}

impl ReferencedObjects {
    /// Collects the references of all profiles, including the built-in ones.
    #[must_use]
    pub fn from_profiles(profiles: &Profiles) -> Self {
        let all = profiles.all();
        let maps = all.values().flat_map(|entry| &entry.profile.volumes.config_maps);
        Self { config_maps: maps.map(|map| map.name.as_str().to_owned()).collect() }
    }
}
