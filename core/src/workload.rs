//! Workloads: which pods a manifest makes, and which workload a pod belongs to.
//!
//! One file for each kind of workload, one line in [`KINDS`]. A kind contains how its operator turns a
//! manifest into pods ([`Kind::render`]), how a pod of that operator is recognised by its labels and owner
//! ([`Kind::identify`]), and what its pods have in common as a gang ([`Kind::gang`]). Nothing here reads a cluster, and nothing guesses: what a manifest does not say and the
//! operator does not default is left out and said in a note.

#[cfg(test)]
mod examples;
mod gang;
mod kinds;
mod lookup;
mod member;
mod template;

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

pub use gang::{GangTraits, SizeSource, has_ssh_ranks};
pub use kinds::KINDS;
pub use lookup::{LABELS, find, has_peers, identify, is_auxiliary_role};
pub use member::Member;

use crate::pod::Pod;

/// The name of the role of a workload that has one only.
pub const SOLE_ROLE: &str = "Pod";

/// A kind of workload.
#[derive(Debug)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Versions of the group that this entry reads.
    pub versions: &'static [&'static str],
    /// The kind as manifests write it.
    pub kind: &'static str,
    /// The resource, as paths of the API and RBAC rules name it.
    pub resource: &'static str,
    /// How closely the rendered pods follow the operator's.
    pub fidelity: Fidelity,
    /// Makes the pods of a manifest, one for each role.
    pub render: fn(&Manifest<'_>) -> Result<Vec<Role>, RenderError>,
    /// Recognises a pod that this kind's operator made.
    pub identify: for<'a> fn(Pod<'a>) -> Option<Member<'a>>,
    /// What its pods have in common as a gang.
    pub gang: GangTraits,
}

/// How closely rendered pods follow those of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Equal to what the operator creates.
    Exact,
    /// Holds what the operator is documented to set; it may set more.
    Documented,
}

/// A workload's manifest and what surrounds it in the input.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    /// The whole manifest.
    pub raw: &'a Value,
    /// The namespace it will be created in.
    pub namespace: &'a str,
    /// The runtimes of the same input, for a `TrainJob`.
    pub runtimes: &'a Runtimes,
}

/// `TrainingRuntime` and `ClusterTrainingRuntime` manifests of the input.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    /// By namespace and name; the namespace of a `ClusterTrainingRuntime` is `None`.
    pub by_name: BTreeMap<(Option<String>, String), Value>,
}

/// One role of a workload: the pod that its operator would create for replica 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// The role as the manifest names it: `Master`, `Worker`, `head`; [`SOLE_ROLE`] where a workload has one only.
    pub name: String,
    /// How many pods of this role there are. Where every node gets one (a `DaemonSet`) it is 1.
    pub replicas: u64,
    /// The pod of replica 0, as the apiserver would receive it.
    pub pod: Value,
    /// What a reader must know of this pod, one sentence each.
    pub notes: Vec<String>,
}

/// Why a manifest makes no pods.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RenderError {
    /// A field that the operator needs is absent.
    #[error("{0} is missing")]
    Missing(String),
    /// A field has a value that the operator's API would refuse.
    #[error("{path} is {found}: expected {expected}")]
    Invalid {
        /// Path in the manifest, as `kubectl explain` writes it.
        path: String,
        /// What stands there, shortened.
        found: String,
        /// What the API accepts.
        expected: &'static str,
    },
    /// The kind is known, but not in this version.
    #[error("{found} is not known: write {known}")]
    Version {
        /// `apiVersion` and kind of the manifest.
        found: String,
        /// Those that are known.
        known: String,
    },
    /// The manifest refers to another one that is not in the input.
    #[error("{0}")]
    Unresolved(String),
}

impl Kind {
    /// `apiVersion` and kind, as a manifest writes them.
    #[must_use]
    pub fn name(&self) -> String {
        let versions: Vec<String> = self
            .versions
            .iter()
            .map(|version| format!("{}{}{version}", self.group, if self.group.is_empty() { "" } else { "/" }))
            .collect();
        format!("{} {}", versions.join(" or "), self.kind)
    }
}

/// Every kind is one of [`KINDS`].
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Kind {}
