//! Reads and validates the metadata of a Namespace.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::workload::RenderError;

/// Maximum number of other labels that an error names.
const MAX_NAMED: usize = 8;

/// Rejects a `Namespace` without a name, whose name is no string, or with invalid labels or annotations: the apiserver rejects it,
/// and its labels affect every pod in it.
pub(super) fn validate(namespace: &Value) -> Result<(), RenderError> {
    let metadata = namespace.get("metadata").filter(|metadata| !metadata.is_null());
    if let Some(other) = metadata.filter(|metadata| !metadata.is_object()) {
        let (path, found) = ("metadata".to_owned(), other.to_string());
        return Err(RenderError::Invalid { path, found, expected: "an object".into() });
    }
    let name = |key: &str| metadata.and_then(|metadata| metadata.get(key)).filter(|name| !name.is_null());
    match name("name") {
        None if name("generateName").is_none() => return Err(RenderError::Missing("metadata.name".to_owned())),
        Some(name) if !name.is_string() => {
            let expected = expected_string(name, &[]);
            return Err(RenderError::Invalid { path: "metadata.name".to_owned(), found: name.to_string(), expected });
        }
        _ => {}
    }
    ["labels", "annotations"].into_iter().try_for_each(|map| validate_map(namespace, map))
}

/// Rejects a map in the metadata that is not one of strings.
fn validate_map(namespace: &Value, map: &str) -> Result<(), RenderError> {
    let invalid =
        |path: String, found: &Value, expected| RenderError::Invalid { path, found: found.to_string(), expected };
    match namespace.get("metadata").and_then(|metadata| metadata.get(map)) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(entries)) => {
            let mut invalid_entries = entries.iter().filter(|(_, value)| !value.is_string() && !value.is_null());
            let Some((key, value)) = invalid_entries.next() else { return Ok(()) };
            let others: Vec<&str> = invalid_entries.map(|(key, _)| key.as_str()).collect();
            Err(invalid(format!("metadata.{map}[{key}]"), value, expected_string(value, &others)))
        }
        Some(other) => Err(invalid(format!("metadata.{map}"), other, "a mapping of strings".into())),
    }
}

/// Returns what is expected instead of `value`, and names the `others` of its map that are not strings either.
fn expected_string(value: &Value, others: &[&str]) -> Cow<'static, str> {
    let quote = if value.is_object() || value.is_array() { "a string" } else { "a string; quote it" };
    let (named, omitted) = others.split_at(others.len().min(MAX_NAMED));
    match (named, omitted) {
        ([], _) => quote.into(),
        (_, []) => format!("{quote}, and correct {}", named.join(", ")).into(),
        _ => format!("{quote}, and correct {} and {} more", named.join(", "), omitted.len()).into(),
    }
}

/// Returns the labels of a `Namespace` that are strings.
pub(super) fn labels(namespace: &Value) -> BTreeMap<String, String> {
    metadata_map(namespace, "labels")
}

/// Returns the entries of a map in the metadata that are strings.
pub(super) fn metadata_map(object: &Value, map: &str) -> BTreeMap<String, String> {
    let entries = object.get("metadata").and_then(|metadata| metadata.get(map)?.as_object());
    entries.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
