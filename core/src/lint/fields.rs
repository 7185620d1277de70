//! FP049: fields and values that the Kubernetes API does not have. The apiserver drops such a field without an error, and
//! rejects such a value.

use json_patch::jsonptr::PointerBuf;
use k8s_openapi::api::core::v1::Pod as ApiPod;
use serde::Deserialize as _;
use serde_json::Value;

use super::context::CheckContext;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::hint::{nearest, one_of};
use crate::known_fields::{Probe, Problem, Step};
use crate::pod::Pod;

/// FP049: an unknown field or value.
pub(super) fn unknown_fields(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    if !context.input.generic {
        check(context.input.original, findings);
    }
}

/// Runs FP049 without a [`CheckContext`].
pub(super) fn check(pod: Pod<'_>, findings: &mut FindingSink<'_>) {
    let found = Probe::run(pod.raw(), |probe| ApiPod::deserialize(probe).is_ok());
    for (path, problem) in found {
        let field = PointerBuf::from_tokens(path.iter().map(Step::token)).to_string();
        let severity = if matches!(problem, Problem::Field { .. }) { Severity::Warning } else { Severity::Error };
        findings.push_as(severity, field, message(&problem));
    }
    let containers = pod.spec().map(|spec| spec.get("containers").and_then(Value::as_array));
    if containers.is_some_and(|containers| containers.is_none_or(Vec::is_empty)) {
        findings.push_as(Severity::Error, "/spec/containers", "the apiserver rejects a pod without containers");
    }
}

/// Returns the message about a problem.
pub(crate) fn message(problem: &Problem<'_>) -> String {
    match problem {
        Problem::Field { owner, name, known } => {
            let fix = nearest(name, known).map(|near| format!(": did you mean {near}?")).unwrap_or_default();
            format!("{owner} has no field {name}{fix}")
        }
        Problem::Value { name, value, expected } => {
            let fix = nearest(value, expected)
                .map_or_else(|| format!("expected {}", one_of(expected)), |near| format!("did you mean {near}?"));
            format!("the apiserver rejects {name}={value}: {fix}")
        }
    }
}
