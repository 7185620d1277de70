//! Finds the pod templates in a manifest, and the one of a role.

use std::fmt::Write as _;

use crate::yaml::Node;

/// Key of the template of a volume, which also has a `spec`.
const VOLUME_CLAIM: &str = "volumeClaimTemplate";

/// A pod template of a document.
pub(super) struct Template<'tree> {
    pub(super) node: Node<'tree>,
    /// Path in the object, as `kubectl explain` writes it.
    pub(super) path: String,
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

/// Returns the pod templates in `object`.
pub(super) fn templates(object: Node<'_>) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    collect(object, &mut String::new(), &mut Vec::new(), &mut found);
    found
}

/// Returns the template of `role`: the path of the template, or a name around it. Names of other roles may start with `role`,
/// and a role may have the name of a field, so that the most specific kind of name is taken.
pub(super) fn of_role<'found, 'tree>(
    templates: &'found [Template<'tree>],
    role: &str,
) -> Option<&'found Template<'tree>> {
    let by_name = |is_role: fn(RoleName<'_>, &str) -> bool| {
        templates.iter().find(|template| template.names.iter().any(|name| is_role(*name, role)))
    };
    let by_path = templates.iter().find(|template| template.path == role);
    by_path
        .or_else(|| by_name(|name, role| matches!(name, RoleName::Value(name) if name.eq_ignore_ascii_case(role))))
        .or_else(|| by_name(|name, role| matches!(name, RoleName::Key(name) if name.eq_ignore_ascii_case(role))))
        .or_else(|| by_name(|name, role| matches!(name, RoleName::Key(name) if is_key_of_role(name, role))))
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

/// Returns true if `node`, which contains no template, is one itself: a pod, whose spec may have a wrong type, or be absent if the pod is
/// the object, or the value of a key such as `template`.
fn is_template_without_containers(node: Node<'_>, name: Option<&RoleName<'_>>) -> bool {
    let (spec, is_pod) = (node.get("spec"), node.get("kind").is_some_and(|kind| kind.value == "Pod"));
    match name {
        Some(RoleName::Key(key)) => {
            let is_named = *key != VOLUME_CLAIM && (*key == "template" || key.ends_with("Template"));
            is_named && spec.is_some_and(|spec| spec.value.is_object())
        }
        Some(RoleName::Value(_)) => is_pod && spec.is_some(),
        None => is_pod,
    }
}

/// Returns the spec of the pod in `node`, a template; cliques of Grove contain it as `podSpec`.
pub(super) fn pod_spec(node: Node<'_>) -> Option<Node<'_>> {
    node.get("podSpec").or_else(|| node.get("spec"))
}

/// Returns true if `key` is one such as `headGroupSpec` or `leaderTemplate`, which starts with the word `role`.
fn is_key_of_role(key: &str, role: &str) -> bool {
    let parts = key.split_at_checked(role.len());
    parts.is_some_and(|(start, rest)| {
        start.eq_ignore_ascii_case(role) && rest.starts_with(|next: char| next.is_ascii_uppercase())
    })
}
