//! Profiles by name. Those of the configuration take precedence over the built-in ones.

mod sources;

#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::json;

pub use sources::{ProfileSource, profile_sources};

use super::fields::{Field, Fields, Section as _, expected_list, read_root};
use super::{Problem, Profile};
use crate::hint::{MAX_COMPARED, nearest, one_of};
use crate::yaml::{DuplicateKeys, Node};
use crate::{hash, keys, yaml};

/// Version of the code that renders profiles into patches. It is part of the revision, because the pods of one job must
/// be rendered in the same way.
const RENDERER_VERSION: u32 = 1;

/// The profiles of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles(BTreeMap<String, ProfileEntry>);

/// A profile and its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileEntry {
    /// The profile.
    pub profile: Profile,
    /// Revision: twelve hexadecimal digits, the value of the annotation `trainmesh.dev/fabric-revision`.
    pub revision: String,
}

static BUILTIN: LazyLock<Profiles> = LazyLock::new(|| {
    let entries = SOURCES.iter().filter_map(|(_, text)| ProfileEntry::parse(text).ok());
    Profiles(entries.map(|entry| (entry.profile.name.as_str().to_owned(), entry)).collect())
});

/// Built-in profiles: names and YAML sources.
const SOURCES: &[(&str, &str)] = &[
    ("aks-nd-gb300", include_str!("../../../config/fabric/aks-nd-gb300.yaml")),
    ("aks-nd-shared", include_str!("../../../config/fabric/aks-nd-shared.yaml")),
    ("aks-nd-sriov", include_str!("../../../config/fabric/aks-nd-sriov.yaml")),
    ("coreweave-ib", include_str!("../../../config/fabric/coreweave-ib.yaml")),
    ("coreweave-ib-nvl72", include_str!("../../../config/fabric/coreweave-ib-nvl72.yaml")),
    ("coreweave-ib-sharp", include_str!("../../../config/fabric/coreweave-ib-sharp.yaml")),
    ("crusoe-ib", include_str!("../../../config/fabric/crusoe-ib.yaml")),
    ("crusoe-ib-b300", include_str!("../../../config/fabric/crusoe-ib-b300.yaml")),
    ("crusoe-ib-gb200", include_str!("../../../config/fabric/crusoe-ib-gb200.yaml")),
    ("eks-efa", include_str!("../../../config/fabric/eks-efa.yaml")),
    ("eks-efa-dra", include_str!("../../../config/fabric/eks-efa-dra.yaml")),
    ("gke-mrdma-dra", include_str!("../../../config/fabric/gke-mrdma-dra.yaml")),
    ("gke-mrdma-dra-a4x-max", include_str!("../../../config/fabric/gke-mrdma-dra-a4x-max.yaml")),
    ("gke-rdma-gib-a3u", include_str!("../../../config/fabric/gke-rdma-gib-a3u.yaml")),
    ("gke-rdma-gib-a4", include_str!("../../../config/fabric/gke-rdma-gib-a4.yaml")),
    ("gke-rdma-gib-a4x", include_str!("../../../config/fabric/gke-rdma-gib-a4x.yaml")),
    ("ib-shared", include_str!("../../../config/fabric/ib-shared.yaml")),
    ("ib-sriov", include_str!("../../../config/fabric/ib-sriov.yaml")),
    ("oke-roce-vf", include_str!("../../../config/fabric/oke-roce-vf.yaml")),
    ("oke-roce-vf-h100", include_str!("../../../config/fabric/oke-roce-vf-h100.yaml")),
    ("oke-roce-vf-mi300x", include_str!("../../../config/fabric/oke-roce-vf-mi300x.yaml")),
    ("oke-roce-vf-mi355x", include_str!("../../../config/fabric/oke-roce-vf-mi355x.yaml")),
    ("roce-shared-macvlan", include_str!("../../../config/fabric/roce-shared-macvlan.yaml")),
    ("roce-sriov", include_str!("../../../config/fabric/roce-sriov.yaml")),
    ("tcp", include_str!("../../../config/fabric/tcp.yaml")),
];

/// Profiles in `examples/fabric` whose `match` lists machines: the name of the file, and the machines. A test compares them.
pub const EXAMPLES_FOR_MACHINES: [(&str, &[&str]); 6] = [
    ("coreweave-roce-gb300", &["gb300-4x*"]),
    ("gke-tcpxo", &["a3-megagpu-8g", "nvidia-h100-mega-80gb"]),
    ("oke-hostnet-gb200", &["BM.GPU.GB200.4", "BM.GPU.GB200-v2.4", "BM.GPU.GB200-v3.4"]),
    ("oke-hostnet-gb300", &["BM.GPU.GB300.4"]),
    ("oke-hostnet-mi355x", &["BM.GPU.MI355X.8"]),
    ("oke-roce-hostnet", &["BM.GPU.H100.8"]),
];

