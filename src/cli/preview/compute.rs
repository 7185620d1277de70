//! The part of a preview that needs no other document, and therefore runs on any thread.

use std::io;
use std::sync::Arc;

use super::super::input::document_error;
use super::super::output::Format;
use super::Arguments;
use super::fail_on::PodCauses;
use trainmesh_core::manifest::{Document, DocumentError, DocumentWarning};
use trainmesh_core::preview::{DocumentPreview, PodReport, Preview, Summary};
use trainmesh_core::render::JsonResults;

/// Computes the previews of documents.
#[derive(Clone, Copy)]
pub(super) struct Computation<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) preview: &'a Preview,
    /// True if the pods are compared with a cluster.
    pub(super) is_compared: bool,
}

/// A document with its preview.
pub(super) struct PreviewedDocument {
    pub(super) warnings: Vec<DocumentWarning>,
    pub(super) content: Result<Content, DocumentError>,
}

/// Preview of a document.
pub(super) enum Content {
    /// The document is a Namespace; contains warnings about its labels.
    Namespace(Vec<DocumentWarning>),
    /// The document installs manifests that are not in the input; contains its source and line, and a note.
    Unrendered(Arc<str>, u64, String),
    /// The document creates no pods; contains its position and the reason.
    Skipped(String),
    /// The document may create pods that cannot be shown; contains its source, and a message with its position.
    Unsupported(Arc<str>, String),
    /// The document creates pods.
    Workload(Box<Workload>),
}

/// Preview of a workload.
pub(super) struct Workload {
    pub(super) source: Arc<str>,
    pub(super) line: u64,
    pub(super) namespace: String,
    /// Names of the roles.
    pub(super) roles: Vec<String>,
    /// Counts of the selected pods.
    pub(super) summary: Summary,
    pub(super) causes: PodCauses,
    pub(super) warnings: Vec<DocumentWarning>,
    pub(super) notes: Vec<String>,
    /// Results of the selected pods, if the output is JSON and nothing is added to them.
    pub(super) results: Option<io::Result<JsonResults>>,
    /// Reports of the selected pods; empty if they are not needed any more.
    pub(super) reports: Vec<PodReport>,
}

impl Computation<'_> {
    /// Previews `document`.
    pub(super) fn preview(self, mut document: Document) -> PreviewedDocument {
        let mut warnings = self.preview.take_warnings(&mut document);
        let content = self.preview.document(&document).map(|preview| match preview {
            DocumentPreview::Namespace(warnings) => Content::Namespace(warnings),
            DocumentPreview::Unrendered(note) => {
                Content::Unrendered(Arc::clone(&document.source), document.object_line(), note)
            }
            DocumentPreview::Skipped(reason) => Content::Skipped(with_position(&document, &reason)),
            DocumentPreview::Unsupported(what) => {
                Content::Unsupported(Arc::clone(&document.source), with_position(&document, &what))
            }
            DocumentPreview::Pods { reports, notes, warnings } => {
                Content::Workload(Box::new(self.workload(&document, reports, notes, warnings)))
            }
        });
        let content = content.map_err(|error| {
            Preview::remove_repeated(&mut warnings, &error);
            document_error(self.preview, &document, &error)
        });
        PreviewedDocument { warnings, content }
    }

    fn workload(
        self,
        document: &Document,
        mut reports: Vec<PodReport>,
        notes: Vec<String>,
        warnings: Vec<DocumentWarning>,
    ) -> Workload {
        let Self { arguments, is_compared, .. } = self;
        let notes = if arguments.summary {
            arguments.input.notes(&reports)
        } else {
            let overridden = reports.iter().find_map(|report| arguments.input.overridden_fabric(report));
            notes.into_iter().chain(overridden).collect()
        };
        let roles = reports.iter().map(|report| report.role.clone()).collect();
        if let Some(role) = &arguments.role {
            reports.retain(|report| report.role == *role);
        }
        let namespace = reports.first().map(|report| report.namespace.clone()).unwrap_or_default();
        let is_json = !arguments.summary && arguments.output == Format::Json;
        let workload = Workload {
            source: Arc::clone(&document.source),
            line: document.object_line(),
            namespace,
            roles,
            summary: Summary::of(&reports),
            causes: PodCauses::new(&arguments.conditions, &reports),
            warnings,
            notes,
            results: (is_json && !is_compared).then(|| JsonResults::new(&reports)),
            reports: Vec::new(),
        };
        if is_compared || !is_json && !arguments.summary { Workload { reports, ..workload } } else { workload }
    }
}

/// Returns a message with the file and line of `document`.
fn with_position(document: &Document, message: &str) -> String {
    format!("{}:{}: {message}", document.source, document.object_line())
}
