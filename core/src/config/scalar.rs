//! Scalar fields.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::yaml::type_name;

/// A type that is parsed from a single YAML value.
pub(crate) trait Scalar: Sized {
    /// Parses a value other than null.
    ///
    /// # Errors
    /// Returns the expected and the actual value.
    fn read(value: &Value) -> Result<Self, String>;
}

impl Scalar for bool {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bool(value) => Ok(*value),
            Value::String(text) if matches!(text.as_str(), "true" | "false") => {
                Err(format!("expected a boolean, found a string: write {text} without quotes"))
            }
            other => Err(format!("expected a boolean, found {}", type_name(other))),
        }
    }
}

impl Scalar for String {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(_) | Value::Bool(_) => {
                Err(format!("expected a string, found {}: write it in quotes", type_name(value)))
            }
            other => Err(format!("expected a string, found {}", type_name(other))),
        }
    }
}

impl Scalar for u64 {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(number) => {
                number.as_u64().ok_or_else(|| format!("expected a whole number from 0, found {number}"))
            }
            other => Err(format!("expected a whole number, found {}", type_name(other))),
        }
    }
}

impl<K: Scalar + Ord, V: Scalar> Scalar for BTreeMap<K, V> {
    fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(entries) = value else { return Err(expected_mapping(value)) };
        let mut problems = Vec::new();
        let mut found = Self::new();
        for (key, value) in entries {
            match (K::read(&Value::String(key.clone())), V::read(value)) {
                (Ok(name), Ok(value)) => drop(found.insert(name, value)),
                (Err(problem), _) => problems.push(problem),
                (_, Err(problem)) => problems.push(format!("{key}: {problem}")),
            }
        }
        if problems.is_empty() { Ok(found) } else { Err(problems.join("; ")) }
    }
}

/// Returns the error for `value` in place of a mapping.
pub(super) fn expected_mapping(value: &Value) -> String {
    format!("expected a mapping, found {}", type_name(value))
}
