//! Paths and pointers in the tree of a manifest.

use crate::yaml::Node;

/// Follows `path` from `node` as far as the manifest contains it.
pub(super) fn follow<'tree>(mut node: Node<'tree>, path: &str) -> Node<'tree> {
    let mut rest = path;
    while let Some((next, after)) = step(node, rest.strip_prefix('.').unwrap_or(rest)) {
        (node, rest) = (next, after);
    }
    node
}

/// Follows `path` from `node`; `None` if the manifest does not contain all of it.
pub(super) fn follow_all<'tree>(mut node: Node<'tree>, path: &str) -> Option<Node<'tree>> {
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
pub(super) fn child<'tree>(node: Node<'tree>, token: &str) -> Option<Node<'tree>> {
    let index = token.parse::<usize>().ok().filter(|_| node.value.is_array());
    index.map_or_else(|| node.get(token), |index| node.item(index))
}

/// Returns the tokens of a JSON pointer.
pub(super) fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// Returns the field of `node` at `pointer`.
pub(super) fn field<'tree>(node: Node<'tree>, pointer: &str) -> Option<Node<'tree>> {
    tokens(pointer).try_fold(node, |node, token| child(node, &token))
}
