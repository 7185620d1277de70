//! Finds the line of a field in the text of its manifest.

mod component;
mod overlay;
mod part;
#[cfg(test)]
mod tests;
mod trainjob;

use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

pub use overlay::{Overlay, OverlayPatch};

use super::Document;
use crate::yaml::{DuplicateKeys, Lines, Node, parse_tree};
use part::Part;

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

/// Key of the template of a volume, which also has a `spec`.
const VOLUME_CLAIM: &str = "volumeClaimTemplate";

/// A pod template of a document.
struct Template<'tree> {
    node: Node<'tree>,
    /// Path in the object, as `kubectl explain` writes it.
    path: String,
    /// Names that may be that of its role, from the outermost.
    names: Vec<RoleName<'tree>>,
}

/// A name of a mapping that contains a pod template.
#[derive(Clone, Copy)]
enum RoleName<'tree> {
    /// Value of its field with its name, such as `train`.
    Value(&'tree str),
    /// Key of the mapping, such as `Worker` or `headGroupSpec`.
    Key(&'tree str),
}

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
        if let Some(parts) = trainjob::parts(object, role, pod, pointer) {
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
        let parts = trainjob::parts(object, role, pod, pointer).unwrap_or_else(|| {
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

/// Follows `path` from `node` as far as the manifest contains it.
fn follow<'tree>(mut node: Node<'tree>, path: &str) -> Node<'tree> {
    let mut rest = path;
    while let Some((next, after)) = step(node, rest.strip_prefix('.').unwrap_or(rest)) {
        (node, rest) = (next, after);
    }
    node
}

/// Follows `path` from `node`; `None` if the manifest does not contain all of it.
fn follow_all<'tree>(mut node: Node<'tree>, path: &str) -> Option<Node<'tree>> {
    let mut rest = path;
    while !rest.is_empty() {
        (node, rest) = step(node, rest.strip_prefix('.').unwrap_or(rest))?;
    }
    Some(node)
}

/// Returns the field or item of `node` at the start of `path`, and the rest of the path. A key may contain dots, so the longest one
/// is taken.
fn step<'tree, 'path>(node: Node<'tree>, path: &'path str) -> Option<(Node<'tree>, &'path str)> {
    if let Some((inner, after)) = path.strip_prefix('[').and_then(|bracket| bracket.split_once(']')) {
        let index = inner.parse::<usize>().ok().filter(|_| node.value.is_array());
        let next = index.map_or_else(|| node.get(inner), |index| node.item(index));
        return next.map(|next| (next, after));
    }
    let matching = node.entries().filter_map(|(key, entry)| {
        let after = path.strip_prefix(key)?;
        (after.is_empty() || after.starts_with(['.', '['])).then_some((key.len(), entry, after))
    });
    matching.max_by_key(|(length, ..)| *length).map(|(_, entry, after)| (entry, after))
}

/// Returns the field or item of `node` that `token` of a JSON pointer names.
fn child<'tree>(node: Node<'tree>, token: &str) -> Option<Node<'tree>> {
    let index = token.parse::<usize>().ok().filter(|_| node.value.is_array());
    index.map_or_else(|| node.get(token), |index| node.item(index))
}

/// Returns the tokens of a JSON pointer.
fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// Returns the pod templates in `object`.
fn templates(object: Node<'_>) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    collect(object, &mut String::new(), &mut Vec::new(), &mut found);
    found
}

/// Returns the template of `role`: the path of the template, or a name around it. Names of other roles may start with `role`,
/// and a role may have the name of a field, so that the most specific kind of name is taken.
fn of_role<'found, 'tree>(templates: &'found [Template<'tree>], role: &str) -> Option<&'found Template<'tree>> {
    let by_name = |is_role: fn(RoleName<'_>, &str) -> bool| {
        templates.iter().find(|template| template.names.iter().any(|name| is_role(*name, role)))
    };
    let by_path = templates.iter().find(|template| template.path == role);
    by_path
        .or_else(|| by_name(|name, role| matches!(name, RoleName::Value(name) if name.eq_ignore_ascii_case(role))))
        .or_else(|| by_name(|name, role| matches!(name, RoleName::Key(name) if name.eq_ignore_ascii_case(role))))
        .or_else(|| by_name(|name, role| matches!(name, RoleName::Key(name) if is_key_of_role(name, role))))
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

/// Returns the field of `node` at `pointer`.
fn field<'tree>(node: Node<'tree>, pointer: &str) -> Option<Node<'tree>> {
    tokens(pointer).try_fold(node, |node, token| child(node, &token))
}

/// Adds the pod templates in `node`, which is at `path`, to `found`.
fn collect<'tree>(
    node: Node<'tree>,
    path: &mut String,
    names: &mut Vec<RoleName<'tree>>,
    found: &mut Vec<Template<'tree>>,
) {
    let template =
        |names: &[RoleName<'tree>], path: &str| Template { node, path: path.to_owned(), names: names.to_vec() };
    if pod_spec(node).is_some_and(|spec| spec.get("containers").is_some()) {
        return found.push(template(names, path));
    }
    let (depth, length, before) = (names.len(), path.len(), found.len());
    names
        .extend(["name", "groupName"].into_iter().filter_map(|key| node.get(key)?.value.as_str()).map(RoleName::Value));
    for (key, entry) in node.entries() {
        names.push(RoleName::Key(key));
        path.push_str(if length > 0 { "." } else { "" });
        path.push_str(key);
        collect(entry, path, names, found);
        path.truncate(length);
        names.pop();
    }
    for (index, item) in node.items().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(path, "[{index}]");
        collect(item, path, names, found);
        path.truncate(length);
    }
    names.truncate(depth);
    // The name of the field with the containers may be misspelled.
    if found.len() == before && is_template_without_containers(node, names.last()) {
        found.push(template(names, path));
    }
}

/// Returns true if `node`, which contains no template, is one itself: a pod, or the value of a key such as `template`.
fn is_template_without_containers(node: Node<'_>, name: Option<&RoleName<'_>>) -> bool {
    let is_named = match name {
        Some(RoleName::Key(key)) => *key != VOLUME_CLAIM && (*key == "template" || key.ends_with("Template")),
        Some(RoleName::Value(_)) | None => node.get("kind").is_some_and(|kind| kind.value == "Pod"),
    };
    is_named && node.get("spec").is_some_and(|spec| spec.value.is_object())
}

/// Returns the spec of the pod in `node`, a template; cliques of Grove contain it as `podSpec`.
fn pod_spec(node: Node<'_>) -> Option<Node<'_>> {
    node.get("podSpec").or_else(|| node.get("spec"))
}

/// Returns true if `key` is one such as `headGroupSpec` or `leaderTemplate`, which starts with the word `role`.
fn is_key_of_role(key: &str, role: &str) -> bool {
    let parts = key.split_at_checked(role.len());
    parts.is_some_and(|(start, rest)| {
        start.eq_ignore_ascii_case(role) && rest.starts_with(|next: char| next.is_ascii_uppercase())
    })
}
