//! FP049: fields and values that the Kubernetes API does not have. The apiserver drops such a field without an error, and
//! rejects such a value.

mod resources;

use json_patch::jsonptr::PointerBuf;
use k8s_openapi::api::core::v1::Pod as ApiPod;
use serde_json::Value;

use super::context::{CheckContext, KUBERAY_INIT};
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::hint::{nearest, one_of};
use crate::known_fields::{self, OPEN_ENDS, Problem};
use crate::pod::Pod;
use crate::step::Step;
use crate::workload::identify;

/// Types and fields whose values the apiserver accepts: the pod is created, and never starts.
const CHECKED_ON_NODES: [(&str, &str); 1] = [("EmptyDirVolumeSource", "medium")];

/// Type of the environment variables of a container.
const VARIABLE: &str = "EnvVar";
/// Type of containers, whose resources contain limits and requests.
const CONTAINER: &str = "Container";
/// API group of the training operator and the MPI operator.
const KUBEFLOW: &str = "kubeflow.org";
/// Restart policies of their replicas. Of pods with `ExitCode`, the operator evaluates the exit code.
const REPLICA_POLICIES: [&str; 4] = ["Always", "OnFailure", "Never", "ExitCode"];

/// Start of the JSON pointers of fields of init containers.
const INIT_CONTAINERS: &str = "/spec/initContainers/";

/// Minimum length in bytes of the part of a value that suggests the whole: of shorter ones, another value is as likely.
const MIN_COMPLETED: usize = 3;

/// FP049: an unknown field or value, or a value of the wrong type.
pub(super) fn unknown_fields(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    report_invalid(context.input.invalid, findings);
    if !context.input.generic {
        check(context.input.original, findings);
    }
}

/// Reports fields with an invalid value.
pub(super) fn report_invalid(fields: &[(String, Severity, String)], findings: &mut FindingSink<'_>) {
    for (field, severity, problem) in fields {
        findings.push_as(*severity, field, problem.as_str());
    }
}

/// Runs FP049 without a [`CheckContext`].
pub(super) fn check(pod: Pod<'_>, findings: &mut FindingSink<'_>) {
    for (path, problem) in known_fields::unknown_fields::<ApiPod>(pod.raw()) {
        let field = PointerBuf::from_tokens(path.iter().map(Step::token)).to_string();
        if is_copied(pod.raw(), &field) {
            continue;
        }
        let variable = variable_message(pod, &field, &problem);
        let is_accepted = problem.is_field() && variable.is_none();
        let severity = if is_accepted { Severity::Warning } else { Severity::Error };
        let message = variable.or_else(|| policy_message(pod, &problem)).unwrap_or_else(|| message(&problem));
        findings.push_as(severity, field, message);
    }
    resources::check(pod, findings);
    // Another type of `spec`, or of the list, is an invalid value.
    let spec = pod.raw().get("spec").filter(|spec| !spec.is_null());
    let is_empty = |spec: &Value| match spec.get("containers") {
        None | Some(Value::Null) => true,
        Some(Value::Array(containers)) => containers.is_empty(),
        Some(_) => false,
    };
    if spec.is_none_or(|spec| spec.is_object() && is_empty(spec)) {
        findings.push_as(Severity::Error, "/spec/containers", "the apiserver rejects a pod without containers");
    }
}

/// Returns the message about an unknown field, at `pointer`, that is the name of a variable without one, as in
/// `env: [{NCCL_DEBUG: INFO}]`: the apiserver rejects it.
fn variable_message(pod: Pod<'_>, pointer: &str, problem: &Problem<'_>) -> Option<String> {
    let Problem::Field { owner: VARIABLE, name, known } = problem else { return None };
    let names_variable = is_variable(name) && nearest(name, known).is_none() && lacks_name(pod, pointer);
    names_variable.then(|| format!("{VARIABLE} has no field {name}: set name: {name}, and its value in value"))
}

