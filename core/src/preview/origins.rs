//! Manifests that contain the fields of a pod: the document of its workload, and the runtime of a `TrainJob`.

use std::sync::Arc;

use serde_json::Value;

use super::{InvalidField, Preview, namespace_of, placeholders};
use crate::finding::Finding;
use crate::lint::NAMESPACE_FIELD;
use crate::manifest::Document;
use crate::workload::{RenderError, RuntimeReference};

/// Position of an error: that of its field in the document of the workload, in its runtime, or in a kustomization.
#[derive(Clone, Debug)]
pub struct ErrorPosition {
    /// File that contains the field.
    pub source: Arc<str>,
    /// Zero-based index of the document in the file.
    pub document: usize,
    /// Line of the file.
    pub line: u64,
}

/// File of a field, if it is not that of the workload, and its line.
pub type FieldPosition = (Option<String>, Option<u64>);

/// Manifests of a role's pod.
#[derive(Clone, Copy)]
pub(super) struct PodOrigin<'a> {
    pub(super) document: &'a Document,
    /// Runtime of a `TrainJob` in the input.
    pub(super) runtime: Option<&'a Document>,
    pub(super) role: &'a str,
    pub(super) pod: &'a Value,
}

impl Preview {
    /// Returns the position of `error`, which `document` causes.
    #[must_use]
    pub fn error_position(&self, document: &Document, error: &RenderError) -> ErrorPosition {
        let in_runtime = self.runtimes_of(document).find_map(|(reference, runtime)| {
            let path = runtime_path(error)?.strip_prefix(reference.name.as_str())?;
            path.starts_with(['.', '[']).then(|| ErrorPosition::new(runtime, path))
        });
        in_runtime.unwrap_or_else(|| ErrorPosition::new(document, error.path()))
    }

    /// Fails if `document`, or a runtime in the input to which it refers, contains placeholders where a number or a name is
    /// expected.
    pub(super) fn reject_placeholders(&self, document: &Document) -> Result<(), RenderError> {
        let runtimes = self.runtimes_of(document);
        let runtimes = runtimes.map(|(reference, runtime)| (format!("runtime {}", reference.name), &runtime.value));
        placeholders::reject([(String::new(), &document.value)].into_iter().chain(runtimes))
    }

    /// Returns the runtimes of the input to which the `TrainJobs` in `document` refer.
    fn runtimes_of(&self, document: &Document) -> impl Iterator<Item = (RuntimeReference, &Document)> {
        let references = RuntimeReference::all(&document.value, namespace_of(document, &self.namespace));
        references.into_iter().filter_map(|reference| {
            let runtime = self.context.runtimes().by_name.get(&reference)?;
            Some((reference, &**runtime))
        })
    }
}

impl ErrorPosition {
    /// Creates the position of the field at `path` of `document`, which may be in a kustomization.
    fn new(document: &Document, path: &str) -> Self {
        let (source, line) = document.path_position(path);
        // A kustomization is a file with one document.
        let index = if source == document.source { document.document } else { 0 };
        Self { source, document: index, line }
    }
}

impl PodOrigin<'_> {
    /// Sets the positions of findings about the pod. Those about other objects have one.
    pub(super) fn locate(self, findings: &mut [Finding]) {
        for finding in findings {
            if finding.line.is_none() {
                (finding.source, finding.line) = self.position(&finding.subject);
            }
            let is_redundant =
                |source: &mut String| finding.subject != NAMESPACE_FIELD && **source == *self.document.source;
            finding.source.take_if(is_redundant);
        }
    }

    /// Sets the positions of invalid fields of the pod.
    pub(super) fn locate_fields(self, fields: &mut [InvalidField]) {
        for field in fields {
            (field.source, field.line) = self.position(&field.pointer);
        }
    }

    /// Returns the line of `pointer`, a field of the pod, and the file if it is that of the runtime or of a kustomization, which
    /// changes the object. The job takes precedence over the runtime, because its patches and overrides replace fields of it.
    pub(super) fn position(self, pointer: &str) -> FieldPosition {
        let Self { document, runtime, role, pod } = self;
        // With a file, the field is in the Namespace. The template of a pod has no namespace of its own.
        if pointer == NAMESPACE_FIELD {
            return (None, Some(document.pointer_line(pointer)));
        }
        if let Some((source, line)) = document.overlay_position(role, pod, pointer) {
            return (Some(source.to_string()), Some(line));
        }
        let own_line = |document: &Document| document.own_pod_field_line(role, pod, pointer);
        let in_runtime = runtime.filter(|_| own_line(document).is_none());
        match in_runtime.and_then(|runtime| Some((runtime.source.to_string(), own_line(runtime)?))) {
            Some((source, line)) => (Some(source), Some(line)),
            None => (None, document.pod_field_line(role, pod, pointer)),
        }
    }
}

/// Returns the path of `error` in a runtime, which starts with the name of the runtime.
fn runtime_path(error: &RenderError) -> Option<&str> {
    let path = match error {
        RenderError::Missing(path) => path,
        other => other.path(),
    };
    path.split_once("runtime ").map(|(_, path)| path)
}
