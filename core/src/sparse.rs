//! Decodes the fields of a JSON document that a schema contains, within bounds, and skips all other fields.
//!
//! The schema limits the memory of an untrusted document: skipped fields are not allocated, text is
//! truncated, and lists keep only some items. A value whose type differs from the schema becomes an empty value of its
//! own type, so that readers treat it as malformed and not as absent.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The part of a value to decode.
#[derive(Debug)]
pub enum Schema {
    /// A number, a boolean or null.
    Scalar,
    /// Text of at most this many bytes. Longer text is truncated to one byte more than the limit, so that readers
    /// detect the excess.
    Text(usize),
    /// An object with these fields.
    Object(&'static [(&'static str, Schema)]),
    /// An object with these keys, whose values have the same schema.
    Map(&'static [&'static [&'static str]], &'static Schema),
    /// A list.
    List(&'static Items),
}

/// The items of a list to decode.
#[derive(Debug)]
pub struct Items {
    /// Schema of each item.
    pub schema: Schema,
    /// Selects the items to keep.
    pub keep: Keep,
}

/// Selects the items of a list to keep.
#[derive(Debug)]
pub enum Keep {
    /// The first items, up to this number. If the limit of a list is one less, readers detect an excess.
    First(usize),
    /// The first item for which the function returns true.
    FirstThat(fn(&Value) -> bool),
    /// The last item with each of these names.
    LastNamed(&'static [&'static str]),
}

/// Decodes the part of a document that `schema` selects.
pub fn decode<'de, D: Deserializer<'de>>(deserializer: D, schema: &'static Schema) -> Result<Value, D::Error> {
    Part(schema).deserialize(deserializer)
}

#[derive(Clone, Copy)]
struct Part(&'static Schema);

/// Decodes the key of an object's field to the schema of its value, with the name of the decoded field.
struct Key(&'static Schema);

impl Schema {
    fn field(&self, key: &str) -> Option<(&'static str, &'static Self)> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| *name == key).map(|(name, schema)| (*name, schema)),
            Self::Map(keys, schema) => {
                let name = keys.iter().flat_map(|keys| keys.iter()).find(|name| **name == key)?;
                Some((name, schema))
            }
            Self::Scalar | Self::Text(_) | Self::List(_) => None,
        }
    }
}

impl Keep {
    /// Adds `item` to `items` if it must be kept.
    fn add(&self, items: &mut Vec<Value>, item: Value) {
        match self {
            Self::First(limit) if items.len() < *limit => items.push(item),
            Self::FirstThat(is_kept) if items.is_empty() && is_kept(&item) => items.push(item),
            Self::First(_) | Self::FirstThat(_) => {}
            Self::LastNamed(names) => {
                let name = |item: &Value| {
                    let name = item.get("name").and_then(Value::as_str)?;
                    names.iter().position(|known| *known == name)
                };
                let Some(index) = name(&item) else { return };
                items.retain(|before| name(before) != Some(index));
                items.push(item);
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        let Schema::Text(limit) = *self.0 else { return Ok(Value::String(String::new())) };
        Ok(text[..text.ceil_char_boundary(limit + 1)].into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        if let Schema::List(Items { schema, keep }) = self.0 {
            let full = |items: &Vec<Value>| matches!(keep, Keep::First(limit) if items.len() == *limit);
            while !full(&items) {
                let Some(item) = sequence.next_element_seed(Part(schema))? else { return Ok(Value::Array(items)) };
                keep.add(&mut items, item);
            }
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(field) = map.next_key_seed(Key(self.0))? {
            match field {
                Some((name, schema)) => {
                    fields.insert(name.to_owned(), map.next_value_seed(Part(schema))?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<(&'static str, &'static Schema)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<(&'static str, &'static Schema)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.field(key))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    static ITEM: Schema = Schema::Object(&[("name", Schema::Text(8)), ("on", Schema::Scalar)]);
    static FIRST: Items = Items { schema: Schema::Object(&[("name", Schema::Text(8))]), keep: Keep::First(2) };
    static THAT: Items = Items {
        schema: Schema::Object(&[("on", Schema::Scalar), ("name", Schema::Text(8))]),
        keep: Keep::FirstThat(|item| item.get("on").and_then(Value::as_bool) == Some(true)),
    };
    static NAMED: Items = Items {
        schema: Schema::Object(&[("name", Schema::Text(8)), ("on", Schema::Scalar)]),
        keep: Keep::LastNamed(&["a", "b"]),
    };
    static DOCUMENT: Schema = Schema::Object(&[
        ("text", Schema::Text(4)),
        ("number", Schema::Scalar),
        ("item", Schema::Object(&[("name", Schema::Text(8))])),
        ("labels", Schema::Map(&[&["a"], &["b"]], &Schema::Text(4))),
        ("first", Schema::List(&FIRST)),
        ("that", Schema::List(&THAT)),
        ("named", Schema::List(&NAMED)),
    ]);

    fn check(document: &str, expected: &Value) {
        let decoded = decode(&mut serde_json::Deserializer::from_str(document), &DOCUMENT).unwrap();
        assert_eq!(decoded, *expected, "of {document}");
    }

    #[rstest]
    #[case::unknown_field(json!({"other": {"text": [1]}, "text": "a"}), json!({"text": "a"}))]
    #[case::text(json!({"text": "abcd"}), json!({"text": "abcd"}))]
    #[case::long_text(json!({"text": "abcdefgh"}), json!({"text": "abcde"}))]
    #[case::cut_between_characters(json!({"text": "aébécd"}), json!({"text": "aébé"}))]
    #[case::scalars(json!({"number": -1}), json!({"number": -1}))]
    #[case::null(json!({"text": null, "item": null}), json!({"text": null, "item": null}))]
    #[case::empty_object(json!({"item": {}}), json!({"item": {}}))]
    #[case::keys(json!({"labels": {"a": "1", "b": "2", "c": "3"}}), json!({"labels": {"a": "1", "b": "2"}}))]
    #[case::first(json!({"first": [{"name": "a"}, {}, {"name": "c"}]}), json!({"first": [{"name": "a"}, {}]}))]
    #[case::that(
        json!({"that": [{"name": "a"}, {"name": "b", "on": true}, {"name": "c", "on": true}]}),
        json!({"that": [{"name": "b", "on": true}]})
    )]
    #[case::last_of_each_name(
        json!({"named": [{"name": "a", "on": 1}, {"name": "c"}, {"name": "b"}, {"name": "a", "on": 2}]}),
        json!({"named": [{"name": "b"}, {"name": "a", "on": 2}]})
    )]
    #[case::other_types(
        json!({"text": [1], "number": "many", "item": [{}], "first": {"name": "a"}, "labels": true}),
        json!({"text": [], "number": "", "item": [], "first": {}, "labels": true})
    )]
    fn decodes_the_fields_of_the_schema(#[case] document: Value, #[case] expected: Value) {
        check(&document.to_string(), &expected);
    }

    #[test]
    fn skipped_fields_may_be_nested_deeper_than_a_parser_recurses() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&format!(r#"{{"other": {deep}, "text": "a"}}"#), &json!({"text": "a"}));
    }

    #[test]
    fn invalid_json_is_an_error() {
        let decoded = decode(&mut serde_json::Deserializer::from_str(r#"{"text": "#), &ITEM);
        assert!(decoded.is_err());
    }
}
