//! Objects that the input defines more than once: the last one counts, as with `kubectl apply`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use serde_json::Value;

use crate::finding::Severity;
use crate::manifest::{Document, DocumentWarning};

/// Definitions of the objects that decide about the pods of other documents.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    last: BTreeMap<ObjectKey, Definition>,
    /// Warnings about documents that replace an object with different content.
    warnings: BTreeMap<Position, DocumentWarning>,
}

/// Kind, namespace (empty if the kind has none) and name.
type ObjectKey = (String, String, String);
/// Source, document, item of a list.
type Position = (Arc<str>, usize, Option<usize>);

#[derive(Debug)]
struct Definition {
    source: Arc<str>,
    line: u64,
    /// Hash of the content that decides.
    content: u64,
}

/// Maximum number of warnings. More only repeat the same mistake, usually that directories of several clusters are read at once.
const MAX_WARNINGS: usize = 1000;
/// Kinds without a namespace.
const CLUSTER_KINDS: [&str; 3] = ["Namespace", "ClusterTrainingRuntime", "DeviceClass"];

impl Duplicates {
    /// Adds `document`, an object with this kind and name, which replaces an earlier one.
    pub(super) fn add(&mut self, document: &Document, kind: &str, namespace: &str, name: &str) {
        let namespace = if CLUSTER_KINDS.contains(&kind) { "" } else { namespace };
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        let (source, line, content) = (document.source.clone(), document.object_line(), content(kind, &document.value));
        let replaced = self.last.insert(key, Definition { source, line, content });
        let Some(replaced) = replaced.filter(|replaced| replaced.content != content) else { return };
        if self.warnings.len() >= MAX_WARNINGS {
            return;
        }
        let object = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let Definition { source, line, .. } = replaced;
        let message = format!(
            "{kind} {object} replaces the one at {source}:{line}, which has different content: the last one counts for all \
             pods; check the manifests of different clusters separately"
        );
        let warning = DocumentWarning {
            source: document.source.clone(),
            document: document.document,
            line: Some(document.object_line()),
            check: None,
            severity: Severity::Warning,
            hides_pods: false,
            message,
        };
        self.warnings.insert(position(document), warning);
    }

    /// Returns the warning about `document`, if it replaces an object.
    pub(super) fn warning(&self, document: &Document) -> Option<&DocumentWarning> {
        if self.warnings.is_empty() { None } else { self.warnings.get(&position(document)) }
    }
}

fn position(document: &Document) -> Position {
    (document.source.clone(), document.document, document.item)
}

/// Returns the hash of the part of `object` that affects pods.
fn content(kind: &str, object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    let fields: &[&str] = if kind == "Namespace" { &["/metadata/labels"] } else { &["/metadata/labels", "/spec"] };
    for field in fields {
        object.pointer(field).hash(&mut hasher);
    }
    hasher.finish()
}
