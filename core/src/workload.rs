//! Workload kinds: renders the pods that an operator would create from a manifest, and identifies the workload of a
//! pod.
//!
//! Each kind has one file and one line in [`KINDS`]. A [`WorkloadKind`] renders the pods that its operator creates from
//! a manifest ([`WorkloadKind::render`]), and identifies a pod by its labels and owner ([`WorkloadKind::identify`]). It
//! also contains the gang properties of the pods ([`WorkloadKind::gang`]). This module never reads a cluster and never
//! guesses. A value that neither the manifest nor the operator's defaults provide is omitted and reported in a note.

mod created;
#[cfg(test)]
mod examples;
mod gang;
pub(crate) mod generic;
mod group_minimum;
mod identity;
mod kinds;
mod lookup;
mod member_ports;
mod queue;
mod ranks;
mod read_kinds;
mod runtimes;
mod similar_kind;
mod template;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

pub use created::{created_objects, created_workload, has_final_phase};
pub use gang::{
    GangRole, GangShape, GangTemplate, GangTraits, MemberPort, PLACEMENT_FIELDS, PodCreation, ReadShape, SizeSource,
    has_ssh_ranks, placement,
};
pub(crate) use group_minimum::validate_group;
pub use identity::PodIdentity;
pub(crate) use kinds::jobset::set_job_set;
pub(crate) use kinds::trainjob::dropped_fields;
pub use kinds::{KINDS, find, find_other_version, kind_qualifier, kinds_named};
pub use lookup::{
    IDENTITY_LABELS, has_peers, has_training_peers, identify, is_auxiliary_role, is_serving_group, shows_peers,
};
pub use member_ports::member_ports;
pub use queue::{is_outside_kueue, kueue_queue};
pub use ranks::shows_ranks;
pub use runtimes::{AssumedRuntime, RuntimeReference, Runtimes, StockRuntimes, TrainerVersion};
pub(crate) use runtimes::{CLUSTER_RUNTIME, NAMESPACED_RUNTIME, TRAINER_GROUP};
pub(crate) use similar_kind::{is_group_of_kubernetes, misnamed};

use crate::hint::unquoting;
use crate::manifest::{Document, placeholder_advice};
use crate::pod::Pod;

/// Name of the role in a workload that has only one.
pub const SOLE_ROLE: &str = "Pod";

/// A kind of workload.
#[derive(Debug)]
pub struct WorkloadKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Supported versions of the group.
    pub versions: &'static [&'static str],
    /// Kind, as in a manifest.
    pub kind: &'static str,
    /// Plural resource name, as in API paths and RBAC rules.
    pub resource: &'static str,
    /// Accuracy of the rendered pods.
    pub fidelity: Fidelity,
    /// Renders the pods of a manifest, one for each role.
    pub render: fn(&Manifest<'_>) -> Result<Vec<RolePod>, RenderError>,
    /// Identifies a pod that was created by this kind's operator.
    pub identify: for<'a> fn(Pod<'a>) -> Option<PodIdentity<'a>>,
    /// Labels that `identify` and the functions of `gang` read. Of the labels of a pod, the controller decodes only these.
    pub labels: &'static [&'static str],
    /// Gang properties of its pods.
    pub gang: GangTraits,
}

/// Accuracy of rendered pods compared with those that the operator creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Identical to the operator's pods.
    Exact,
    /// Contains the fields that the operator is documented to set; the operator may set more.
    Documented,
}

/// A workload's manifest and its context in the input.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    /// Complete manifest.
    pub raw: &'a Value,
    /// Namespace in which the workload is created.
    pub namespace: &'a str,
    /// Training runtimes, for a `TrainJob`.
    pub runtimes: &'a Runtimes,
}

/// A role of a workload, with the pod that its operator would create for replica 0.
#[derive(Clone, Debug, PartialEq)]
pub struct RolePod {
    /// Role name from the manifest, such as `Master`, `Worker` or `head`. It is [`SOLE_ROLE`] if the workload has only
    /// one role, and the path of the pod template if the kind is not supported.
    pub name: String,
    /// Number of pods of this role; 1 for a `DaemonSet`, which runs one pod per node. `None` if unknown.
    pub replicas: Option<u64>,
    /// True if the kind is not supported: the pod is that of its template, without the changes of its operator.
    pub generic: bool,
    /// Stock runtime that is assumed, because the input does not contain the runtime of the `TrainJob`.
    pub assumed_runtime: Option<AssumedRuntime>,
    /// Runtime of a `TrainJob` that is in the input.
    pub runtime: Option<Arc<Document>>,
    /// Pod of replica 0, as submitted to the apiserver.
    pub pod: Value,
    /// Notes about this pod for the user, one lowercase clause each.
    pub notes: Vec<String>,
    /// Names of the roles that complete before the pods of this role are created.
    pub follows: Vec<String>,
    /// Component of an `AppWrapper` that creates the pods.
    pub component: Option<RoleComponent>,
}

/// Component of an `AppWrapper` that creates the pods of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleComponent {
    /// Zero-based index of the component.
    pub index: usize,
    /// Name of the role in the component.
    pub role: String,
}