/// Returns true if `name` has the form of a variable's name, and not of a field's.
fn is_variable(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns true if the object with the field at `pointer` has no name.
fn lacks_name(pod: Pod<'_>, pointer: &str) -> bool {
    let object = pointer.rsplit_once('/').and_then(|(object, _)| pod.raw().pointer(object));
    object.is_some_and(|object| object.get("name").is_none())
}

/// Returns the message about an unknown restart policy of a pod of Kubeflow, whose operators have one more.
fn policy_message(pod: Pod<'_>, problem: &Problem<'_>) -> Option<String> {
    let Problem::Value { owner: "PodSpec", name: "restartPolicy", value, .. } = problem else { return None };
    let is_of_kubeflow = identify(pod).is_some_and(|member| member.kind.group == KUBEFLOW);
    is_of_kubeflow.then(|| {
        format!("the apiserver rejects pods with restartPolicy={value}: {}", suggestion(value, &REPLICA_POLICIES))
    })
}

/// Returns true if `pointer` is a field of the init container of KubeRay in `pod` that another container has with the same
/// value: KubeRay copies fields of the Ray container.
pub(crate) fn is_copied(pod: &Value, pointer: &str) -> bool {
    let Some((index, field)) = pointer.strip_prefix(INIT_CONTAINERS).and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    let Some(init) = pod.pointer(&format!("{INIT_CONTAINERS}{index}")) else { return false };
    let field = format!("/{field}");
    let Some(value) = init.pointer(&field) else { return false };
    let mut containers = pod.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
    init.get("name").and_then(Value::as_str) == Some(KUBERAY_INIT)
        && containers.any(|container| container.pointer(&field) == Some(value))
}

/// Returns the message about a problem.
pub(crate) fn message(problem: &Problem<'_>) -> String {
    match problem {
        Problem::Field { owner, name, known } => {
            let unseparated = name.split_once(':').filter(|(field, _)| known.contains(field));
            let fix = match (unseparated, nearest(name, known)) {
                (Some((field, _)), _) => format!(": write a blank after {field}:"),
                (None, Some(near)) => format!(": did you mean {near}?"),
                (None, None) if *owner == CONTAINER && matches!(*name, "limits" | "requests") => {
                    format!(": did you mean resources.{name}?")
                }
                (None, None) => String::new(),
            };
            format!("{owner} has no field {name}{fix}")
        }
        Problem::OtherLevel { owner, name, known } => format!("{owner} has no field {name}: did you mean {known}?"),
        Problem::Value { owner, name, value, expected } => {
            let component = if CHECKED_ON_NODES.contains(&(*owner, *name)) { "kubelet" } else { "apiserver" };
            format!("the {component} rejects {name}={value}: {}", suggestion(value, expected))
        }
        Problem::OperatorValue { value, known } => format!("unknown value {value}: {}", suggestion(value, known)),
    }
}

/// Returns the known value that is most similar to `value`, or else all of them.
fn suggestion(value: &str, known: &[&str]) -> String {
    // The starts of values are no values.
    let known: Vec<&str> = known.iter().copied().filter(|value| !value.ends_with(OPEN_ENDS)).collect();
    let known = known.as_slice();
    let meant = nearest(value, known).or_else(|| completion(value, known));
    meant.map_or_else(|| format!("expected {}", one_of(known)), |meant| format!("did you mean {meant}?"))
}

/// Returns the only value in `known` that starts with `value`, or ends with it as the last part of a path, ignoring case.
fn completion<'n>(value: &str, known: &[&'n str]) -> Option<&'n str> {
    let value = value.to_lowercase();
    let is_completion = |known: &&&str| {
        let known = known.to_lowercase();
        known.starts_with(&value) || known.rsplit_once('.').is_some_and(|(_, last)| last == value)
    };
    let mut found = known.iter().filter(is_completion);
    found.next().filter(|_| found.next().is_none() && value.len() >= MIN_COMPLETED).copied()
}
