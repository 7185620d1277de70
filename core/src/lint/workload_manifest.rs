//! The manifest of a training job, as far as a check of the job as a whole needs it.

use super::NamespaceObjects;
use crate::gang::GangWorkload;
use crate::manifest::{Document, ObjectField};
use crate::pod::Pod;
use crate::rule::RuleOutcome;

/// A workload of the input.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadManifest<'a> {
    /// The complete manifest.
    pub document: &'a Document,
    /// Namespace of the workload.
    pub namespace: &'a str,
    /// Its roles.
    pub roles: &'a [RolePods<'a>],
    /// Its gangs, if it has any and their sizes are known.
    pub gang: Option<&'a GangWorkload>,
    /// Other objects of the namespace in the input.
    pub objects: &'a NamespaceObjects,
}

/// The pods of a role.
#[derive(Clone, Copy, Debug)]
pub struct RolePods<'a> {
    /// Name of the role.
    pub name: &'a str,
    /// Number of pods, if it is known.
    pub replicas: Option<u64>,
    /// Pod of replica 0 as its operator creates it.
    pub original: Pod<'a>,
    /// The same pod after the patch.
    pub patched: Pod<'a>,
    /// Decisions of the rules about the pod.
    pub rules: &'a [RuleOutcome],
}

impl WorkloadManifest<'_> {
    /// Returns the field at `pointer`, a JSON pointer, of the workload itself.
    pub(super) fn field(&self, pointer: &str) -> ObjectField {
        ObjectField::of(self.document, pointer)
    }
}
