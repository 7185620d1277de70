//! Typed access to the fields of a manifest; every error contains the path of the field.
//!
//! A value of the wrong type is an error, as it is to the API. So is one that has no fields because it is no object: whatever is
//! read below it fails, and nothing below it is missing.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::hint::nearest;
use crate::workload::RenderError;

/// Values that the API accepts for a non-negative `int32`.
const COUNT_RANGE: &str = "a whole number from 0 to 2147483647";
/// Value that the API accepts for an amount of a resource.
const QUANTITY: &str = "a quantity such as 8 or 4Gi";
/// Value that the API accepts for a field with fields.
const OBJECT: &str = "an object";

/// A field of a manifest: its path and its value. `null` is treated as absent, as by the apiserver.
#[derive(Clone, Debug)]
pub(in crate::workload) struct Field<'a> {
    path: String,
    value: Option<&'a Value>,
    /// The nearest field above that is no object.
    misfit: Option<Misfit<'a>>,
}

/// A field that has fields in the API, but is no object.
#[derive(Clone, Copy, Debug)]
struct Misfit<'a> {
    /// Length of its path, which the paths of the fields below it start with.
    path_length: usize,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// Returns the root of a manifest.
    pub(in crate::workload) fn root(raw: &'a Value) -> Self {
        Self::with_path(raw, "")
    }

    /// Returns a field with the given value and path.
    pub(in crate::workload) fn with_path(value: &'a Value, path: impl Into<String>) -> Self {
        Self { path: path.into(), value: Some(value).filter(|value| !value.is_null()), misfit: None }
    }

    /// Returns the child field `key`.
    pub(in crate::workload) fn get(&self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        let own = self.value.filter(|value| !value.is_object());
        let misfit = self.misfit.or_else(|| own.map(|value| Misfit { path_length: self.path.len(), value }));
        Self { path, value: self.value.and_then(|value| value.get(key)).filter(|value| !value.is_null()), misfit }
    }

    /// Returns the path, as `kubectl explain` writes it.
    pub(in crate::workload) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the value.
    pub(in crate::workload) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Returns true if the field has a value.
    pub(in crate::workload) fn is_present(&self) -> bool {
        self.value.is_some()
    }

    /// Returns the string value; an empty string is treated as absent, as by Go's `omitempty`.
    pub(in crate::workload) fn text(&self) -> Result<Option<&'a str>, RenderError> {
        Ok(self.raw_text()?.filter(|text| !text.is_empty()))
    }

    /// Returns the string value, including an empty string: for a field that is a pointer in Go.
    pub(in crate::workload) fn raw_text(&self) -> Result<Option<&'a str>, RenderError> {
        let is_unquoted = self.value.is_some_and(|value| value.is_number() || value.is_boolean());
        self.read(Value::as_str, if is_unquoted { "a string; quote it" } else { "a string" })
    }

    /// Returns the string value, which is required.
    pub(in crate::workload) fn required_text(&self) -> Result<&'a str, RenderError> {
        self.text()?.ok_or_else(|| self.missing())
    }

    /// Returns the boolean value.
    pub(in crate::workload) fn boolean(&self) -> Result<Option<bool>, RenderError> {
        self.read(Value::as_bool, "true or false")
    }

    /// Returns true if the value is `true`.
    pub(in crate::workload) fn is_true(&self) -> Result<bool, RenderError> {
        Ok(self.boolean()? == Some(true))
    }

    /// Returns the value of a non-negative `int32`, such as a number of pods.
    pub(in crate::workload) fn count(&self) -> Result<Option<u64>, RenderError> {
        self.read(|value| value.as_u64().filter(|count| i32::try_from(*count).is_ok()), COUNT_RANGE)
    }

    /// Returns the object.
    pub(in crate::workload) fn object(&self) -> Result<Option<&'a Map<String, Value>>, RenderError> {
        self.read(Value::as_object, OBJECT)
    }

    /// Returns the object, which is required.
    pub(in crate::workload) fn required_object(&self) -> Result<&'a Map<String, Value>, RenderError> {
        self.object()?.ok_or_else(|| self.missing())
    }

    /// Returns a copy of the object; empty if absent.
    pub(in crate::workload) fn cloned_object(&self) -> Result<Map<String, Value>, RenderError> {
        Ok(self.object()?.cloned().unwrap_or_default())
    }

    /// Returns the keys and fields of the object; empty if absent.
    pub(in crate::workload) fn entries(&self) -> Result<Vec<(&'a str, Self)>, RenderError> {
        let entries = self.object()?.into_iter().flatten();
        Ok(entries.map(|(key, _)| (key.as_str(), self.get(key))).collect())
    }

    /// Fails if the field is present, but its requests and limits are no maps of quantities, which operators move into pods.
    pub(in crate::workload) fn check_resources(&self) -> Result<(), RenderError> {
        self.object()?;
        for list in ["limits", "requests"] {
            for (_, amount) in self.get(list).entries()? {
                amount.read(|value| (value.is_string() || value.is_number()).then_some(()), QUANTITY)?;
            }
        }
        Ok(())
    }

    /// Returns the items of the list; empty if absent.
    pub(in crate::workload) fn items(&self) -> Result<Vec<Self>, RenderError> {
        let items = self.read(Value::as_array, "a list")?.into_iter().flatten().enumerate();
        Ok(items.map(|(index, item)| Self::with_path(item, format!("{}[{index}]", self.path))).collect())
    }

    /// Returns the items of the list, which is required.
    pub(in crate::workload) fn required_items(&self) -> Result<Vec<Self>, RenderError> {
        if self.is_present() { self.items() } else { Err(self.missing()) }
    }

    /// Returns the error for an absent field: that of the field above, if it cannot contain any.
    pub(in crate::workload) fn missing(&self) -> RenderError {
        self.misfit_error().unwrap_or_else(|| RenderError::Missing(self.path.clone()))
    }

    /// Returns the error for the absent child field `key` of an object of the type `owner`: it names the field that is probably meant.
    pub(in crate::workload) fn missing_field(&self, key: &'static str, owner: &str) -> RenderError {
        let field = self.get(key);
        let mut keys = self.value.and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let Some(found) = keys.find(|found| *found != key && nearest(found, &[key]).is_some()) else {
            return field.missing();
        };
        field.missing_beside(&self.get(found), format!("{owner} has no field {found}: did you mean {key}?"))
    }

    /// Returns the error for an absent field for which `other` probably stands, or can: `problem` is the fix.
    pub(in crate::workload) fn missing_beside(&self, other: &Self, problem: impl Into<String>) -> RenderError {
        RenderError::Misspelled { path: other.path.clone(), missing: self.path.clone(), problem: problem.into() }
    }

    /// Returns the error for a list of containers without one called `name`: it names the container or field that is probably meant.
    pub(in crate::workload) fn missing_container(&self, name: &'static str) -> RenderError {
        let missing = format!("a container named {name} in {}", self.path);
        for container in self.items().unwrap_or_default() {
            let field = container.get("name");
            let found = field.value.and_then(Value::as_str);
            if let Some(found) = found.filter(|found| nearest(found, &[name]).is_some()) {
                let problem = format!("one is named {found}: did you mean {name}?");
                return RenderError::Misspelled { path: field.path, missing, problem };
            }
            if let (None, RenderError::Misspelled { path, problem, .. }) =
                (found, container.missing_field("name", "Container"))
            {
                return RenderError::Misspelled { path, missing, problem };
            }
        }
        RenderError::Missing(missing)
    }

    fn misfit_error(&self) -> Option<RenderError> {
        let Misfit { path_length, value } = self.misfit?;
        Some(RenderError::invalid(&self.path[..path_length], Some(value), OBJECT))
    }

    /// Returns the error for a value other than `expected`.
    pub(in crate::workload) fn invalid(&self, expected: impl Into<Cow<'static, str>>) -> RenderError {
        RenderError::invalid(&self.path, self.value, expected)
    }

    fn read<T>(
        &self,
        convert: impl FnOnce(&'a Value) -> Option<T>,
        expected: &'static str,
    ) -> Result<Option<T>, RenderError> {
        if let Some(error) = self.misfit_error() {
            return Err(error);
        }
        self.value.map(|value| convert(value).ok_or_else(|| self.invalid(expected))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::absent(json!({}), Ok(None))]
    #[case::null(json!({"replicas": null}), Ok(None))]
    #[case::zero(json!({"replicas": 0}), Ok(Some(0)))]
    #[case::largest(json!({"replicas": 2_147_483_647}), Ok(Some(2_147_483_647)))]
    #[case::negative(json!({"replicas": -1}), Err("a.b[0].replicas is -1: expected a whole number from 0 to 2147483647"))]
    #[case::too_large(json!({"replicas": 2_147_483_648_u64}), Err("a.b[0].replicas is 2147483648: expected a whole number from 0 to 2147483647"))]
    #[case::fraction(json!({"replicas": 1.5}), Err("a.b[0].replicas is 1.5: expected a whole number from 0 to 2147483647"))]
    #[case::text(json!({"replicas": "3"}), Err("a.b[0].replicas is \"3\": expected a whole number from 0 to 2147483647; remove the quotes"))]
    fn count_accepts_non_negative_int32(#[case] item: Value, #[case] expected: Result<Option<u64>, &str>) {
        let raw = json!({"a": {"b": [item]}});
        let found = Field::root(&raw).get("a").get("b").items().unwrap()[0].get("replicas").count();
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }

    #[rstest]
    #[case::text(json!("x"), Ok(Some("x")), Ok(Some("x")))]
    #[case::empty(json!(""), Ok(None), Ok(Some("")))]
    #[case::null(json!(null), Ok(None), Ok(None))]
    #[case::number(json!(8), Err("f is 8: expected a string; quote it"), Err("f is 8: expected a string; quote it"))]
    fn raw_text_preserves_an_empty_string(
        #[case] value: Value,
        #[case] text: Result<Option<&str>, &str>,
        #[case] as_given: Result<Option<&str>, &str>,
    ) {
        let field = Field::with_path(&value, "f");
        assert_eq!(field.text().map_err(|error| error.to_string()), text.map_err(str::to_owned));
        assert_eq!(field.raw_text().map_err(|error| error.to_string()), as_given.map_err(str::to_owned));
    }

    #[rstest]
    #[case::text(json!("x"), "a is \"x\": expected an object")]
    #[case::list(json!([{"b": {"c": 1}}]), "a is [{\"b\":{\"c\":1}}]: expected an object")]
    #[case::below(json!({"b": 5}), "a.b is 5: expected an object")]
    #[case::null(json!({"b": null}), "a.b.c.d is missing")]
    #[case::absent(json!({}), "a.b.c.d is missing")]
    fn nothing_is_missing_below_a_value_without_fields(#[case] value: Value, #[case] expected: &str) {
        let field = Field::with_path(&value, "a").get("b").get("c").get("d");
        assert_eq!(field.required_text().unwrap_err().to_string(), expected);
        assert_eq!(field.missing().to_string(), expected);
        let optional = field.count().map_err(|error| error.to_string());
        assert_eq!(optional, if expected.ends_with("missing") { Ok(None) } else { Err(expected.to_owned()) });
    }

    #[test]
    fn a_long_value_is_truncated() {
        let raw = json!({"a": [{"b": "é".repeat(100)}]});
        let items = Field::root(&raw).get("a").items().unwrap();
        let message = items[0].get("b").invalid("a number").to_string();
        assert_eq!(message, format!("a[0].b is \"{}…: expected a number", "é".repeat(59)));
    }
}
