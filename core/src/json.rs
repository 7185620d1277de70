//! Lookup of fields in JSON objects.

use serde_json::{Map, Value};

/// Maximum number of fields of an object that is searched in order. In a larger one, hashing the key takes less time.
const MAX_SEARCHED: usize = 12;

/// Returns the field `key` of an object.
pub(crate) fn field<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    if fields.len() <= MAX_SEARCHED {
        fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    } else {
        fields.get(key)
    }
}

/// Returns the field `key` of `value`, if that is an object.
pub(crate) fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    field(value.as_object()?, key)
}

/// Returns the text in the field `key` of `value`.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    get(value, key)?.as_str()
}

/// Returns the items of the list in the field `key` of `value`; none if there is no list.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    get(value, key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::searched(MAX_SEARCHED)]
    #[case::hashed(MAX_SEARCHED + 1)]
    fn every_field_of_an_object_is_found(#[case] fields: usize) {
        let object: Value = (0..fields).map(|number| (number.to_string(), json!(number))).collect::<Map<_, _>>().into();
        for number in 0..fields {
            assert_eq!(get(&object, &number.to_string()), Some(&json!(number)));
        }
        assert_eq!(get(&object, "none"), None);
        assert_eq!(get(&json!([]), "0"), None);
    }
}
