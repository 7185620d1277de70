//! Configuration: parses and validates the text form, and reports all problems at once.
//!
//! Each section has a file with one declaration of its fields, defaults and validation. The JSON Schema is generated
//! from the declarations and their doc comments. To add a section, add its file, the `mod` and `pub use` lines, and a
//! field of [`Configuration`].
//!
//! Reading and watching files is left to the binary.

mod choice;
mod cidr;
mod document;
mod duration;
mod fabric;
mod fields;
mod gang;
mod lint;
mod mesh;
mod names;
mod problem;
pub mod profile;
mod profiles;
mod release;
mod required_values;
mod scalar;
#[cfg(feature = "schema")]
mod schema;
mod section;
mod selector;
mod several_documents;
mod sidecars;
mod termination;
mod tree;
mod update;
mod values;
mod webhook_values;
mod written_profile;

use serde_json::json;

pub use duration::ConfigDuration;
pub use fabric::{DefaultProfile, Fabric, PodSecurityDefault};
pub use gang::{Gang, GangMode};
pub use lint::{CheckId, LintSettings};
pub use mesh::{Mesh, NativeSidecar, Traffic};
pub use names::{ContainerName, LabelSelector};
pub use problem::{Problem, render};
pub use profile::Profile;
pub(crate) use profiles::example_for_machine;
pub use profiles::{
    EXAMPLES_FOR_MACHINES, ProfileEntry, ProfileSource, Profiles, builtin_profiles, profile_source, profile_sources,
};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use sidecars::{Argv, HttpPost, SidecarEntry, SidecarMethod};
pub(crate) use termination::MAX_SETTLE;
pub use termination::Termination;
pub use update::ConfigUpdate;

pub use document::{API_VERSION, KIND};
pub use tree::MAX_TEXT;
pub use values::{HELM_VALUES, LostProfiles, ValuesFacts, contains_values, parse_values};
pub use written_profile::written_profile;

use document::Document;
use scalar::Scalar;
use section::section;

use crate::{hash, yaml};

section! {
    /// A valid configuration. The default is `config/default.yaml`.
    pub struct Configuration {
        /// Rules for pods with an Istio sidecar.
        pub mesh: Mesh,
        /// Termination of the proxy and other sidecar containers when the main containers have completed.
        pub termination: Termination,
        /// NCCL transport and RDMA devices.
        pub fabric: Fabric,
        /// Scheduling of all pods of a job together.
        pub gang: Gang,
    }
}

impl Configuration {
    /// Returns the embedded configuration: the values of `config/default.yaml`.
    #[must_use]
    pub fn embedded() -> Self {
        Self::default()
    }

    /// Parses the YAML of a configuration, the manifest of a `ConfigMap` with the key `config.yaml`, or Helm values with
    /// the section `config`. Problems refer to lines of `text`. Absent and null fields have their default values.
    ///
    /// # Errors
    /// Returns all problems, sorted by line. A syntax error is returned alone, as are duplicate keys.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        document::parse(text)
    }

    /// Returns the hash of the JSON form without `apiVersion` and `kind`.
    #[must_use]
    pub fn hash(&self) -> String {
        hash::of(&json!(self))
    }

    /// Returns the complete YAML including defaults, in the order of `config/default.yaml`.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let document = Document { api_version: API_VERSION, kind: KIND, configuration: self };
        yaml::to_string(&json!(document))
    }
}
