//! All profiles by name: those of the configuration before the built-in ones.

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::fields::{Field, Fields, Section as _, no_list, read_root};
use super::{Problem, Profile};
use crate::hint::{COMPARED, nearest};
use crate::yaml::Node;
use crate::{hash, yaml};

/// Counts the ways in which a profile has been made into a patch: pods of one job must not be given two.
const RENDERER: u32 = 1;

/// The profiles of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles(BTreeMap<String, Entry>);

/// A profile and its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The profile.
    pub profile: Profile,
    /// What the annotation `trainmesh.dev/fabric-revision` says of a pod that was given it: twelve hexadecimal digits.
    pub revision: String,
}

static BUILTIN: LazyLock<Profiles> = LazyLock::new(|| {
    let entries = SOURCES.iter().filter_map(|(_, text)| Entry::parse(text).ok());
    Profiles(entries.map(|entry| (entry.profile.name.as_str().to_owned(), entry)).collect())
});

/// The text of every built-in profile, by name.
const SOURCES: &[(&str, &str)] = &[
    ("aks-nd-shared", include_str!("../../../config/fabric/aks-nd-shared.yaml")),
    ("aks-nd-sriov", include_str!("../../../config/fabric/aks-nd-sriov.yaml")),
    ("coreweave-ib", include_str!("../../../config/fabric/coreweave-ib.yaml")),
    ("eks-efa", include_str!("../../../config/fabric/eks-efa.yaml")),
    ("eks-efa-dra", include_str!("../../../config/fabric/eks-efa-dra.yaml")),
    ("gke-mrdma-dra", include_str!("../../../config/fabric/gke-mrdma-dra.yaml")),
    ("gke-rdma-gib-a3u", include_str!("../../../config/fabric/gke-rdma-gib-a3u.yaml")),
    ("ib-shared", include_str!("../../../config/fabric/ib-shared.yaml")),
    ("ib-sriov", include_str!("../../../config/fabric/ib-sriov.yaml")),
    ("oke-roce-vf-h100", include_str!("../../../config/fabric/oke-roce-vf-h100.yaml")),
    ("roce-shared-macvlan", include_str!("../../../config/fabric/roce-shared-macvlan.yaml")),
    ("roce-sriov", include_str!("../../../config/fabric/roce-sriov.yaml")),
    ("tcp", include_str!("../../../config/fabric/tcp.yaml")),
];

/// The profiles that are built in.
#[must_use]
pub fn builtin_profiles() -> &'static Profiles {
    &BUILTIN
}

/// The text of built-in profile `name`, comments and sources included.
#[must_use]
pub fn profile_source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(found, _)| *found == name).map(|(_, text)| *text)
}

impl Entry {
    fn new(profile: Profile) -> Self {
        let revision = hash::of(&json!({"renderer": RENDERER, "profile": profile}));
        Self { profile, revision }
    }

    /// Reads the YAML or JSON of one profile.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let tree = yaml::tree(text).map_err(|error| vec![error.into()])?;
        read_root(tree.root(), Profile::read).map(Self::new)
    }
}

impl Profiles {
    /// The profile that is called `name`: of these, else of the built-in ones.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.0.get(name).or_else(|| builtin_profiles().0.get(name))
    }

    /// Every profile that can be named, in the order of the names.
    #[must_use]
    pub fn all(&self) -> BTreeMap<&str, &Entry> {
        let entries = builtin_profiles().0.iter().chain(&self.0);
        entries.map(|(name, entry)| (name.as_str(), entry)).collect()
    }

    /// Whether profile `name` is not one of the built-in ones.
    #[must_use]
    pub fn is_own(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The name that was probably meant by `typed`.
    #[must_use]
    pub fn nearest(&self, typed: &str) -> Option<&str> {
        let names: Vec<&str> = self.all().into_keys().collect();
        nearest(typed, &names)
    }

    /// The name that is most alike to `typed`, however little that is.
    #[must_use]
    pub fn closest(&self, typed: &str) -> Option<&str> {
        if typed.len() > COMPARED {
            return None;
        }
        self.all().into_keys().min_by_key(|name| strsim::osa_distance(typed, name))
    }
}

impl Field for Profiles {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        if !node.value.is_array() {
            return fields.checked(name, node.line, Err(no_list(node.value)));
        }
        let mut entries = BTreeMap::new();
        fields.items(name, node, |fields| {
            let profile = Profile::read(fields)?;
            if entries.contains_key(profile.name.as_str()) {
                fields.fault("name", format!("a second profile {}: the names differ", profile.name));
            }
            entries.insert(profile.name.as_str().to_owned(), Entry::new(profile));
            Some(())
        });
        Some(Self(entries))
    }
}

impl Serialize for Profiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.values().map(|entry| &entry.profile))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Profiles {
    fn schema_name() -> Cow<'static, str> {
        "Profiles".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Profile>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests;
