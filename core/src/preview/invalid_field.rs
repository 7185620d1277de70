//! Finds the fields of a pod that do not decode, which the error of the decoder does not name.

use std::fmt;

use json_patch::jsonptr::PointerBuf;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::api_type::Decoder;
use crate::finding::Severity;
use crate::hint::unquoting;
use crate::pod;
use crate::step::Step;

/// A field of a pod whose value has the wrong type, or is no valid quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// Path in the pod, as `kubectl explain` writes it.
    pub path: String,
    /// The same path as a JSON pointer.
    pub pointer: String,
    /// Value found: a scalar, or the type of any other value.
    pub found: String,
    /// Expected type.
    pub expected: String,
    /// True if quotes make the value valid.
    pub needs_quotes: bool,
    /// One-based line of the manifest with the field, if it is known.
    pub line: Option<u64>,
    /// File of the line, if it is not that of the workload.
    pub source: Option<String>,
}

/// Expected type of a quantity.
pub(super) const QUANTITY: &str = "a quantity such as 8 or 4Gi";
/// Expected type of labels, annotations and node selectors.
const STRING: &str = "a string";
/// Fields of a pod that map names to strings.
const STRING_MAPS: [&str; 4] = ["labels", "annotations", "nodeSelector", "matchLabels"];
/// Maximum number of fields. More only repeat the same mistake.
pub(super) const MAX_FIELDS: usize = 10;

/// Returns the fields of `pod` that do not decode, in the order of the pod; none if `pod` is a valid Pod.
///
/// Every value is decoded in a pod that contains only its own path, so that one invalid field does not hide the others.
pub(super) fn invalid_fields(pod: &Value) -> Vec<InvalidField> {
    let mut found = Vec::new();
    if decode(pod).is_err() {
        collect(pod, &mut Vec::new(), &mut found);
    }
    found
}

/// Returns true if a resource of a container is null, which the apiserver accepts.
pub(super) fn has_null_quantity(pod: &Value) -> bool {
    let resources = pod::Pod::new(pod).containers().filter_map(|container| container.raw().get("resources"));
    let lists =
        resources.flat_map(|resources| ["limits", "requests"].into_iter().filter_map(|list| resources.get(list)));
    lists.filter_map(Value::as_object).any(|list| list.values().any(Value::is_null))
}

fn decode(pod: &Value) -> Result<(), serde_json::Error> {
    Pod::deserialize(Decoder::complete(pod)).map(drop)
}

