//! The configuration: from text to values that hold for sure, with every mistake reported at once.
//!
//! A section is one file here with one declaration: its type, its form in the file and its defaults. Its doc comments,
//! names and defaults make the JSON Schema. A new section adds its file, a `mod` and a `pub use` line and a field of
//! [`Configuration`].
//!
//! Absent on purpose: reading files and watching them. Those who run a process decide where text comes from.

mod choice;
mod document;
mod fabric;
mod fields;
mod helpers;
mod lint;
mod mesh;
mod names;
mod period;
mod problem;
pub mod profile;
mod profiles;
mod scalar;
#[cfg(feature = "schema")]
mod schema;
mod section;
mod selector;
mod termination;
mod update;

use serde_json::json;

pub use fabric::{DefaultProfile, Fabric, PodSecurityDefault};
pub use helpers::{Argv, Helper, HelperMethod, HttpPost};
pub use lint::{CheckId, LintSettings};
pub use mesh::{Mesh, NativeSidecar, Traffic};
pub use names::{ContainerName, LabelSelector};
pub use period::Period;
pub use problem::{Problem, render};
pub use profile::Profile;
pub use profiles::{Entry, Profiles, builtin_profiles, profile_source};
#[cfg(feature = "schema")]
pub use schema::schema;
pub(crate) use termination::LONGEST_SETTLE;
pub use termination::Termination;
pub use update::ConfigUpdate;

pub use document::{API_VERSION, MAX_TEXT};
use document::{Document, KIND};
use scalar::Scalar;
use section::section;

use crate::{hash, yaml};

section! {
    /// A valid configuration. Its default is `config/default.yaml`.
    pub struct Configuration {
        /// Repairs of pods with an Istio sidecar.
        pub mesh: Mesh,
        /// Ending the proxy and other helpers of pods whose payload has ended.
        pub termination: Termination,
        /// Transport of NCCL and RDMA devices.
        pub fabric: Fabric,
    }
}

impl Configuration {
    /// The configuration of a process that was given none: the values of `config/default.yaml`, built into the binary.
    #[must_use]
    pub fn embedded() -> Self {
        Self::default()
    }

    /// Reads the YAML of a configuration, or of the `ConfigMap` that holds it under `config.yaml`; the lines of problems
    /// then count in the file of the `ConfigMap`. Absent and null fields take their default. All problems are returned, in
    /// the order of their lines; only a syntax error or a duplicate key comes alone.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        document::parse(text)
    }

    /// Tells configurations apart: the hash of the JSON form, `apiVersion` and `kind` aside.
    #[must_use]
    pub fn hash(&self) -> String {
        hash::of(&json!(self))
    }

    /// The complete YAML, defaults included, in the order of `config/default.yaml`.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let document = Document { api_version: API_VERSION, kind: KIND, configuration: self };
        yaml::to_string(&json!(document))
    }
}
