//! Reads a manifest by path, so that every error names where it was found.
//!
//! A value of the wrong type is an error wherever a kind reads it, as it is to the API.

use serde_json::{Map, Value};

use crate::workload::RenderError;

/// What the API accepts where a number is asked for (an `int32`).
const COUNT: &str = "a whole number from 0 to 2147483647";
/// The most characters of a wrong value that an error quotes: enough to recognise it, short enough for a line.
const QUOTED: usize = 60;

/// A place in a manifest: its path and what stands there. `null` counts as absent, as it does for the apiserver.
#[derive(Clone, Debug)]
pub(in crate::workload) struct Field<'a> {
    path: String,
    value: Option<&'a Value>,
}

impl<'a> Field<'a> {
    /// The whole manifest.
    pub(in crate::workload) fn root(raw: &'a Value) -> Self {
        Self::named(raw, "")
    }

    /// A value whose path starts with `path`.
    pub(in crate::workload) fn named(value: &'a Value, path: impl Into<String>) -> Self {
        Self { path: path.into(), value: Some(value).filter(|value| !value.is_null()) }
    }

    /// The field `key` below this one.
    pub(in crate::workload) fn get(&self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Self { path, value: self.value.and_then(|value| value.get(key)).filter(|value| !value.is_null()) }
    }

    /// Where this stands, as `kubectl explain` writes it.
    pub(in crate::workload) fn path(&self) -> &str {
        &self.path
    }

    /// What stands here.
    pub(in crate::workload) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Whether something stands here.
    pub(in crate::workload) fn is_present(&self) -> bool {
        self.value.is_some()
    }

    /// The text that stands here; an empty one is absent, as Go's `omitempty` has it.
    pub(in crate::workload) fn text(&self) -> Result<Option<&'a str>, RenderError> {
        Ok(self.text_as_given()?.filter(|text| !text.is_empty()))
    }

    /// The text that stands here, for a field that Go holds by pointer: an empty one is not absent.
    pub(in crate::workload) fn text_as_given(&self) -> Result<Option<&'a str>, RenderError> {
        self.read(Value::as_str, "a string")
    }

    /// The text that must stand here.
    pub(in crate::workload) fn required_text(&self) -> Result<&'a str, RenderError> {
        self.text()?.ok_or_else(|| self.missing())
    }

    /// The boolean that stands here.
    pub(in crate::workload) fn flag(&self) -> Result<Option<bool>, RenderError> {
        self.read(Value::as_bool, "true or false")
    }

    /// Whether `true` stands here.
    pub(in crate::workload) fn is_true(&self) -> Result<bool, RenderError> {
        Ok(self.flag()? == Some(true))
    }

    /// The number of pods, or of anything else that the API counts, that stands here.
    pub(in crate::workload) fn count(&self) -> Result<Option<u64>, RenderError> {
        self.read(|value| value.as_u64().filter(|count| i32::try_from(*count).is_ok()), COUNT)
    }

    /// The object that stands here.
    pub(in crate::workload) fn object(&self) -> Result<Option<&'a Map<String, Value>>, RenderError> {
        self.read(Value::as_object, "an object")
    }

    /// The object that must stand here.
    pub(in crate::workload) fn required_object(&self) -> Result<&'a Map<String, Value>, RenderError> {
        self.object()?.ok_or_else(|| self.missing())
    }

    /// A copy of the object that stands here, empty when there is none.
    pub(in crate::workload) fn copied_object(&self) -> Result<Map<String, Value>, RenderError> {
        Ok(self.object()?.cloned().unwrap_or_default())
    }

    /// The fields of the object that stands here, none when there is none.
    pub(in crate::workload) fn entries(&self) -> Result<Vec<(&'a str, Self)>, RenderError> {
        let entries = self.object()?.into_iter().flatten();
        Ok(entries.map(|(key, _)| (key.as_str(), self.get(key))).collect())
    }

    /// The items of the list that stands here, none when there is none.
    pub(in crate::workload) fn items(&self) -> Result<Vec<Self>, RenderError> {
        let items = self.read(Value::as_array, "a list")?.into_iter().flatten().enumerate();
        Ok(items.map(|(index, item)| Self::named(item, format!("{}[{index}]", self.path))).collect())
    }

    /// The items of the list that must stand here.
    pub(in crate::workload) fn required_items(&self) -> Result<Vec<Self>, RenderError> {
        if self.is_present() { self.items() } else { Err(self.missing()) }
    }

    /// The error that nothing stands here.
    pub(in crate::workload) fn missing(&self) -> RenderError {
        RenderError::Missing(self.path.clone())
    }

    /// The error that something else than `expected` stands here.
    pub(in crate::workload) fn invalid(&self, expected: &'static str) -> RenderError {
        let text = self.value.map_or_else(|| "absent".to_owned(), Value::to_string);
        let found = match text.char_indices().nth(QUOTED) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        RenderError::Invalid { path: self.path.clone(), found, expected }
    }

    fn read<T>(
        &self,
        convert: impl FnOnce(&'a Value) -> Option<T>,
        expected: &'static str,
    ) -> Result<Option<T>, RenderError> {
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
    #[case::text(json!({"replicas": "3"}), Err("a.b[0].replicas is \"3\": expected a whole number from 0 to 2147483647"))]
    fn counts(#[case] item: Value, #[case] expected: Result<Option<u64>, &str>) {
        let raw = json!({"a": {"b": [item]}});
        let found = Field::root(&raw).get("a").get("b").items().unwrap()[0].get("replicas").count();
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }

    #[rstest]
    #[case::text(json!("x"), Ok(Some("x")), Ok(Some("x")))]
    #[case::empty(json!(""), Ok(None), Ok(Some("")))]
    #[case::null(json!(null), Ok(None), Ok(None))]
    #[case::number(json!(8), Err("f is 8: expected a string"), Err("f is 8: expected a string"))]
    fn texts(
        #[case] value: Value,
        #[case] text: Result<Option<&str>, &str>,
        #[case] as_given: Result<Option<&str>, &str>,
    ) {
        let field = Field::named(&value, "f");
        assert_eq!(field.text().map_err(|error| error.to_string()), text.map_err(str::to_owned));
        assert_eq!(field.text_as_given().map_err(|error| error.to_string()), as_given.map_err(str::to_owned));
    }

    #[test]
    fn a_long_value_is_quoted_in_part() {
        let raw = json!({"a": [{"b": "é".repeat(100)}]});
        let items = Field::root(&raw).get("a").items().unwrap();
        let message = items[0].get("b").invalid("a number").to_string();
        assert_eq!(message, format!("a[0].b is \"{}…: expected a number", "é".repeat(59)));
    }
}