/// Reason why the pods of a manifest cannot be rendered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RenderError {
    /// A field that the operator requires is absent.
    #[error("{0} is missing")]
    Missing(String),
    /// A field that the operator requires is absent, and another one probably stands for it, or can.
    #[error("{missing} is missing: {problem}")]
    Misspelled {
        /// Path of the other field in the manifest, as `kubectl explain` writes it.
        path: String,
        /// The required field; may be a description that ends with its path.
        missing: String,
        /// Problem of the other field.
        problem: String,
    },
    /// A field has a value that the operator's API rejects.
    #[error("{path} is {found}: expected {expected}{}", unquoting(found, expected))]
    Invalid {
        /// Path in the manifest, as `kubectl explain` writes it.
        path: String,
        /// Value found, truncated.
        found: String,
        /// Values that the API accepts.
        expected: Cow<'static, str>,
    },
    /// The kind is supported, but not in this version.
    #[error("{found} is not supported: use {supported}")]
    Version {
        /// Path of the `apiVersion` in the manifest.
        path: String,
        /// `apiVersion` and kind of the manifest.
        found: String,
        /// Supported ones.
        supported: String,
    },
    /// The API group has no such kind, but one with a similar name, or a similar group has it.
    #[error("{found} does not exist: did you mean {near}?")]
    Kind {
        /// Path of the misspelled field in the manifest: the kind, or the `apiVersion` with the group.
        path: String,
        /// `apiVersion` and kind of the manifest.
        found: String,
        /// Name of the similar kind.
        near: String,
    },
    /// The manifest is a template that a script fills in: a field contains a shell placeholder.
    #[error("{path} contains the shell placeholder {placeholder}: {}", placeholder_advice(names.iter().map(String::as_str)))]
    Placeholder {
        /// Path in the manifest, as `kubectl explain` writes it.
        path: String,
        /// Placeholder, as in the manifest.
        placeholder: String,
        /// Names of all placeholders of the manifest.
        names: Vec<String>,
    },
    /// The manifest is a template of a shell: a field contains a placeholder with an operator.
    #[error("{path} contains {placeholder}: a placeholder with a default is not supported: render the manifest first")]
    PlaceholderWithDefault {
        /// Path in the manifest, as `kubectl explain` writes it.
        path: String,
        /// Placeholder, as in the manifest.
        placeholder: String,
    },
    /// The manifest refers to another manifest that is not in the input.
    #[error("{message}")]
    Unresolved {
        /// Path of the reference in the manifest, as `kubectl explain` writes it.
        path: String,
        /// The missing object, and how to provide it.
        message: String,
    },
}

/// Maximum number of characters of an invalid value that an error quotes: enough to recognize it on a single line.
const MAX_QUOTED_CHARS: usize = 60;

impl RenderError {
    /// Returns the error for a value other than `expected` in the field at `path`.
    pub(crate) fn invalid(path: &str, value: Option<&Value>, expected: impl Into<Cow<'static, str>>) -> Self {
        let text = value.map_or_else(|| "absent".to_owned(), Value::to_string);
        let found = match text.char_indices().nth(MAX_QUOTED_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        Self::Invalid { path: path.to_owned(), found, expected: expected.into() }
    }

    /// Returns the error with its path below `path`, that of an object in the manifest.
    #[must_use]
    pub(crate) fn below(mut self, path: &str) -> Self {
        if let Self::Misspelled { missing, .. } = &mut self {
            insert_path(missing, path);
        }
        match &mut self {
            Self::Missing(field)
            | Self::Misspelled { path: field, .. }
            | Self::Invalid { path: field, .. }
            | Self::Version { path: field, .. }
            | Self::Kind { path: field, .. }
            | Self::Placeholder { path: field, .. }
            | Self::PlaceholderWithDefault { path: field, .. }
            | Self::Unresolved { path: field, .. } => insert_path(field, path),
        }
        self
    }

    /// Returns the path of the field in the manifest, as `kubectl explain` writes it.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            // It may be a description that ends with the path: `a container named a in spec.template`.
            Self::Missing(path) => path.rsplit_once(' ').map_or(path, |(_, path)| path),
            Self::Misspelled { path, .. }
            | Self::Invalid { path, .. }
            | Self::Placeholder { path, .. }
            | Self::PlaceholderWithDefault { path, .. }
            | Self::Unresolved { path, .. }
            | Self::Version { path, .. }
            | Self::Kind { path, .. } => path,
        }
    }
}

/// Inserts `path` before that of `field`, which may be a description that ends with it.
fn insert_path(field: &mut String, path: &str) {
    let start = field.rfind(' ').map_or(0, |blank| blank + 1);
    field.insert_str(start, &format!("{path}."));
}

impl WorkloadKind {
    /// Returns the supported `apiVersion`s and the kind, as in a manifest.
    #[must_use]
    pub fn name(&self) -> String {
        type_name(self.group, self.versions, self.kind)
    }
}

/// Returns the `apiVersion`s of `group` and the kind, as in a manifest.
fn type_name(group: &str, versions: &[&str], kind: &str) -> String {
    let slash = if group.is_empty() { "" } else { "/" };
    let versions: Vec<String> = versions.iter().map(|version| format!("{group}{slash}{version}")).collect();
    format!("{} {kind}", versions.join(" or "))
}

/// Compares by identity, because every kind is an entry of [`KINDS`].
impl PartialEq for WorkloadKind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for WorkloadKind {}
