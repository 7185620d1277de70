//! FP049: fields and values that the Kubernetes API does not have. The apiserver drops such a field without an error, and
//! rejects such a value.

use json_patch::jsonptr::PointerBuf;
use k8s_openapi::api::core::v1::Pod as ApiPod;
use serde_json::{Map, Value};

use super::context::CheckContext;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::hint::{nearest, one_of};
use crate::known_fields::{self, Problem};
use crate::pod::{Container, Pod, misspelled_accelerator};
use crate::step::Step;

/// FP049: an unknown field or value, or a value of the wrong type.
pub(super) fn unknown_fields(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for (field, problem) in context.input.invalid {
        findings.push_as(Severity::Error, field, problem.as_str());
    }
    if !context.input.generic {
        check(context.input.original, findings);
    }
}

/// Runs FP049 without a [`CheckContext`].
pub(super) fn check(pod: Pod<'_>, findings: &mut FindingSink<'_>) {
    for (path, problem) in known_fields::unknown_fields::<ApiPod>(pod.raw()) {
        let field = PointerBuf::from_tokens(path.iter().map(Step::token)).to_string();
        let severity = if matches!(problem, Problem::Field { .. }) { Severity::Warning } else { Severity::Error };
        findings.push_as(severity, field, message(&problem));
    }
    for (container, list, resource) in pod.containers().flat_map(resource_names) {
        if let Some(near) = misspelled_accelerator(resource) {
            let path = ["spec", container.kind.spec_list(), &container.index.to_string(), "resources", list, resource];
            let message = format!("no device plugin is known to provide {resource}: did you mean {near}?");
            findings.push(PointerBuf::from_tokens(path).to_string(), message);
        }
    }
    // Another type of `spec` is an invalid value.
    let spec = pod.raw().get("spec").filter(|spec| !spec.is_null());
    let is_empty = |spec: &Value| spec.get("containers").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if spec.is_none_or(|spec| spec.is_object() && is_empty(spec)) {
        findings.push_as(Severity::Error, "/spec/containers", "the apiserver rejects a pod without containers");
    }
}

/// Returns the resources of `container`, each with the list that contains it.
fn resource_names(container: Container<'_>) -> impl Iterator<Item = (Container<'_>, &'static str, &str)> {
    let resources = container.raw().get("resources");
    ["limits", "requests"].into_iter().flat_map(move |list| {
        let entries = resources.and_then(|resources| resources.get(list)?.as_object());
        entries.into_iter().flat_map(Map::keys).map(move |resource| (container, list, resource.as_str()))
    })
}

/// Returns the message about a problem.
pub(crate) fn message(problem: &Problem<'_>) -> String {
    match problem {
        Problem::Field { owner, name, known } => {
            let unseparated = name.split_once(':').filter(|(field, _)| known.contains(field));
            let fix = match (unseparated, nearest(name, known)) {
                (Some((field, _)), _) => format!(": write a blank after {field}:"),
                (None, Some(near)) => format!(": did you mean {near}?"),
                (None, None) => String::new(),
            };
            format!("{owner} has no field {name}{fix}")
        }
        Problem::Value { name, value, expected } => {
            format!("the apiserver rejects {name}={value}: {}", suggestion(value, expected))
        }
        Problem::OperatorValue { value, known } => format!("unknown value {value}: {}", suggestion(value, known)),
    }
}

/// Returns the known value that is most similar to `value`, or else all of them.
fn suggestion(value: &str, known: &[&str]) -> String {
    nearest(value, known).map_or_else(|| format!("expected {}", one_of(known)), |near| format!("did you mean {near}?"))
}
