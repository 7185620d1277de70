//! Reads a manifest by path, so that every error names where it was found.

use serde_json::{Map, Value};

use super::super::super::RenderError;

/// What the API accepts where a number of pods is asked for (an `int32`).
const COUNT: &str = "a whole number from 0 to 2147483647";
/// The most characters of a wrong value that an error repeats.
const SHOWN: usize = 40;

/// A place in a manifest: its path and what stands there. `null` reads as absent, as it does in the API.
#[derive(Clone, Debug)]
pub(in super::super) struct Field<'a> {
    path: String,
    value: Option<&'a Value>,
}

impl<'a> Field<'a> {
    /// The whole manifest.
    pub(in super::super) fn root(raw: &'a Value) -> Self {
        Self { path: String::new(), value: Some(raw) }
    }

    /// The field `key` below this one.
    pub(in super::super) fn get(&self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        let value = self.value.and_then(|value| value.get(key)).filter(|value| !value.is_null());
        Self { path, value }
    }

    /// What stands here.
    pub(in super::super) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// The text that stands here; an empty one is absent.
    pub(in super::super) fn text(&self) -> Option<&'a str> {
        self.value?.as_str().filter(|text| !text.is_empty())
    }

    /// The text that must stand here.
    pub(in super::super) fn required_text(&self) -> Result<&'a str, RenderError> {
        match self.value {
            None => Err(self.missing()),
            Some(_) => self.text().ok_or_else(|| self.invalid("a text")),
        }
    }

    /// Whether `true` stands here.
    pub(in super::super) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool) == Some(true)
    }

    /// The number of pods, or of anything else that the API counts, that stands here.
    pub(in super::super) fn count(&self) -> Result<Option<u64>, RenderError> {
        let Some(value) = self.value else { return Ok(None) };
        let count = value.as_u64().filter(|count| i32::try_from(*count).is_ok());
        count.map(Some).ok_or_else(|| self.invalid(COUNT))
    }

    /// The object that must stand here.
    pub(in super::super) fn object(&self) -> Result<&'a Map<String, Value>, RenderError> {
        let value = self.value.ok_or_else(|| self.missing())?;
        value.as_object().ok_or_else(|| self.invalid("an object"))
    }

    /// A copy of the object that stands here, empty when there is none.
    pub(in super::super) fn map(&self) -> Map<String, Value> {
        self.value.and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// The items of the list that stands here, none when there is no list.
    pub(in super::super) fn items(&self) -> Vec<Self> {
        let items = self.value.and_then(Value::as_array).into_iter().flatten().enumerate();
        items.map(|(index, value)| Self { path: format!("{}[{index}]", self.path), value: Some(value) }).collect()
    }

    /// The items of the list that must stand here.
    pub(in super::super) fn required_items(&self) -> Result<Vec<Self>, RenderError> {
        match self.value {
            None => Err(self.missing()),
            Some(Value::Array(_)) => Ok(self.items()),
            Some(_) => Err(self.invalid("a list")),
        }
    }

    /// The error that nothing stands here.
    pub(in super::super) fn missing(&self) -> RenderError {
        RenderError::Missing(self.path.clone())
    }

    /// The error that something else than `expected` stands here.
    pub(in super::super) fn invalid(&self, expected: &'static str) -> RenderError {
        let text = self.value.map(Value::to_string).unwrap_or_default();
        let found = match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        RenderError::Invalid { path: self.path.clone(), found, expected }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::zero(json!(0), Ok(Some(0)))]
    #[case::largest(json!(2_147_483_647), Ok(Some(2_147_483_647)))]
    #[case::null(Value::Null, Ok(None))]
    #[case::negative(json!(-1), Err("a.b[0].replicas is -1: expected a whole number from 0 to 2147483647"))]
    #[case::too_large(json!(2_147_483_648_u64), Err("a.b[0].replicas is 2147483648: expected a whole number from 0 to 2147483647"))]
    #[case::text(json!("3"), Err("a.b[0].replicas is \"3\": expected a whole number from 0 to 2147483647"))]
    #[case::long(json!("ä".repeat(60)), Err("a.b[0].replicas is \"äääääääääääääääääääääääääääääääääääääää…: expected a whole number from 0 to 2147483647"))]
    fn counts(#[case] replicas: Value, #[case] expected: Result<Option<u64>, &str>) {
        let raw = json!({"a": {"b": [{"replicas": replicas}]}});
        let found = Field::root(&raw).get("a").get("b").items()[0].get("replicas").count();
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }
}
