//! Objects that profiles refer to.

use std::collections::BTreeSet;

use crate::config::Profiles;

/// Names of the objects that profiles refer to, and whose existence affects the patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferencedObjects {
    /// Names of `ConfigMaps`.
    pub config_maps: BTreeSet<String>,
    /// Names of `ResourceClaimTemplates`.
    pub claim_templates: BTreeSet<String>,
}

impl ReferencedObjects {
    /// Collects the references of all profiles, including the built-in ones.
    #[must_use]
    pub fn from_profiles(profiles: &Profiles) -> Self {
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
