//! Nodes to which a pod is pinned by name.

use serde_json::Value;

use super::read::{as_name, items};

/// Label with the name of the node.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// List of the required terms.
const TERMS: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
/// Maximum number of nodes. Of a pod with more, it is not known whether all of them are missing.
const MAX_NODES: usize = 16;
/// Maximum number of requirements of a term that are read.
const MAX_REQUIREMENTS: usize = 64;

/// Fields that name nodes.
const SELECTOR: &str = "spec.nodeSelector[kubernetes.io/hostname]";
const AFFINITY: &str = "spec.affinity.nodeAffinity";

/// Returns the field with the nodes to which a pod is pinned: its selector takes effect beside an affinity.
pub(super) fn pinned_field(pod: &Value) -> &'static str {
    let has_selector = pod.pointer("/spec/nodeSelector").is_some_and(|selector| selector.get(HOSTNAME).is_some());
    if has_selector { SELECTOR } else { AFFINITY }
}

/// Returns the nodes that a selector or a required affinity of the pod names; none if another node may fit, or if it names
/// too many.
pub(super) fn pinned_nodes(pod: &Value) -> Vec<Box<str>> {
    let selector = pod.pointer("/spec/nodeSelector").and_then(|selector| selector.get(HOSTNAME));
    if let Some(name) = selector.and_then(as_name) {
        return vec![name];
    }
    let mut names = Vec::new();
    for term in items(pod, TERMS, MAX_NODES + 1) {
        // The terms are alternatives: one that names no node admits every node.
        let Some(values) = term_nodes(term).filter(|values| !values.is_empty()) else { return Vec::new() };
        names.extend(values);
        if names.len() > MAX_NODES {
            return Vec::new();
        }
    }
    names
}

/// Returns the nodes that an affinity term names, or the first ones of too many.
fn term_nodes(term: &Value) -> Option<Vec<Box<str>>> {
    let requirements = [("/matchFields", "metadata.name"), ("/matchExpressions", HOSTNAME)];
    requirements.into_iter().find_map(|(list, key)| {
        let text = |requirement: &Value, field: &str| requirement.get(field).and_then(Value::as_str).map(str::to_owned);
        let requirement = items(term, list, MAX_REQUIREMENTS).find(|requirement| {
            text(requirement, "key").as_deref() == Some(key) && text(requirement, "operator").as_deref() == Some("In")
        })?;
        items(requirement, "/values", MAX_NODES + 1).map(as_name).collect()
    })
}
