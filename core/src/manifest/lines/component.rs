//! The components of an `AppWrapper`, each of which is a manifest with pod templates of its own.

use super::template::templates;
use super::trainjob;
use crate::workload::SOLE_ROLE;
use crate::yaml::Node;

/// Returns the manifest in `object`, an `AppWrapper`, whose pods include those of `role`, and the name of the role in it. Other
/// objects are returned unchanged.
pub(super) fn of_role<'tree, 'role>(object: Node<'tree>, role: &'role str) -> (Node<'tree>, &'role str) {
    let manifests = manifests(object);
    let named = manifests.iter().find_map(|manifest| Some((*manifest, role_in(*manifest, role)?)));
    // The roles of the only component with pods have no prefix.
    let only = || manifests.first().filter(|_| manifests.len() == 1).map(|manifest| (*manifest, role));
    named.or_else(only).unwrap_or((object, role))
}

/// Returns the manifests in `object` that create pods; none if it is no `AppWrapper`.
fn manifests(object: Node<'_>) -> Vec<Node<'_>> {
    if text(object, "kind") != Some("AppWrapper") {
        return Vec::new();
    }
    let components = object.get("spec").and_then(|spec| spec.get("components"));
    let manifests = components.into_iter().flat_map(Node::items).filter_map(|component| component.get("template"));
    manifests.filter(|manifest| trainjob::is_train_job(*manifest) || !templates(*manifest).is_empty()).collect()
}

/// Returns the name in `manifest` of `role`, whose name starts with that of the manifest; `None` for a role of another one.
fn role_in<'role>(manifest: Node<'_>, role: &'role str) -> Option<&'role str> {
    let metadata = manifest.get("metadata");
    let name = |key| metadata.and_then(|metadata| text(metadata, key));
    let name = name("name").or_else(|| name("generateName")).or_else(|| text(manifest, "kind"))?;
    match role.strip_prefix(name)? {
        "" => Some(SOLE_ROLE),
        rest => rest.strip_prefix('/'),
    }
}

fn text<'tree>(node: Node<'tree>, key: &str) -> Option<&'tree str> {
    node.get(key)?.value.as_str()
}
