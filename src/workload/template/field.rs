//! A field of a manifest that knows its path, for errors that a reader can follow.

use serde_json::{Map, Value};

use super::super::RenderError;

/// Longest piece of a manifest that an error quotes, in characters: enough to recognise it, short enough for a line.
const QUOTED: usize = 60;

/// A field, present or not. `null` counts as absent, as it does for the apiserver.
#[derive(Clone, Debug)]
pub(in crate::workload) struct Field<'a> {
    value: Option<&'a Value>,
    path: String,
}

impl<'a> Field<'a> {
    /// The whole manifest.
    pub(in crate::workload) fn root(raw: &'a Value) -> Self {
        Self::named(raw, "")
    }

    /// A value whose path starts with `path`.
    pub(in crate::workload) fn named(value: &'a Value, path: impl Into<String>) -> Self {
        Self { value: Some(value).filter(|value| !value.is_null()), path: path.into() }
    }

    /// The field `key` of this one.
    pub(in crate::workload) fn at(&self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Self { value: self.value.and_then(|value| value.get(key)).filter(|value| !value.is_null()), path }
    }

    /// Where it stands, as `kubectl explain` writes it.
    pub(in crate::workload) fn path(&self) -> &str {
        &self.path
    }

    /// What stands there.
    pub(in crate::workload) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Whether something stands there.
    pub(in crate::workload) fn is_present(&self) -> bool {
        self.value.is_some()
    }

    /// The object that stands there.
    pub(in crate::workload) fn object(&self) -> Result<Option<&'a Map<String, Value>>, RenderError> {
        self.value.map(|value| value.as_object().ok_or_else(|| self.invalid("an object"))).transpose()
    }

    /// The object that must stand there.
    pub(in crate::workload) fn required_object(&self) -> Result<&'a Map<String, Value>, RenderError> {
        self.object()?.ok_or_else(|| self.missing())
    }

    /// The entries of the object that stands there; none when it is absent.
    pub(in crate::workload) fn entries(&self) -> Result<Vec<(&'a str, Self)>, RenderError> {
        let entries = self.object()?.into_iter().flatten();
        Ok(entries.map(|(key, _)| (key.as_str(), self.at(key))).collect())
    }

    /// The items of the list that stands there; none when it is absent.
    pub(in crate::workload) fn items(&self) -> Result<Vec<Self>, RenderError> {
        let Some(value) = self.value else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(|| self.invalid("a list"))?;
        Ok((0..).zip(items).map(|(index, item)| Self::named(item, format!("{}[{index}]", self.path))).collect())
    }

    /// The text that stands there.
    pub(in crate::workload) fn text(&self) -> Result<Option<&'a str>, RenderError> {
        self.value.map(|value| value.as_str().ok_or_else(|| self.invalid("a string"))).transpose()
    }

    /// The boolean that stands there.
    pub(in crate::workload) fn flag(&self) -> Result<Option<bool>, RenderError> {
        self.value.map(|value| value.as_bool().ok_or_else(|| self.invalid("true or false"))).transpose()
    }

    /// The count that stands there: Kubernetes counts in 32 bits.
    pub(in crate::workload) fn count(&self) -> Result<Option<u64>, RenderError> {
        let count = |value: &Value| value.as_u64().filter(|count| *count <= i32::MAX.unsigned_abs().into());
        let expected = "a whole number from 0 to 2147483647";
        self.value.map(|value| count(value).ok_or_else(|| self.invalid(expected))).transpose()
    }

    /// The error for a field that must be there.
    pub(in crate::workload) fn missing(&self) -> RenderError {
        RenderError::Missing(self.path.clone())
    }

    /// The error for a field that the operator's API would refuse.
    pub(in crate::workload) fn invalid(&self, expected: &'static str) -> RenderError {
        let text = self.value.map_or_else(|| "absent".to_owned(), Value::to_string);
        let found = match text.char_indices().nth(QUOTED) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        };
        RenderError::Invalid { path: self.path.clone(), found, expected }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::absent(json!({}), Ok(None))]
    #[case::null(json!({"n": null}), Ok(None))]
    #[case::count(json!({"n": 8}), Ok(Some(8)))]
    #[case::negative(json!({"n": -1}), Err("n is -1: expected a whole number from 0 to 2147483647"))]
    #[case::text(json!({"n": "8"}), Err("n is \"8\": expected a whole number from 0 to 2147483647"))]
    #[case::fraction(json!({"n": 1.5}), Err("n is 1.5: expected a whole number from 0 to 2147483647"))]
    #[case::too_large(json!({"n": 2_147_483_648_u64}), Err("n is 2147483648: expected a whole number from 0 to 2147483647"))]
    fn counts_are_checked(#[case] raw: Value, #[case] expected: Result<Option<u64>, &str>) {
        let found = Field::root(&raw).at("n").count().map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_long_value_is_quoted_in_part() {
        let raw = json!({"a": [{"b": "é".repeat(100)}]});
        let items = Field::root(&raw).at("a").items().unwrap();
        let message = items[0].at("b").invalid("a number").to_string();
        assert_eq!(message, format!("a[0].b is \"{}…: expected a number", "é".repeat(59)));
    }
}
