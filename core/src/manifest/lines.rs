//! Finds the line of a field in the text of its manifest.

mod component;
mod overlay;
mod part;
mod path;
mod template;
#[cfg(test)]
mod tests;
mod trainjob;

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

pub use overlay::{Overlay, OverlayPatch};

use super::Document;
use crate::yaml::{DuplicateKeys, Lines, Node, parse_tree};
use part::Part;
use path::{child, field, follow, follow_all, tokens};
use template::{Template, of_role, templates};

/// Lines of the fields of an object.
#[derive(Clone, Default)]
pub struct DocumentText {
    /// Lines of the document, which its objects share; `None` if there is no text.
    lines: Option<Arc<DocumentLines>>,
    /// Indexes of the entries and items of the document that contain the object.
    path: Vec<usize>,
    /// The object in the text, if it is not that of the [`Document`].
    value: Option<Arc<Value>>,
}

struct DocumentLines {
    /// Line of the source on which the document starts.
    line: u64,
    /// Text of a document in JSON. Its lines are read on the first request.
    text: String,
    /// `None` if the text cannot be parsed.
    lines: OnceLock<Option<Lines>>,
}

/// Field of a pod with its restart policy.
const RESTART_POLICY: &str = "/spec/restartPolicy";
/// Maps in the metadata of a pod.
const MAPS: [&str; 2] = ["/labels", "/annotations"];

impl DocumentText {
    /// Creates the text of a document in JSON that starts on `line` of its source.
    pub(super) fn new(text: String, line: u64) -> Self {
        Self::of_document(DocumentLines { line, text, lines: OnceLock::new() })
    }

    /// Creates the text of a document with these lines that starts on `line` of its source.
    pub(super) fn with_lines(lines: Lines, line: u64) -> Self {
        Self::of_document(DocumentLines { line, text: String::new(), lines: Some(lines).into() })
    }

    /// Returns the text of the object at `path`.
    pub(super) fn of_object(&self, path: Vec<usize>) -> Self {
        Self { path, ..self.clone() }
    }

    /// Returns the line of the source on which the object starts; `None` if it is the document itself, or the lines are not known.
    pub(super) fn object_line(&self) -> Option<u64> {
        let object = self.object(&Value::Null).filter(|_| !self.path.is_empty())?;
        Some(self.line(object))
    }

    /// Sets the object in the text.
    #[must_use]
    pub fn with_value(self, value: Value) -> Self {
        Self { value: Some(Arc::new(value)), ..self }
    }

    fn of_document(document: DocumentLines) -> Self {
        Self { lines: Some(Arc::new(document)), path: Vec::new(), value: None }
    }

    /// Returns the node of the object, which is `value` unless the text has its own.
    fn object<'text>(&'text self, value: &'text Value) -> Option<Node<'text>> {
        let DocumentLines { text, lines, .. } = self.lines.as_deref()?;
        let read = || parse_tree(text, DuplicateKeys::LastWins).ok().map(|tree| tree.into_parts().2);
        Some(lines.get_or_init(read).as_ref()?.node(self.value.as_deref().unwrap_or(value), &self.path))
    }

    /// Parses `text`, which contains one object that starts on `line` of its source; `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str, line: u64) -> Option<Self> {
        let (value, _, lines) = parse_tree(text, DuplicateKeys::LastWins).ok()?.into_parts();
        Some(Self::with_lines(lines, line).with_value(value))
    }

    /// Returns the line of the source on which the value of the field at `path` starts, or of the closest field around it: for a
    /// block scalar, that of its first line. The text must have its own object.
    #[must_use]
    pub fn start_line(&self, path: &str) -> u64 {
        let start = self.own_object().map_or(1, |object| follow(object, path).start);
        self.lines.as_deref().map_or(1, |document| document.line + start.saturating_sub(1))
    }

    /// Returns the node of the text's own object.
    fn own_object(&self) -> Option<Node<'_>> {
        self.object(self.value.as_deref()?)
    }

    /// Returns the line of the source with `node`.
    fn line(&self, node: Node<'_>) -> u64 {
        self.lines.as_deref().map_or(1, |document| document.line + node.line.saturating_sub(1))
    }
}

impl Document {
    /// Returns the line of the source on which the object starts: in a list, that of its item.
    #[must_use]
    pub fn object_line(&self) -> u64 {
        self.text.object_line().unwrap_or(self.line)
    }

