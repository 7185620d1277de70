//! The manifest of a training job, as far as a check of the job as a whole needs it.

use serde_json::Value;

use super::NamespaceObjects;
use crate::gang::GangWorkload;
use crate::manifest::{Document, ObjectField};
use crate::pod::Pod;
use crate::rule::RuleOutcome;

/// Annotation of an `AppWrapper` with the number of times that its components are created again.
const RETRY_LIMIT: &str = "workload.codeflare.dev.appwrapper/retryLimit";

/// A workload of the input.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadManifest<'a> {
    /// The document with the manifest.
    pub document: &'a Document,
    /// JSON pointer of the manifest in the document; empty unless it is a component of an `AppWrapper`.
    pub pointer: &'a str,
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

impl<'a> WorkloadManifest<'a> {
    /// Returns the complete manifest.
    pub(super) fn value(&self) -> &'a Value {
        self.document.value.pointer(self.pointer).unwrap_or(&Value::Null)
    }

    /// Returns the field at `pointer`, a JSON pointer, of the workload itself.
    pub(super) fn field(&self, pointer: &str) -> ObjectField {
        ObjectField::of(self.document, &format!("{}{pointer}", self.pointer))
    }

    /// Returns true if a controller creates the workload again after its failure: that of an `AppWrapper` does so several times, unless
    /// an annotation prevents it (project-codeflare/appwrapper 1.2.1, `internal/controller/appwrapper/appwrapper_controller.go`).
    pub(super) fn is_recreated(&self) -> bool {
        let annotations = self.document.value.get("metadata").and_then(|metadata| metadata.get("annotations"));
        let limit = annotations.and_then(|annotations| annotations.get(RETRY_LIMIT)?.as_str());
        !self.pointer.is_empty() && limit.is_none_or(|limit| limit != "0")
    }
}
