//! Finds fields and values of an object that its type in the Kubernetes API does not have.
//!
//! The types of k8s-openapi skip unknown fields. [`Probe`] is a deserializer that reports them. Every type passes the
//! names of its fields to the deserializer, so no list of fields is needed here.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::value::Error;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Field of an object.
    Key(String),
    /// Item of a list.
    Index(usize),
}

/// A field or value that the API does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem<'a> {
    /// An unknown field, which the apiserver drops.
    Field {
        /// Type of the object.
        owner: &'static str,
        /// Name of the field, truncated.
        name: &'a str,
        /// Fields of the type.
        known: &'static [&'static str],
    },
    /// An unknown value of a field with few values, which the apiserver rejects.
    Value {
        /// Name of the field.
        name: &'static str,
        /// The value, truncated.
        value: &'a str,
        /// Values that the apiserver accepts.
        expected: &'static [&'static str],
    },
}

/// A deserializer that records the fields and values that the type of `value` does not have.
pub(crate) struct Probe<'de, 'probe> {
    value: &'de Value,
    search: &'probe mut Search<'de>,
}

/// State of a search.
#[derive(Default)]
struct Search<'de> {
    path: Vec<Step>,
    found: Vec<(Vec<Step>, Problem<'de>)>,
    /// Type whose objects are not checked.
    excluded: Option<&'static str>,
    /// Number of such objects that contain the current value.
    excluded_depth: usize,
}

struct Items<'de, 'probe> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    search: &'probe mut Search<'de>,
}

struct Fields<'de, 'probe> {
    entries: serde_json::map::Iter<'de>,
    current: Option<(&'de String, &'de Value)>,
    search: &'probe mut Search<'de>,
}

/// Maximum number of problems. More only repeat the same mistake.
const MAX_FOUND: usize = 20;
/// Maximum length of a name or value that a message quotes, in bytes: longer than any of the API.
const MAX_QUOTED: usize = 63;

/// Fields with few values, by type and field: those of Kubernetes 1.36, which include those of all older versions.
const VALUES: [(&str, &str, &[&str]); 8] = [
    ("PodSpec", "restartPolicy", &["Always", "OnFailure", "Never"]),
    ("PodSpec", "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    ("PodSpec", "preemptionPolicy", &["PreemptLowerPriority", "Never"]),
    ("Container", "restartPolicy", &["Always", "OnFailure", "Never"]),
    ("Container", "imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    ("Container", "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    ("ContainerPort", "protocol", &["TCP", "UDP", "SCTP"]),
    ("Toleration", "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
];

impl<'de> Probe<'de, '_> {
    /// Decodes `value` with `decode`, and returns the unknown fields and values with their paths. A value of a wrong
    /// type ends the search, so the result of `decode` is ignored.
    pub(crate) fn run(
        value: &'de Value,
        decode: impl FnOnce(Probe<'de, '_>) -> bool,
    ) -> Vec<(Vec<Step>, Problem<'de>)> {
        Self::search(None, value, decode)
    }

    /// Like [`Self::run`], but does not check objects of the type `excluded`.
    pub(crate) fn run_excluding(
        excluded: &'static str,
        value: &'de Value,
        decode: impl FnOnce(Probe<'de, '_>) -> bool,
    ) -> Vec<(Vec<Step>, Problem<'de>)> {
        Self::search(Some(excluded), value, decode)
    }

    fn search(
        excluded: Option<&'static str>,
        value: &'de Value,
        decode: impl FnOnce(Probe<'de, '_>) -> bool,
    ) -> Vec<(Vec<Step>, Problem<'de>)> {
        let mut search = Search { excluded, ..Search::default() };
        decode(Probe { value, search: &mut search });
        search.found
    }
}

impl<'de> Search<'de> {
    /// Checks the fields of an object of the type `owner`, and those of its values that [`VALUES`] lists.
    fn check(&mut self, owner: &'static str, known: &'static [&'static str], object: &'de Map<String, Value>) {
        for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            if !known.contains(&key.as_str()) {
                self.add(key, Problem::Field { owner, name: excerpt(key), known });
                continue;
            }
            let listed = VALUES.iter().find(|(of, name, _)| *of == owner && name == key);
            if let (Some((_, name, expected)), Some(text)) = (listed, value.as_str())
                && !text.is_empty()
                && !expected.contains(&text)
            {
                self.add(key, Problem::Value { name, value: excerpt(text), expected });
            }
        }
    }

    fn add(&mut self, key: &str, problem: Problem<'de>) {
        if self.found.len() < MAX_FOUND {
            let path = self.path.iter().cloned().chain([Step::Key(key.to_owned())]).collect();
            self.found.push((path, problem));
        }
    }
}

impl<'de> Deserializer<'de> for Probe<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { value, search } = self;
        match value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => visitor.visit_i64(value),
                (None, Some(value)) => visitor.visit_u64(value),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate(), search }),
            Value::Object(fields) => visitor.visit_map(Fields { entries: fields.iter(), current: None, search }),
        }
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
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Self { value, search } = self;
        let is_excluded = search.excluded == Some(name);
        search.excluded_depth += usize::from(is_excluded);
        if let Some(object) = value.as_object().filter(|_| search.excluded_depth == 0) {
            search.check(name, fields, object);
        }
        let decoded = Probe { value, search: &mut *search }.deserialize_any(visitor);
        search.excluded_depth -= usize::from(is_excluded);
        decoded
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((index, value)) = self.items.next() else { return Ok(None) };
        self.search.path.push(Step::Index(index));
        let decoded = seed.deserialize(Probe { value, search: self.search });
        self.search.path.pop();
        decoded.map(Some)
    }
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.current = self.entries.next();
        let key = self.current.map(|(key, _)| seed.deserialize(key.as_str().into_deserializer()));
        key.transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, value)) = self.current.take() else { return Err(serde::de::Error::custom("no key")) };
        self.search.path.push(Step::Key(key.clone()));
        let decoded = seed.deserialize(Probe { value, search: self.search });
        self.search.path.pop();
        decoded
    }
}

impl Step {
    /// Returns the step as a token of a JSON pointer.
    pub(crate) fn token(&self) -> String {
        match self {
            Self::Key(key) => key.clone(),
            Self::Index(index) => index.to_string(),
        }
    }
}

/// Writes the step as `kubectl explain` does.
impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) if key.contains(['.', '/']) => write!(formatter, "[{key}]"),
            Self::Key(key) => write!(formatter, ".{key}"),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_QUOTED)]
}