    /// Returns the line of the field at `path`, as `kubectl explain` writes it, with or without a dot at the start. If the
    /// manifest does not contain the field, the line is that of the closest field around it.
    #[must_use]
    pub fn path_line(&self, path: &str) -> u64 {
        self.object().map_or(self.line, |object| self.text.line(follow(object, path)))
    }

    /// Returns the line of the field at `pointer`, a JSON pointer, or of the closest field around it.
    #[must_use]
    pub fn pointer_line(&self, pointer: &str) -> u64 {
        let Some(mut node) = self.object() else { return self.line };
        for token in tokens(pointer) {
            let Some(next) = child(node, &token) else { break };
            node = next;
        }
        self.text.line(node)
    }

    /// Returns the line of `pointer`, a field of `pod`, which the object creates for `role`. If the manifest does not contain
    /// the field, the line is that of the closest field around it; `None` if the text of the document is not known.
    #[must_use]
    pub fn pod_field_line(&self, role: &str, pod: &Value, pointer: &str) -> Option<u64> {
        let (object, role) = component::of_role(self.object()?, role);
        if let Some(parts) = trainjob::parts(object, role, pod, pointer, trainjob::newest_change(object)) {
            let closest = parts.iter().map(Part::deepest).min_by_key(|deepest| deepest.missing);
            let closest = closest.filter(|deepest| deepest.missing < tokens(pointer).count());
            return Some(self.text.line(closest.map_or(object, |deepest| deepest.node)));
        }
        let templates = templates(object);
        let template = of_role(&templates, role).or(templates.first());
        let beside = template.and_then(|template| beside(object, template, pointer));
        let part = template.map(|template| Part::new(template.node, pod, tokens(pointer)));
        let deepest = part.as_ref().map(Part::deepest);
        let is_missing = deepest.as_ref().is_none_or(|deepest| deepest.missing > 0);
        let node = beside.or_else(|| copied(object, pod, pointer).filter(|_| is_missing));
        Some(self.text.line(node.or(deepest.map(|deepest| deepest.node)).unwrap_or(object)))
    }

    /// Like [`Self::pod_field_line`], but `None` if the manifest does not contain the field, or contains another value than `pod`.
    /// A mapping or a list of mappings only has to exist, because operators add to it.
    #[must_use]
    pub fn own_pod_field_line(&self, role: &str, pod: &Value, pointer: &str) -> Option<u64> {
        let (object, role) = component::of_role(self.object()?, role);
        let templates = templates(object);
        let template = of_role(&templates, role);
        if let Some(node) = template.and_then(|template| beside(object, template, pointer)) {
            return Some(self.text.line(node));
        }
        let parts = trainjob::parts(object, role, pod, pointer, trainjob::CHANGES).unwrap_or_else(|| {
            template.map(|template| Part::new(template.node, pod, tokens(pointer))).into_iter().collect()
        });
        parts.iter().find_map(|part| part.deepest().own()).map(|node| self.text.line(node))
    }

    /// Returns the object in the text.
    fn object(&self) -> Option<Node<'_>> {
        self.text.object(&self.value)
    }
}

/// The line of each field follows from the other fields of a document.
impl PartialEq for DocumentText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for DocumentText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DocumentText").finish_non_exhaustive()
    }
}

/// Returns the field beside `template` that sets the field of the pod at `pointer`: replica specs of Kubeflow have a restart policy
/// of their own, groups of Ray labels, and cliques of Grove labels and annotations.
fn beside<'tree>(object: Node<'tree>, template: &Template<'_>, pointer: &str) -> Option<Node<'tree>> {
    let owner = template.path.rsplit_once('.')?.0;
    if pointer == RESTART_POLICY {
        return follow_all(object, owner)?.get("restartPolicy");
    }
    let is_map = |entry: &&str| MAPS.iter().any(|map| entry.starts_with(map));
    let entry = pointer.strip_prefix("/metadata").filter(is_map)?;
    let has_own = template.node.get("metadata").is_some_and(|metadata| field(metadata, entry).is_some());
    if has_own { None } else { field(follow_all(object, owner)?, entry) }
}

/// Returns the label or annotation of `object` that its operator copies to the pod.
fn copied<'tree>(object: Node<'tree>, pod: &Value, pointer: &str) -> Option<Node<'tree>> {
    let entry = pointer.strip_prefix("/metadata").filter(|entry| MAPS.iter().any(|map| entry.starts_with(map)))?;
    let node = field(object.get("metadata")?, entry)?;
    (!node.value.is_object() && Some(node.value) == pod.pointer(pointer)).then_some(node)
}
