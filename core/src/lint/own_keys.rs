//! FP045: labels and annotations under `trainmesh.dev/` that have no effect.

use std::collections::BTreeMap;

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::context::CheckContext;
use super::sink::FindingSink;
use crate::config::Profiles;
use crate::keys;
use crate::own_keys::{Location, fabric_problem, problem};
use crate::pod::Pod;

/// Field of findings about the labels of the pod's namespace.
pub const NAMESPACE_FIELD: &str = "/metadata/namespace";

/// FP045: a label or annotation of trainmesh that has no effect.
pub(super) fn without_effect(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    check(context.input.original, context.input.labels, findings);
}

/// Runs FP045 without a [`CheckContext`].
pub(super) fn check(pod: Pod<'_>, namespace_labels: &BTreeMap<String, String>, findings: &mut FindingSink<'_>) {
    for (map, location) in [("labels", Location::PodLabel), ("annotations", Location::PodAnnotation)] {
        let entries = pod.metadata().and_then(|metadata| metadata.get(map)).and_then(Value::as_object);
        for (key, value) in entries.into_iter().flatten() {
            let Some(problem) = value.as_str().and_then(|value| problem_to_report(location, key, value)) else {
                continue;
            };
            findings.push(PointerBuf::from_tokens(["metadata", map, key]).to_string(), problem);
        }
    }
    for (key, value) in namespace_labels {
        if let Some(problem) = problem_to_report(Location::NamespaceLabel, key, value) {
            findings.push(NAMESPACE_FIELD, problem);
        }
    }
}

/// Runs FP045 for the labels of a namespace. Unlike [`check`], it also checks what the rules would report for each pod.
pub(super) fn check_namespace(labels: &BTreeMap<String, String>, profiles: &Profiles, findings: &mut FindingSink<'_>) {
    for (key, value) in labels {
        let unknown_profile = (key == keys::FABRIC).then(|| fabric_problem(value, profiles)).flatten();
        if let Some(problem) = unknown_profile.or_else(|| problem(Location::NamespaceLabel, key, value)) {
            let field = PointerBuf::from_tokens(["metadata", "labels", key]).to_string();
            findings.push(field, format!("{} {problem}", Location::PodLabel.name()));
        }
    }
}

/// Returns the message about an entry. Unknown values of `mesh-traffic` are left to the rule `mesh.traffic`, which
/// refuses them with a warning.
fn problem_to_report(location: Location, key: &str, value: &str) -> Option<String> {
    let is_known_label = key == keys::MESH_TRAFFIC && location != Location::PodAnnotation;
    let problem = if is_known_label { None } else { problem(location, key, value) };
    problem.map(|problem| format!("{} {problem}", location.name()))
}
