//! Deserializer that copies no text.
//!
//! The content of plain strings, which are most of a pod, does not affect if JSON decodes as a type. [`Shape`]
//! passes an empty string to every type that accepts any string. Types that parse their text, such as timestamps, get it:
//! they call other methods than `deserialize_string`. So do the fields by which an object recognizes its own type.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Value, map};

/// Fields that the types of the API compare with their own.
const TYPE_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// Deserializer of a JSON value whose strings are empty.
#[derive(Clone, Copy)]
pub(super) struct Shape<'de>(pub(super) &'de Value);

/// The fields of an object.
pub(super) struct Fields<'de, F> {
    entries: map::Iter<'de>,
    is_included: F,
    current: Option<(&'de str, &'de Value)>,
}

struct Items<'de>(std::slice::Iter<'de, Value>);

impl<'de, F: Fn(&str) -> bool> Fields<'de, F> {
    /// Returns the fields of `object` whose name `is_included` returns true for.
    pub(super) fn new(object: &'de map::Map<String, Value>, is_included: F) -> Self {
        Self { entries: object.iter(), is_included, current: None }
    }
}

impl<'de> Deserializer<'de> for Shape<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items(items.iter())),
            Value::Object(fields) => visitor.visit_map(Fields::new(fields, |_| true)),
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_string() { visitor.visit_borrowed_str("") } else { self.deserialize_any(visitor) }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Shape(item))).transpose()
    }
}

impl<'de, F: Fn(&str) -> bool> MapAccess<'de> for Fields<'de, F> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.entries.find(|(name, _)| (self.is_included)(name)) else { return Ok(None) };
        self.current = Some((name, value));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) = self.current.take().ok_or_else(|| Error::custom("a value without its key"))?;
        if TYPE_FIELDS.contains(&name) { seed.deserialize(value) } else { seed.deserialize(Shape(value)) }
    }
}
