//! Decodes JSON as a type of the Kubernetes API, to check it.
//!
//! The compiler generates the code of a type once for each deserializer, and a pod has some two hundred types. [`Decoder`] is
//! therefore the only deserializer of pods and workloads.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Value, map};

use crate::step::Step;

/// Deserializer of a value.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'de, 'mode> {
    value: &'de Value,
    mode: Mode<'de, 'mode>,
}

/// Receives the objects of a value while it is decoded.
pub(crate) trait Observer<'de> {
    /// Receives an object that is decoded as the type `name`, which has the fields `known`. If it returns false, an empty object
    /// is decoded instead.
    fn object(&self, name: &'static str, known: &'static [&'static str], object: &'de Map<String, Value>) -> bool;

    /// Returns true if a field or item is left out.
    fn skips(&self, step: Step<'de>) -> bool;

    /// Called before a field or item is decoded.
    fn enter(&self, step: Step<'de>);

    /// Called after it was decoded, or had a wrong type.
    fn leave(&self, is_valid: bool);
}

#[derive(Clone, Copy)]
enum Mode<'de, 'mode> {
    /// Passes the value as it is.
    Complete,
    /// Passes empty text to types that accept any text.
    Shape,
    /// Like `Shape`, but passes only the fields of the outermost object for which the function returns true.
    Fields(&'mode dyn Fn(&str) -> bool),
    /// Like `Shape`, with an observer.
    Observed(&'mode dyn Observer<'de>),
}

/// The fields of an object.
struct Fields<'de, 'mode> {
    entries: map::Iter<'de>,
    mode: Mode<'de, 'mode>,
    current: Option<(&'de str, &'de Value)>,
}

/// The items of a list.
struct Items<'de, 'mode> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    mode: Mode<'de, 'mode>,
}

/// Fields that the types of the API compare with their own.
const TYPE_FIELDS: [&str; 2] = ["apiVersion", "kind"];

impl<'de, 'mode> Decoder<'de, 'mode> {
    /// Decodes `value` with its text, which error messages contain.
    pub(crate) fn complete(value: &'de Value) -> Self {
        Self { value, mode: Mode::Complete }
    }

    /// Decodes `value` without copying text. The result is the same: most text of a pod does not affect if it decodes.
    ///
    /// Types that parse their text, such as timestamps, get it: they call other methods than `deserialize_string`. So do the
    /// fields by which an object recognizes its own type.
    pub(crate) fn shape(value: &'de Value) -> Self {
        Self { value, mode: Mode::Shape }
    }

    /// Like [`Self::shape`], but skips the fields of `value` for which `is_included` returns false.
    pub(crate) fn shape_of_fields(value: &'de Value, is_included: &'mode dyn Fn(&str) -> bool) -> Self {
        Self { value, mode: Mode::Fields(is_included) }
    }

    /// Like [`Self::shape`], and passes all objects to `observer`.
    pub(crate) fn observed(value: &'de Value, observer: &'mode dyn Observer<'de>) -> Self {
        Self { value, mode: Mode::Observed(observer) }
    }
}

impl<'de> Mode<'de, '_> {
    /// Returns the mode of the values in an object or list.
    fn inner(self) -> Self {
        if let Self::Fields(_) = self { Self::Shape } else { self }
    }

    fn decode<T: DeserializeSeed<'de>>(self, step: Step<'de>, value: &'de Value, seed: T) -> Result<T::Value, Error> {
        let Self::Observed(observer) = self else { return seed.deserialize(Decoder { value, mode: self }) };
        observer.enter(step);
        let decoded = seed.deserialize(Decoder { value, mode: self });
        observer.leave(decoded.is_ok());
        decoded
    }

    fn skips(self, step: Step<'de>) -> bool {
        if let Self::Observed(observer) = self { observer.skips(step) } else { false }
    }
}

impl<'de> Deserializer<'de> for Decoder<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { value, mode } = self;
        match value {
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate(), mode: mode.inner() }),
            Value::Object(fields) => visitor.visit_map(Fields { entries: fields.iter(), mode, current: None }),
            // Not by the deserializer of `Value`, with which the compiler would generate the code of every type again.
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => number.deserialize_any(visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let is_empty = self.value.is_string() && !matches!(self.mode, Mode::Complete);
        if is_empty { visitor.visit_borrowed_str("") } else { self.deserialize_any(visitor) }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mode = match (self.mode, self.value) {
            (Mode::Observed(observer), Value::Object(object)) if !observer.object(name, known, object) => {
                Mode::Fields(&|_| false)
            }
            (mode, _) => mode,
        };
        Self { mode, ..self }.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier
    }
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let mode = self.mode;
        let Some((index, item)) = self.items.find(|(index, _)| !mode.skips(Step::Index(*index))) else {
            return Ok(None);
        };
        mode.decode(Step::Index(index), item, seed).map(Some)
    }
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let mode = self.mode;
        let is_included = |name: &'de str| match mode {
            Mode::Fields(is_included) => is_included(name),
            mode => !mode.skips(Step::Key(name)),
        };
        let Some((name, value)) = self.entries.find(|(name, _)| is_included(name)) else { return Ok(None) };
        self.current = Some((name, value));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) = self.current.take().ok_or_else(|| Error::custom("a value without its key"))?;
        let mode = if TYPE_FIELDS.contains(&name) { Mode::Complete } else { self.mode.inner() };
        mode.decode(Step::Key(name), value, seed)
    }
}