/// Returns the name of the example for `machine`, if there is one.
pub(crate) fn example_for_machine(machine: &str) -> Option<&'static str> {
    let is_listed = |patterns: &[&str]| {
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => machine.starts_with(prefix),
            None => machine == *pattern,
        })
    };
    EXAMPLES_FOR_MACHINES.into_iter().find(|(_, patterns)| is_listed(patterns)).map(|(name, _)| name)
}

/// Returns the built-in profiles.
#[must_use]
pub fn builtin_profiles() -> &'static Profiles {
    &BUILTIN
}

/// Returns the YAML source of the built-in profile `name`, including comments.
#[must_use]
pub fn profile_source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(found, _)| *found == name).map(|(_, text)| *text)
}

impl ProfileEntry {
    fn new(profile: Profile) -> Self {
        let revision = hash::of(&json!({"renderer": RENDERER_VERSION, "profile": profile}));
        Self { profile, revision }
    }

    /// Parses a profile in YAML or JSON.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let tree = yaml::parse_tree(text, DuplicateKeys::Reject).map_err(|error| vec![error.into()])?;
        read_root(tree.root(), Profile::read).map(Self::new)
    }
}

impl Profiles {
    /// Returns the profile `name` of the configuration, or else the built-in one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ProfileEntry> {
        self.0.get(name).or_else(|| builtin_profiles().0.get(name))
    }

    /// Returns the names of the profiles that replace a built-in one.
    pub fn replaced(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|name| builtin_profiles().0.contains_key(*name))
    }

    /// Returns all profiles, including the built-in ones, sorted by name.
    #[must_use]
    pub fn all(&self) -> BTreeMap<&str, &ProfileEntry> {
        let entries = builtin_profiles().0.iter().chain(&self.0);
        entries.map(|(name, entry)| (name.as_str(), entry)).collect()
    }

    /// Returns true if the configuration contains profile `name`.
    #[must_use]
    pub fn is_custom(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns what to do about `name`, which no profile has.
    #[must_use]
    pub fn advice(&self, name: &str) -> String {
        // As a template renders a value that is not set.
        if name.is_empty() {
            return format!("remove the label, or use {}", keys::NO_FABRIC);
        }
        if profile_sources().any(|source| source.profile == name) {
            return format!("it is an example: add the profile of examples/fabric/{name}.yaml to the configuration");
        }
        match self.value_suggestion(name) {
            Some(near) => format!("did you mean {near}?"),
            None => "trainmesh fabric list shows all, with --config also yours".to_owned(),
        }
    }

    /// Like [`Self::suggestion`], for a value that selects a profile, or none.
    #[must_use]
    pub fn value_suggestion(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self.all().into_keys().chain([keys::NO_FABRIC]).collect();
        nearest(name, &values).map(str::to_owned).or_else(|| self.suggestion(name))
    }

    /// Returns the profile name that is similar to `name`, or else those that contain all its words, if any: `a, b or 3
    /// more`.
    #[must_use]
    pub fn suggestion(&self, name: &str) -> Option<String> {
        let names: Vec<&str> = self.all().into_keys().collect();
        if let Some(near) = nearest(name, &names) {
            return Some(near.to_owned());
        }
        if name.len() > MAX_COMPARED {
            return None;
        }
        let lowercase = name.to_lowercase();
        let words: Vec<&str> =
            lowercase.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let contains_all = |known: &&str| words.iter().all(|word| known.split('-').any(|part| part == *word));
        let found: Vec<&str> = names.into_iter().filter(contains_all).collect();
        match found.as_slice() {
            _ if words.is_empty() => None,
            [] => None,
            [first, second, others @ ..] if others.len() > 1 => {
                Some(format!("{first}, {second} or {} more", others.len()))
            }
            several => Some(one_of(several)),
        }
    }
}

impl Field for Profiles {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        if !node.value.is_array() {
            return fields.record_error(name, node.line, Err(expected_list(node.value)));
        }
        let mut entries = BTreeMap::new();
        let mut names = BTreeSet::new();
        fields.items(name, node, |fields| {
            let written = fields.text("name").map(str::to_owned);
            if let Some(name) = written.filter(|name| !names.insert(name.clone())) {
                fields.report_problem("name", format!("duplicate entry for {name}: expected unique names"));
            }
            let profile = Profile::read(fields)?;
            entries.insert(profile.name.as_str().to_owned(), ProfileEntry::new(profile));
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