fn collect<'a>(value: &'a Value, path: &mut Vec<Step<'a>>, found: &mut Vec<InvalidField>) {
    if found.len() == MAX_FIELDS {
        return;
    }
    if let Err(error) = decode(&skeleton(path, shallow(value))) {
        return found.push(invalid_field(path, value, &error));
    }
    match value {
        Value::Object(fields) => {
            for (key, item) in fields {
                path.push(Step::Key(key));
                collect(item, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                collect(item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns `value` without its items and fields.
fn shallow(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(_) => Value::Object(Map::new()),
        scalar => scalar.clone(),
    }
}

/// Returns `value` at `path`, with nothing else around it.
fn skeleton(path: &[Step<'_>], value: Value) -> Value {
    path.iter().rev().fold(value, |value, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([((*key).to_owned(), value)])),
        Step::Index(_) => Value::Array(vec![value]),
    })
}

fn invalid_field(path: &[Step<'_>], value: &Value, error: &serde_json::Error) -> InvalidField {
    let message = error.to_string();
    let expected = expected_type(&message);
    let as_string = skeleton(path, Value::String(value.to_string()));
    // Any text decodes as a quantity.
    let is_scalar = matches!(value, Value::Bool(_) | Value::Number(_)) && expected != QUANTITY;
    let needs_quotes = is_scalar && decode(&as_string).is_ok();
    InvalidField { needs_quotes, ..InvalidField::new(path, value, expected) }
}

/// Returns the name of the type that is expected instead of a value, from the message of the deserializer.
pub(super) fn expected_name(message: &str) -> &str {
    message.rsplit_once(", expected ").map_or(message, |(_, expected)| expected)
}

/// Returns the type that is expected instead of a value, in the words of users, from the message of the deserializer.
pub(super) fn expected_type(message: &str) -> &str {
    match expected_name(message) {
        "a sequence" => "a list",
        "a map" => "a mapping",
        // Types of the API whose text form is a scalar.
        "Quantity" => QUANTITY,
        "IntOrString" => "an integer or a string",
        "Time" => "a time such as 2026-01-31T00:00:00Z",
        // The name of a type of the API.
        expected if expected.starts_with(char::is_uppercase) && !expected.contains(' ') => "a mapping",
        expected if expected.starts_with(['i', 'u']) && expected[1..].parse::<u8>().is_ok() => "an integer",
        expected => expected,
    }
}

impl InvalidField {
    /// Creates the field at `path` with an invalid value.
    pub(super) fn new(path: &[Step<'_>], value: &Value, expected: &str) -> Self {
        Self {
            path: path.iter().map(Step::to_string).collect(),
            pointer: PointerBuf::from_tokens(path.iter().map(Step::token)).to_string(),
            found: match value {
                Value::Array(_) => "a list".to_owned(),
                Value::Object(_) => "a mapping".to_owned(),
                scalar => scalar.to_string(),
            },
            expected: expected.to_owned(),
            needs_quotes: false,
            line: None,
            source: None,
        }
    }

    /// Returns the field as the check FP049 reads it: its pointer, the severity and the problem.
    pub(super) fn as_problem(&self) -> (String, Severity, String) {
        (self.pointer.clone(), self.severity(), self.problem())
    }

    /// Returns the problem with its consequence.
    pub(super) fn problem(&self) -> String {
        // `UnmarshalJSON` of a quantity reads null as 0 (kubernetes/apimachinery, `pkg/api/resource/quantity.go`).
        if self.expected == QUANTITY && self.found == "null" {
            format!("{self}; the apiserver reads it as 0")
        } else if self.is_null_text() {
            format!("{self}; the apiserver reads it as \"\" or drops it, and may reject it in server-side apply")
        } else {
            format!("the apiserver rejects the pod: {self}")
        }
    }

    /// Returns the severity of the problem: the apiserver accepts a null in a map of strings, except in some server-side applies.
    fn severity(&self) -> Severity {
        if self.is_null_text() { Severity::Warning } else { Severity::Error }
    }

    /// Returns true for a null in a map of strings. Go decodes it as an empty string, in Pods and in kinds of Kubernetes. In those of a
    /// `CustomResourceDefinition`, the apiserver drops it, but validates it before that in a server-side apply.
    fn is_null_text(&self) -> bool {
        let map = self.pointer.rsplit('/').nth(1).unwrap_or_default();
        self.expected == STRING && self.found == "null" && STRING_MAPS.contains(&map)
    }
}

impl fmt::Display for InvalidField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, pointer: _, found, expected, needs_quotes, line: _, source: _ } = self;
        write!(formatter, "{path} is {found}: expected {expected}")?;
        formatter.write_str(if *needs_quotes { "; quote it" } else { unquoting(found, expected) })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn container(fields: &Value) -> Value {
        json!({"spec": {"containers": [{"name": "a"}, fields]}})
    }

    #[rstest]
    #[case::valid(container(&json!({"env": [{"name": "A", "value": "5"}], "future": 5})), &[])]
    #[case::integer(
        container(&json!({"env": [{"name": "A"}, {"name": "B", "value": 5}]})),
        &[".spec.containers[1].env[1].value is 5: expected a string; quote it"]
    )]
    #[case::each(
        container(&json!({"env": [{"name": "A", "value": true}, {"name": "B", "value": true}]})),
        &[
            ".spec.containers[1].env[0].value is true: expected a string; quote it",
            ".spec.containers[1].env[1].value is true: expected a string; quote it",
        ]
    )]
    #[case::mapping_for_a_list(container(&json!({"env": {"A": "b"}})), &[".spec.containers[1].env is a mapping: expected a list"])]
    #[case::list_for_a_string(container(&json!({"image": []})), &[".spec.containers[1].image is a list: expected a string"])]
    #[case::string_for_an_integer(
        json!({"spec": {"activeDeadlineSeconds": "x"}}),
        &[".spec.activeDeadlineSeconds is \"x\": expected an integer"]
    )]
    #[case::label(
        json!({"metadata": {"labels": {"trainmesh.dev/inject": true}}}),
        &[".metadata.labels[trainmesh.dev/inject] is true: expected a string; quote it"]
    )]
    #[case::quantity(
        container(&json!({"resources": {"limits": {"nvidia.com/gpu": null}}})),
        &[".spec.containers[1].resources.limits[nvidia.com/gpu] is null: expected a quantity such as 8 or 4Gi"]
    )]
    #[case::boolean_quantity(
        container(&json!({"resources": {"limits": {"nvidia.com/gpu": true}}})),
        &[".spec.containers[1].resources.limits[nvidia.com/gpu] is true: expected a quantity such as 8 or 4Gi"]
    )]
    #[case::quoted_boolean(
        json!({"spec": {"hostNetwork": "true"}}),
        &[".spec.hostNetwork is \"true\": expected a boolean; remove the quotes"]
    )]
    #[case::spec(json!({"spec": 5}), &[".spec is 5: expected a mapping"])]
    fn each_field_is_named_with_the_expected_type(#[case] pod: Value, #[case] expected: &[&str]) {
        let found: Vec<String> = invalid_fields(&pod).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn fields_have_json_pointers() {
        let pod = container(&json!({"env": [{"name": "A", "value": 5}]}));
        assert_eq!(invalid_fields(&pod)[0].pointer, "/spec/containers/1/env/0/value");
    }

    #[rstest]
    #[case::null_quantity(json!({"resources": {"limits": {"cpu": null}}}), "; the apiserver reads it as 0")]
    #[case::null_in_a_list(json!({"command": [null]}), "the apiserver rejects the pod: ")]
    #[case::type_of_a_quantity(json!({"resources": {"limits": {"cpu": true}}}), "the apiserver rejects the pod: ")]
    #[case::another_type(json!({"image": 5}), "the apiserver rejects the pod: ")]
    fn the_problem_names_its_consequence(#[case] fields: Value, #[case] expected: &str) {
        let problem = invalid_fields(&container(&fields))[0].problem();
        assert!(problem.contains(expected), "{problem}");
    }

    #[test]
    fn their_number_is_limited() {
        let env: Vec<Value> = (0..100).map(|value| json!({"name": "A", "value": value})).collect();
        assert_eq!(invalid_fields(&container(&json!({"env": env}))).len(), MAX_FIELDS);
    }
}
