//! The objects of a cluster that profiles name.

use std::collections::BTreeSet;

use crate::config::Profiles;

/// The objects that profiles name, and whose presence matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferencedObjects {
    /// `ConfigMaps`.
    pub config_maps: BTreeSet<String>,
    /// `ResourceClaimTemplates`.
    pub claim_templates: BTreeSet<String>,
}

impl ReferencedObjects {
    /// Those of the configuration's profiles and the built-in ones.
    #[must_use]
    pub fn of(profiles: &Profiles) -> Self {
        let all = profiles.all();
        let profiles = || all.values().map(|entry| &entry.profile);
        let maps = profiles().flat_map(|profile| &profile.volumes.config_maps);
        let claims = profiles().flat_map(|profile| &profile.dra.claims);
        Self {
            config_maps: maps.map(|map| map.name.as_str().to_owned()).collect(),
            claim_templates: claims.map(|claim| claim.resource_claim_template_name.as_str().to_owned()).collect(),
        }
    }
}
