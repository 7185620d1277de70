//! The workload that a user selects: `KIND/NAME`, or the name of a pod.

use thiserror::Error;

use super::job::Job;
use crate::workload::KINDS;

/// A workload or pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Kind of a workload; `None` for a pod.
    kind: Option<String>,
    /// Name of the workload or pod.
    pub name: String,
}

/// The workloads to diagnose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Workload or pod; `None` for all.
    pub target: Option<Target>,
    /// Namespace; `None` for all.
    pub namespace: Option<String>,
}

/// Error of an argument that is neither.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// The text is not `KIND/NAME` or `POD`.
    #[error("expected KIND/NAME, KIND NAME or the name of a pod, found {0:?}")]
    Malformed(String),
    /// The kind is not supported.
    #[error("unknown kind {0:?}: use pod, or one of {1}")]
    UnknownKind(String, String),
}

impl Target {
    /// Parses `KIND/NAME` or the name of a pod. The kind may be in the plural and in any case, and have an API group.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (Some(kind.to_ascii_lowercase()), name),
            None => (None, text),
        };
        let is_malformed = name.is_empty() || name.contains('/') || kind.as_deref() == Some("");
        if is_malformed || name.len() > 253 {
            return Err(TargetError::Malformed(text.chars().take(300).collect()));
        }
        let kind = match kind.as_deref().map(|kind| kind.split_once('.').map_or(kind, |(kind, _)| kind)) {
            None | Some("pod" | "pods" | "po") => None,
            Some(kind) => {
                let known = KINDS.iter().find(|known| known.kind.eq_ignore_ascii_case(kind) || known.resource == kind);
                let names = || KINDS.iter().map(|kind| kind.kind.to_ascii_lowercase()).collect::<Vec<_>>().join(", ");
                let unknown = || TargetError::UnknownKind(kind.to_owned(), names());
                Some(known.ok_or_else(unknown)?.kind.to_owned())
            }
        };
        Ok(Self { kind, name: name.to_owned() })
    }
}

impl Selection {
    /// Returns true if `job` is the workload or contains the pod.
    pub(super) fn selects(&self, job: &Job<'_>) -> bool {
        let is_target = |Target { kind, name }: &Target| match kind {
            Some(kind) => job.kind == kind && job.name == name,
            None => job.pods.iter().any(|pod| *pod.name == **name),
        };
        self.selects_namespace(job.namespace) && self.target.as_ref().is_none_or(is_target)
    }

    pub(super) fn selects_namespace(&self, namespace: &str) -> bool {
        self.namespace.as_deref().is_none_or(|selected| selected == namespace)
    }
}
